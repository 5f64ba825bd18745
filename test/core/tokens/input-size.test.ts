import { expect } from 'chai';
import type { ModelMedia } from '../../../src/contract/settings-types.ts';
import { inputSizeOf } from '../../../src/core/tokens/input-size.ts';

/** Of each message. */
const AROUND = 16;
const DATA = 'A'.repeat(1000);
const WORDS = 'some words '.repeat(100).trim();
const IMAGE = `data:image/png;base64,${DATA}`;

/** Returns the bytes of the JSON of these values without that of images and files. */
function bytesOf(values: readonly unknown[], ...media: readonly string[]): number {
  const all = values.reduce<number>((sum, value) => sum + Buffer.byteLength(JSON.stringify(value)), 0);
  return media.reduce((rest, text) => rest - JSON.stringify(text).length, all);
}

function ofParts(...content: readonly unknown[]): object {
  return { messages: [{ role: 'user', content }] };
}

const CALLS = [{ id: '1', type: 'x', function: { name: 'f', arguments: '{}' } }];

const WORD_PARTS: readonly object[] = [
  { type: 'text', text: 'Grüße' },
  { type: 'text', text: '' },
  { type: 'thinking', thinking: [{ type: 't', text: 'de' }] },
  { type: 'image_url', image_url: { url: WORDS } },
  { type: 'image_url', image_url: { url: `data:,${WORDS}` } },
  { type: 'file', file: { file_data: `data:text/plain;base64,${DATA}` } },
  { type: 'file', file: { file_data: `data:application/json;base64,${DATA}` } },
  { type: 'file', file: { file_data: DATA } },
  { type: 'file', file: { filename: 'https://example.com/a.pdf' } },
  { type: 'image_url', image_url: { url: 12_345 } },
  { type: 'image_url', text: WORDS, image_url: { url: 'data:,' } },
  { type: 'input_text', text: WORDS, more: [null, true, 1.5, { a: {} }] },
];

const MEDIA_PARTS: readonly (readonly [object, string])[] = [
  [{ type: 'image_url', image_url: { url: 'https://a.example/a.png', detail: 'low' } }, 'https://a.example/a.png'],
  [{ type: 'image_url', image_url: { url: IMAGE, text: WORDS } }, IMAGE],
  [{ type: 'image_url', image_url: { url: `${IMAGE} and so on` } }, `${IMAGE} and so on`],
  [{ type: 'input_audio', input_audio: { data: DATA, format: 'wav' } }, DATA],
  [{ type: 'input_audio', input_audio: DATA }, DATA],
  [
    { type: 'file', file: { filename: 'a.pdf', file_data: `data:application/pdf;base64,${DATA}` } },
    `data:application/pdf;base64,${DATA}`,
  ],
  [{ type: 'document_url', document_url: 'https://a.example/a.pdf' }, 'https://a.example/a.pdf'],
  [{ type: 'audio_url', audio_url: { url: `data:audio/wav;base64,${DATA}` } }, `data:audio/wav;base64,${DATA}`],
  [{ type: 'video_url', video_url: { url: 'https://a.example/a.mp4' } }, 'https://a.example/a.mp4'],
  [{ type: 'file', file: { file_id: 'https://a.example/1' } }, 'https://a.example/1'],
  [{ type: 'file', file: { file_id: 'file-abc123' } }, 'file-abc123'],
];

const MUCH = 'A'.repeat(2.5 * 128 * 1024);
const LARGE_PARTS: readonly (readonly [object, string])[] = [
  [{ file: { file_data: `data:application/pdf;base64,${MUCH}` } }, `data:application/pdf;base64,${MUCH}`],
  [{ input_audio: { data: MUCH } }, MUCH],
  [{ image_url: { url: `data:video/mp4;base64,${MUCH}` } }, `data:video/mp4;base64,${MUCH}`],
  [{ image_url: { url: `data:image/png;base64,${MUCH}` } }, `data:image/png;base64,${MUCH}`],
];

const JSON_VALUES: readonly unknown[] = [
  [],
  {},
  [{}],
  [{ a: 'b', c: [1, 2.5, -3e-7, 1e20] }],
  [{ enum: Array.from({ length: 50_000 }, () => null) }],
  [{ enum: Array.from({ length: 50_000 }, () => '') }],
  [{ enum: Array.from({ length: 50_000 }, () => []) }],
  [{ enum: Array.from({ length: 10_000 }, () => true) }],
  [{ enum: Array.from({ length: 10_000 }, () => 1.234_567_890_123_456_7) }],
  [
    {
      type: 'function',
      function: { name: 'f', parameters: { type: 'object', properties: { é: { type: 'string' } } } },
    },
  ],
];

describe('the size of an input', () => {
  const cases: { name: string; chat: object; textBytes: number; media?: number }[] = [
    { name: 'of a text', chat: { messages: [{ role: 'user', content: 'Grüße' }] }, textBytes: AROUND + 7 },
    {
      name: 'of several messages',
      chat: {
        messages: [
          { role: 'system', content: 'ab' },
          { role: 'user', content: 'c' },
        ],
      },
      textBytes: 2 * AROUND + 3,
    },
    {
      name: 'of all that an assistant said',
      chat: {
        messages: [{ role: 'assistant', content: null, reasoning_content: 'abc', refusal: 'de', tool_calls: CALLS }],
      },
      textBytes: AROUND + 3 + 2 + bytesOf([CALLS]),
    },
    ...WORD_PARTS.map((part) => ({
      name: `of a part that is words: ${JSON.stringify(part).slice(0, 60)}`,
      chat: ofParts(part),
      textBytes: AROUND + bytesOf([part]),
    })),
    ...MEDIA_PARTS.map(([part, data]) => ({
      name: `of a part that is media: ${JSON.stringify(part).slice(0, 60)}`,
      chat: ofParts(part),
      textBytes: AROUND + bytesOf([part], data),
      media: 1,
    })),
    ...JSON_VALUES.map((value) => ({
      name: `of tools as their JSON: ${JSON.stringify(value).slice(0, 60)}`,
      chat: { tools: value },
      textBytes: bytesOf([value]),
    })),
    {
      name: 'of escapes as of what they mean',
      chat: JSON.parse('{"messages":[{"content":"\\u0041"}]}'),
      textBytes: 17,
    },
    { name: 'of characters that JSON writes as six', chat: { tools: ['\u0001\n"'] }, textBytes: 6 + 1 + 1 + 4 },
    {
      name: 'of numbers with all digits that Python writes',
      chat: JSON.parse(`{"tools":[1e22,-1e300,${'9'.repeat(4300)}]}`),
      textBytes: 4 + 23 + 301 + 4300,
    },
    {
      name: 'of a format of the answer and of documents for a chat template',
      chat: { response_format: { type: 'text' }, documents: [{ text: WORDS }] },
      textBytes: bytesOf([{ type: 'text' }, [{ text: WORDS }]]),
    },
    {
      name: 'of what may be merged into the request',
      chat: { extra_body: { documents: [WORDS] } },
      textBytes: bytesOf([{ documents: [WORDS] }]),
    },
    { name: 'of fields that are null', chat: { tools: null, response_format: null }, textBytes: 0 },
    {
      name: 'of an ordinary role and id of a call',
      chat: { messages: [{ role: 'assistant', tool_call_id: 'call_0123456789abcdef', content: 'a' }] },
      textBytes: AROUND + 1,
    },
    {
      name: 'of a long role and id of a call, which some templates write',
      chat: { messages: [{ role: WORDS, tool_call_id: WORDS, content: 'a' }] },
      textBytes: AROUND + (1099 - 16) + (1099 - 64) + 1,
    },
    {
      name: 'of an image that a tool has brought',
      chat: { messages: [{ role: 'tool', tool_call_id: 'c', content: [{ image_url: { url: IMAGE } }] }] },
      textBytes: AROUND + bytesOf([{ image_url: { url: IMAGE } }], IMAGE),
      media: 1,
    },
    {
      name: 'of documents, sounds and films by their size, and of an image as one',
      chat: ofParts(...LARGE_PARTS.map(([part]) => part)),
      textBytes:
        AROUND +
        bytesOf(
          LARGE_PARTS.map(([part]) => part),
          ...LARGE_PARTS.map(([, data]) => data),
        ),
      media: 3 + 3 + 3 + 1,
    },
    {
      name: 'without what no model reads',
      chat: { model: DATA, unknown_padding: DATA, user: DATA, metadata: { a: DATA }, messages: [] },
      textBytes: 0,
    },
    { name: 'of what is no list of messages', chat: { messages: { content: DATA } }, textBytes: 0 },
    {
      name: 'of odd messages',
      chat: { messages: [null, 'x', { content: [null, 'x', 1] }, { content: { a: [null] } }] },
      textBytes: 4 * AROUND + 2 + bytesOf([{ a: [null] }]),
    },
  ];
  const MEDIA = [
    'http://example.com/a.png',
    'HTTPS://EXAMPLE.COM/A.PNG',
    'gs://bucket/a.png',
    's3://bucket/a.png',
    'file:///a.png',
    'data:;base64,AAAA',
    'data:image/png;charset=utf-8;base64,AAAA',
    'data:application/pdf;name=a.pdf;base64,A_A-',
    'DATA:IMAGE/PNG;BASE64,AAAA',
    'AAAA',
    'AAAA==',
  ];
  for (const url of MEDIA) {
    const part = { type: 'image_url', image_url: { url } };
    cases.push({ name: `of media: ${url}`, chat: ofParts(part), textBytes: AROUND + bytesOf([part], url), media: 1 });
  }
  const NO_MEDIA = [
    'https://',
    'https:// and words',
    'see https://example.com',
    'ftp://example.com/a.png',
    'data:image/png,AAAA',
    'data:image/png;base64,some words',
    'see data:image/png;base64,AAAA',
    'data:text/html;base64,AAAA',
    'data:image/svg+xml;base64,AAAA',
    'data:application/x-yaml;base64,AAAA',
    'data:application/x-csv;base64,AAAA',
    'data:application/javascript;base64,AAAA',
    'AAA',
    'AAAA===',
    'AAAA AAAA',
    '=AAAA',
  ];
  for (const url of NO_MEDIA) {
    const part = { type: 'image_url', image_url: { url } };
    const textBytes = AROUND + bytesOf([part]);
    cases.push({ name: `of words that are no media: ${url}`, chat: ofParts(part), textBytes });
  }
  for (const { name, chat, textBytes, media = 0 } of cases) {
    it(`is that ${name}`, () => {
      expect(inputSizeOf(chat)).to.include({ textBytes, mediaTokens: media * 1000 });
    });
  }

  const SAID: ModelMedia = {
    image: { base_tokens: 85, unit_tokens: 170, unit_pixels: 512, max_units: 8, low_detail_tokens: 85 },
    audio: { unit_tokens: 10 },
    video: { unit_tokens: 260, max_units: 3600 },
    file: { unit_tokens: 1500, max_units: 100 },
  };
  const FILM = 260 * 3600;
  const PDF = 1500 * 100;
  const image = (url: string, detail?: string) => ({ type: 'image_url', image_url: { url, detail } });
  const sound = (data: string) => ({ type: 'input_audio', input_audio: { data, format: 'wav' } });
  const file = (file_data: string) => ({ type: 'file', file: { filename: 'a', file_data } });
  const said: readonly { name: string; part: object; tokens: number }[] = [
    { name: 'an image of one tile', part: image(dataUrl('image/png', png(128, 64))), tokens: 85 + 170 },
    { name: 'an image of six', part: image(dataUrl('image/png', png(1100, 600))), tokens: 85 + 6 * 170 },
    { name: 'a JPEG', part: image(dataUrl('image/jpeg', jpeg(1100, 600))), tokens: 85 + 6 * 170 },
    { name: 'a WebP', part: image(dataUrl('image/webp', webp(1100, 600))), tokens: 85 + 6 * 170 },
    { name: 'one of more than the most', part: image(dataUrl('image/png', png(9000, 9000))), tokens: 85 + 8 * 170 },
    { name: 'one in low detail', part: image(dataUrl('image/png', png(9000, 9000)), 'low'), tokens: 85 },
    { name: 'one that cannot be read', part: image(IMAGE), tokens: 85 + 8 * 170 },
    { name: 'one that moves', part: image(dataUrl('image/webp', webp(9, 9, 2))), tokens: 85 + 8 * 170 },
    { name: 'one by its URL', part: image('https://a.example/a.png'), tokens: 85 + 8 * 170 },
    { name: 'one that is called otherwise', part: image('some words'), tokens: 85 + 8 * 170 },
    { name: 'a film in the place of an image', part: image('https://a.example/a.MP4?b'), tokens: FILM },
    { name: 'the data of one', part: image(`data:video/mp4;base64,${DATA}`), tokens: FILM },
    { name: 'a document there', part: image(`data:application/pdf;base64,${DATA}`), tokens: PDF },
    { name: 'two seconds of a WAV', part: sound(wav(2, { rate: 16_000 })), tokens: 20 },
    { name: 'a WAV of few samples a second', part: sound(wav(60, { rate: 10 })), tokens: 600 },
    { name: 'a WAV with notes before its samples', part: sound(wav(2, { notes: 'made by' })), tokens: 20 },
    { name: 'a WAV without samples', part: sound(wav(0)), tokens: 1 },
    { name: 'a WAV in the newer form', part: sound(wav(2, { isExtensible: true })), tokens: 20 },
    { name: 'ten frames of an MP3', part: sound(mp3(10)), tokens: Math.ceil((10 * 1152 * 10) / 44_100) },
    { name: 'an MP3 with its title', part: sound(mp3(10, 'title')), tokens: Math.ceil((10 * 1152 * 10) / 44_100) },
    { name: 'a document', part: file(`data:application/pdf;base64,${DATA}`), tokens: PDF },
    { name: 'one without a type', part: file(DATA), tokens: PDF },
    { name: 'one that is called a text', part: file(dataUrl('text/plain', Buffer.from('%PDF-1.7'))), tokens: PDF },
    { name: 'a text', part: file(`data:text/plain;base64,${DATA}`), tokens: 0 },
    { name: 'an image in the place of a file', part: file(dataUrl('image/png', png(9, 9))), tokens: 255 },
  ];
  for (const { name, part, tokens } of said) {
    it(`is as many tokens as the operator says of ${name}`, () => {
      const size = inputSizeOf(ofParts(part), SAID);
      expect([size.mediaTokens, size.uncounted]).to.deep.equal([tokens, undefined]);
    });
  }

  it('can be said beside what is no medium for anybody', () => {
    const part = { type: 'text', text: 'Hi', annotations: [], id: 7, more: [null, { a: '' }] };
    expect(inputSizeOf(ofParts(part))).not.to.have.property('unsaid');
  });

  it('has the images that a model made, too', () => {
    const chat = { messages: [{ role: 'assistant', images: [image(IMAGE), image(IMAGE)] }] };
    expect(inputSizeOf(chat, { image: { unit_tokens: 7 } })).to.include({ mediaTokens: 14 });
  });

  const IN_PART = 'messages[0].content[0]';
  const unsaid: readonly { chat: object; media?: ModelMedia; at: string }[] = [
    { chat: ofParts(image(IMAGE)), at: `${IN_PART}.image_url.url` },
    { chat: ofParts({ type: 'input_audio', input_audio: DATA }), at: `${IN_PART}.input_audio` },
    {
      chat: ofParts(image('https://a.example/a')),
      media: { image: { unit_tokens: 1, unit_pixels: 9 } },
      at: `${IN_PART}.image_url.url`,
    },
    {
      chat: ofParts({ video_url: { url: 'https://a.example/a' } }),
      media: { image: { unit_tokens: 1 } },
      at: `${IN_PART}.video_url.url`,
    },
    { chat: ofParts(sound(`${mp3(1)}AAAA`)), media: { audio: { unit_tokens: 1 } }, at: `${IN_PART}.input_audio.data` },
    { chat: ofParts(sound(`-_${wav(1)}`)), media: { audio: { unit_tokens: 1 } }, at: `${IN_PART}.input_audio.data` },
    {
      chat: ofParts(sound(wav(1, { format: 2 }))),
      media: { audio: { unit_tokens: 1 } },
      at: `${IN_PART}.input_audio.data`,
    },
    { chat: ofParts({ video: ['https://a.example/a'] }), media: SAID, at: `${IN_PART}.video` },
    { chat: ofParts({ Image_Url: { url: IMAGE } }), media: SAID, at: `${IN_PART}.Image_Url` },
    {
      chat: ofParts({ image_url: { url: IMAGE, format: 'video/mp4' } }),
      media: SAID,
      at: `${IN_PART}.image_url.format`,
    },
    { chat: ofParts({ image_url: { url: ['https://a.example/a'] } }), media: SAID, at: `${IN_PART}.image_url.url` },
    { chat: { messages: [{ Content: [image(IMAGE)] }] }, media: SAID, at: 'messages[0].Content' },
    { chat: { messages: [{ content: image(IMAGE) }] }, media: SAID, at: 'messages[0].content' },
  ];
  for (const { chat, media, at } of unsaid) {
    it(`cannot be said for what is at ${at}: ${JSON.stringify(chat).slice(0, 90)}`, () => {
      expect(inputSizeOf(chat, media).uncounted).to.equal(at);
    });
  }
});

function dataUrl(type: string, bytes: Buffer): string {
  return `data:${type};base64,${bytes.toString('base64')}`;
}

function png(width: number, height: number): Buffer {
  const bytes = Buffer.from('89504e470d0a1a0a0000000d49484452'.padEnd(66, '0'), 'hex');
  bytes.writeUInt32BE(width, 16);
  bytes.writeUInt32BE(height, 20);
  return bytes;
}

/** With a thumbnail of another size before its own. */
function jpeg(width: number, height: number): Buffer {
  const frame = (w: number, h: number): Buffer => {
    const bytes = Buffer.from('ffc0001108000000000301220002110103110100', 'hex');
    bytes.writeUInt16BE(h, 5);
    bytes.writeUInt16BE(w, 7);
    return bytes;
  };
  const thumbnail = Buffer.concat([Buffer.from('ffe1001600', 'hex'), frame(1, 1).subarray(0, 19)]);
  return Buffer.concat([Buffer.from('ffd8', 'hex'), thumbnail, frame(width, height)]);
}

function webp(width: number, height: number, flags = 0): Buffer {
  const bytes = Buffer.alloc(30);
  bytes.write('RIFF', 0);
  bytes.write('WEBPVP8X', 8);
  bytes[20] = flags;
  bytes.writeUIntLE(width - 1, 24, 3);
  bytes.writeUIntLE(height - 1, 27, 3);
  return bytes;
}

/** With sixteen bits a sample; what it says of its bytes per second is not true. */
function wav(seconds: number, { rate = 8000, notes = '', format = 1, isExtensible = false } = {}): string {
  const chunk = (id: string, content: Buffer) => {
    const head = Buffer.alloc(8);
    head.write(id);
    head.writeUInt32LE(content.length, 4);
    return Buffer.concat([head, content, Buffer.alloc(content.length % 2)]);
  };
  const fmt = Buffer.alloc(isExtensible ? 40 : 16);
  fmt.writeUInt16LE(isExtensible ? 0xfffe : format);
  fmt.writeUInt16LE(1, 2);
  fmt.writeUInt32LE(rate, 4);
  fmt.writeUInt32LE(1_000_000_000, 8);
  fmt.writeUInt16LE(16, 14);
  if (isExtensible) fmt.writeUInt16LE(format, 24);
  const before = [chunk('fmt ', fmt), ...(notes === '' ? [] : [chunk('LIST', Buffer.from(notes))])];
  const length = seconds * rate * 2 - Buffer.concat(before).length - 12;
  const all = [Buffer.from('RIFF\0\0\0\0WAVE'), ...before, chunk('data', Buffer.alloc(Math.max(0, length - 8)))];
  return Buffer.concat(all).toString('base64');
}

/** Frames of 128 kbit/s at 44,100 Hz. */
function mp3(frames: number, title?: string): string {
  const frame = Buffer.alloc(417);
  frame.writeUInt32BE(0xff_fb_90_00);
  const tag = Buffer.alloc(title === undefined ? 0 : 210);
  if (title !== undefined) tag.write(`ID3\x04\0\0\0\0\x01\x48${title}`, 'latin1');
  const end = Buffer.alloc(title === undefined ? 0 : 128);
  end.write(title === undefined ? '' : 'TAG');
  return Buffer.concat([tag, ...Array.from({ length: frames }, () => frame), end]).toString('base64');
}

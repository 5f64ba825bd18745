import { expect } from 'chai';
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
      expect(inputSizeOf(chat)).to.deep.equal({ textBytes, media });
    });
  }
});

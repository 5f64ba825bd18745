import { expect } from 'chai';
import { inputSizeOf } from '../../../src/core/tokens/input-size.ts';

/** Of each message. */
const AROUND = 16;
const DATA = 'A'.repeat(1000);
const WORDS = 'some words '.repeat(100).trim();
const IMAGE = `data:image/png;base64,${DATA}`;

function ofParts(...content: readonly unknown[]): object {
  return { messages: [{ role: 'user', content }] };
}

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
        messages: [
          {
            role: 'assistant',
            content: null,
            reasoning_content: 'abc',
            refusal: 'de',
            tool_calls: [{ id: '1', type: 'x', function: { name: 'f', arguments: '{}' } }],
          },
        ],
      },
      textBytes: AROUND + 3 + 2 + 1 + 1 + 1 + 2,
    },
    {
      name: 'of parts that are words',
      chat: ofParts({ type: 'text', text: 'abc' }, { type: 'thinking', thinking: [{ type: 't', text: 'de' }] }),
      textBytes: AROUND + 3 + 1 + 2,
    },
    {
      name: 'of escapes as of what they mean',
      chat: JSON.parse('{"messages":[{"content":"\\u0041"}]}'),
      textBytes: 17,
    },
    {
      name: 'of tools and of the format of the answer as JSON',
      chat: { tools: [{ a: 'b' }], response_format: { c: 1 } },
      textBytes: 1 + 1 + 4 + (1 + 4 + 4),
    },
    { name: 'of documents for a chat template', chat: { documents: [{ text: WORDS }] }, textBytes: 1099 + 4 + 4 },
    {
      name: 'of an image by URL',
      chat: ofParts({ type: 'image_url', image_url: { url: 'https://example.com/a.png', detail: 'low' } }),
      textBytes: AROUND,
      media: 1,
    },
    {
      name: 'of an image that a tool has brought',
      chat: {
        messages: [{ role: 'tool', tool_call_id: 'c', content: [{ type: 'image_url', image_url: { url: IMAGE } }] }],
      },
      textBytes: AROUND,
      media: 1,
    },
    {
      name: 'of sounds and files of any form',
      chat: ofParts(
        { type: 'input_audio', input_audio: { data: DATA, format: 'wav' } },
        { type: 'input_audio', input_audio: DATA },
        { type: 'file', file: { filename: 'a.pdf', file_data: `data:application/pdf;base64,${DATA}` } },
        { type: 'document_url', document_url: 'https://example.com/a.pdf' },
        { type: 'audio_url', audio_url: { url: `data:audio/wav;base64,${DATA}` } },
        { type: 'video_url', video_url: { url: 'https://example.com/a.mp4' } },
        { type: 'file', file: { file_id: 'file-abc123' } },
      ),
      textBytes: AROUND + 5,
      media: 7,
    },
    {
      name: 'of words in the place of an image',
      chat: ofParts({ type: 'image_url', image_url: { url: WORDS } }),
      textBytes: AROUND + 1099,
    },
    {
      name: 'of words behind the beginning of a data URL',
      chat: ofParts({ type: 'image_url', image_url: { url: `data:,${WORDS}` } }),
      textBytes: AROUND + 1105,
    },
    {
      name: 'of a file with text',
      chat: ofParts({ type: 'file', file: { file_data: `data:text/plain;base64,${DATA}` } }),
      textBytes: AROUND + 1023,
    },
    {
      name: 'of a file with JSON',
      chat: ofParts({ type: 'file', file: { file_data: `data:application/json;base64,${DATA}` } }),
      textBytes: AROUND + 1029,
    },
    {
      name: 'of a word that could be base64, in a part that is no image',
      chat: ofParts({ type: 'text', text: 'hello' }),
      textBytes: AROUND + 5,
    },
    {
      name: 'of an image whose data go on with what is no base64',
      chat: ofParts({ type: 'image_url', image_url: { url: `${IMAGE} and so on` } }),
      textBytes: AROUND,
      media: 1,
    },
    {
      name: 'of an address in a field that is none',
      chat: ofParts({ type: 'file', file: { filename: 'https://example.com/a.pdf' } }),
      textBytes: AROUND + 25,
    },
    {
      name: 'of an address that is a number',
      chat: ofParts({ type: 'image_url', image_url: { url: 12_345 } }),
      textBytes: AROUND,
    },
    {
      name: 'of truths in the format of the answer',
      chat: { response_format: { strict: true, plain: false } },
      textBytes: 6 + 4 + 4 + 5 + 4 + 4,
    },
    {
      name: 'of words in a part of another type',
      chat: ofParts({ type: 'input_text', text: WORDS }),
      textBytes: AROUND + 1099,
    },
    {
      name: 'of words beside an image',
      chat: ofParts({ type: 'image_url', text: WORDS, image_url: { url: 'data:,' } }),
      textBytes: AROUND + 1099 + 6,
    },
    {
      name: 'of words within an image',
      chat: ofParts({ type: 'image_url', image_url: { url: IMAGE, text: WORDS } }),
      textBytes: AROUND + 1099,
      media: 1,
    },
    {
      name: 'without what no model reads',
      chat: { model: DATA, unknown_padding: DATA, user: DATA, metadata: { a: DATA }, messages: [] },
      textBytes: 0,
    },
    { name: 'of what is no list of messages', chat: { messages: { content: DATA } }, textBytes: 0 },
    {
      name: 'of odd messages',
      chat: { messages: [null, 'x', { content: [null, 'x', 1] }] },
      textBytes: 3 * AROUND + 1,
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
    cases.push({
      name: `of media: ${url}`,
      chat: ofParts({ type: 'image_url', image_url: { url } }),
      textBytes: AROUND,
      media: 1,
    });
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
    const chat = ofParts({ type: 'image_url', image_url: { url } });
    cases.push({ name: `of words that are no media: ${url}`, chat, textBytes: AROUND + url.length });
  }
  for (const { name, chat, textBytes, media = 0 } of cases) {
    it(`is that ${name}`, () => {
      expect(inputSizeOf(chat)).to.deep.equal({ textBytes, media });
    });
  }
});

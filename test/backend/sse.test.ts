import { expect } from 'chai';
import { createSseReader, type SseRead } from '../../src/backend/sse.ts';
import type { ChatChunk } from '../../src/core/chat.ts';
import { ApiError } from '../../src/core/errors.ts';
import { isObject } from '../../src/core/json.ts';
import { collectGarbage } from '../support/garbage.ts';
import { loadRecordings } from '../support/recordings.ts';
import { turn } from '../support/time.ts';

/** Everything that came of the pieces, and the failure as the error value it was made of. */
interface Outcome {
  readonly chunks: readonly ChatChunk[];
  readonly done: boolean;
  readonly failure: unknown;
}

function readAll(pieces: readonly (string | Uint8Array)[]): Outcome {
  const reader = createSseReader((error) => new ApiError('upstream_error', { cause: error }));
  const reads: SseRead[] = pieces.map((piece) => reader.feed(Buffer.from(piece)));
  reads.push(reader.end());
  const failure = reads.find((read) => read.failure !== undefined)?.failure;
  return {
    chunks: reads.flatMap((read) => read.chunks),
    done: reads.some((read) => read.done),
    failure: failure?.code === 'upstream_error' ? failure.cause : failure?.code,
  };
}

function outcome(chunks: readonly ChatChunk[], rest: Partial<Outcome> = {}): Outcome {
  return { chunks, done: false, failure: undefined, ...rest };
}

describe('the SSE reader', () => {
  const cases: readonly { name: string; text: string; expected: Outcome }[] = [
    {
      name: 'several events in one read',
      text: 'data: {"a":1}\n\ndata: {"a":2}\n\n',
      expected: outcome([{ a: 1 }, { a: 2 }]),
    },
    {
      name: 'data without a space',
      text: 'data:{"a":1}\n\ndata:[DONE]\n\n',
      expected: outcome([{ a: 1 }], { done: true }),
    },
    { name: 'CRLF', text: 'data: {"a":1}\r\n\r\ndata: [DONE]\r\n\r\n', expected: outcome([{ a: 1 }], { done: true }) },
    { name: 'CR alone', text: 'data: {"a":1}\r\rdata: [DONE]\r\r', expected: outcome([{ a: 1 }], { done: true }) },
    {
      name: 'comments, ids, retry lines and unknown fields',
      text: ': OPENROUTER PROCESSING\n\nid: 7\nretry: 10\nretry: x\nfoo: bar\ndata: {"a":1}\n\n',
      expected: outcome([{ a: 1 }]),
    },
    { name: 'data over several lines', text: 'data: {"a":\ndata: 1}\n\n', expected: outcome([{ a: 1 }]) },
    {
      name: 'a lone CR between the lines of a later event',
      text: 'data: {"a":1}\n\ndata: {"a":\rdata: 2}\n\n',
      expected: outcome([{ a: 1 }, { a: 2 }]),
    },
    {
      name: 'several lines of data in a later event',
      text: 'data: {"a":1}\n\ndata: {"a":\ndata: 2}\n\n',
      expected: outcome([{ a: 1 }, { a: 2 }]),
    },
    {
      name: 'an id before the data of a later event',
      text: 'data: {"a":1}\n\nid: 1\ndata: {"a":2}\n\n',
      expected: outcome([{ a: 1 }, { a: 2 }]),
    },
    {
      name: 'a byte order mark in the middle, which is a character',
      text: 'data: {"a":1}\n\ndata: {"a":"\uFFFD\uFEFF日本"}\n\n',
      expected: outcome([{ a: 1 }, { a: '\uFFFD\uFEFF日本' }]),
    },
    { name: 'empty data', text: 'data:\n\ndata: \n\ndata: {"a":1}\n\n', expected: outcome([{ a: 1 }]) },
    { name: 'a byte order mark', text: '\uFEFFdata: {"a":1}\n\n', expected: outcome([{ a: 1 }]) },
    {
      name: 'an event name which is not error',
      text: 'event: message\ndata: {"a":1}\n\n',
      expected: outcome([{ a: 1 }]),
    },
    {
      name: 'a last event without its blank line',
      text: 'data: {"a":1}\n\ndata: {"a":2}',
      expected: outcome([{ a: 1 }, { a: 2 }]),
    },
    {
      name: 'a last [DONE] without its blank line',
      text: 'data: {"a":1}\n\ndata: [DONE]',
      expected: outcome([{ a: 1 }], { done: true }),
    },
    { name: 'a last event that is cut', text: 'data: {"a":1}\n\ndata: {"a":', expected: outcome([{ a: 1 }]) },
    {
      name: 'a last event cut to what is JSON and no object',
      text: 'data: {"a":1}\n\ndata: 12',
      expected: outcome([{ a: 1 }]),
    },
    {
      name: 'events after [DONE]',
      text: 'data: [DONE]\n\ndata: {"a":1}\n\ndata: x\n\n',
      expected: outcome([], { done: true }),
    },
    { name: 'nothing', text: '', expected: outcome([]) },
    { name: 'comments alone', text: ': one\n\n: two\n\n', expected: outcome([]) },
    {
      name: 'text of several bytes a character',
      text: 'data: {"a":"grüße 漢字 🙂"}\n\n',
      expected: outcome([{ a: 'grüße 漢字 🙂' }]),
    },
    {
      name: 'data that is not JSON',
      text: 'data: {"a":1}\n\ndata: oops\n\ndata: {"a":2}\n\n',
      expected: outcome([{ a: 1 }], { failure: 'upstream_invalid_response' }),
    },
    ...['null', 'ping', '"ping"', 'keep-alive'].map((data) => ({
      name: `${data}, which only keeps the connection open`,
      text: `data: {"a":1}\n\ndata: ${data}\n\ndata: {"a":2}\n\n`,
      expected: outcome([{ a: 1 }, { a: 2 }]),
    })),
    ...[
      { detail: 'CUDA out of memory' },
      { code: 500, msg: 'boom' },
      { error_code: 500, error_msg: 'boom' },
      { type: 'error', message: 'boom' },
      { status: 500, message: 'boom' },
      { errors: ['boom'] },
      { choices: [], error_message: 'boom' },
      { choices: null, code: 'InvalidParameter', message: 'boom' },
    ].flatMap((error) =>
      ['data: [DONE]\n\n', ''].map((end) => ({
        name: `${JSON.stringify(error)} at the end, ${end === '' ? 'without' : 'with'} [DONE]`,
        text: `data: {"choices":[]}\n\ndata: ${JSON.stringify(error)}\n\n${end}`,
        expected: outcome([{ choices: [] }], { failure: error }),
      })),
    ),
    {
      name: 'such words between chunks, which are no error',
      text: 'data: {"message":"loading"}\n\ndata: {"choices":[]}\n\ndata: [DONE]\n\n',
      expected: outcome([{ choices: [] }], { done: true }),
    },
    {
      name: 'such words after the finish reason, which lose nothing',
      text: 'data: {"choices":[{"finish_reason":"stop"}]}\n\ndata: {"message":"bye"}\n\ndata: [DONE]\n\n',
      expected: outcome([{ choices: [{ finish_reason: 'stop' }] }], { done: true }),
    },
    ...[
      { code: 0, msg: 'success' },
      { code: 200, message: 'OK' },
      { choices: [], base_resp: { status_code: 0 } },
    ].map((chunk) => ({
      name: `${JSON.stringify(chunk)} at the end, which is no error`,
      text: `data: ${JSON.stringify(chunk)}\n\ndata: [DONE]\n\n`,
      expected: outcome([chunk], { done: true }),
    })),
    ...['[1]', '"text"', '12', 'true'].map((json) => ({
      name: `data that is ${json} in place of an object`,
      text: `data: ${json}\n\ndata: {"a":1}\n\n`,
      expected: outcome([], { failure: 'upstream_invalid_response' }),
    })),
    {
      name: 'an error after chunks',
      text: 'data: {"a":1}\n\ndata: {"error":{"message":"boom"}}\n\ndata: {"a":2}\n\n',
      expected: outcome([{ a: 1 }], { failure: { message: 'boom' } }),
    },
    {
      name: 'an error inside the choice',
      text: 'data: {"choices":[{"error":{"code":502,"message":"boom"},"finish_reason":"error"}]}\n\n',
      expected: outcome([], { failure: { code: 502, message: 'boom' } }),
    },
    { name: 'an error as text', text: 'data: {"error":"boom"}\n\n', expected: outcome([], { failure: 'boom' }) },
    {
      name: 'an object that is the error',
      text: 'data: {"object":"error","message":"boom","code":400}\n\n',
      expected: outcome([], { failure: { object: 'error', message: 'boom', code: 400 } }),
    },
    {
      name: 'an error event whose data is the error',
      text: 'event: error\ndata: {"message":"boom","code":500}\n\n',
      expected: outcome([], { failure: { message: 'boom', code: 500 } }),
    },
    {
      name: 'an error event with an error in its data',
      text: 'event: error\ndata: {"error":{"message":"boom"}}\n\n',
      expected: outcome([], { failure: { message: 'boom' } }),
    },
    {
      name: 'an error event with plain text',
      text: 'event: error\ndata: boom\n\n',
      expected: outcome([], { failure: 'boom' }),
    },
    ...['null', 'false', '{}', '""', '{"code":0}', '{"message":""}', '{"message":null,"code":null}'].map((error) => ({
      name: `error: ${error}, which is none`,
      text: `data: {"error":${error},"a":1}\n\n`,
      expected: outcome([{ error: JSON.parse(error) as unknown, a: 1 }]),
    })),
  ];

  for (const { name, text, expected } of cases) {
    it(`reads ${name}`, () => {
      expect(readAll([text])).to.deep.equal(expected);
    });

    it(`reads ${name} when cut at every position`, () => {
      const bytes = Buffer.from(text);
      for (let at = 0; at <= bytes.length; at++) {
        expect(readAll([bytes.subarray(0, at), bytes.subarray(at)]), `cut at ${at}`).to.deep.equal(expected);
      }
      expect(readAll(Array.from(bytes, (byte) => Uint8Array.of(byte))), 'byte by byte').to.deep.equal(expected);
    });
  }

  it('gives the chunks before an error in the read that holds both', () => {
    const reader = createSseReader((error) => new ApiError('upstream_error', { cause: error }));

    const read = reader.feed(Buffer.from('data: {"a":1}\n\ndata: {"error":"boom"}\n\n'));

    expect(read.chunks).to.deep.equal([{ a: 1 }]);
    expect(read.failure).to.be.instanceOf(ApiError);
    expect(reader.feed(Buffer.from('data: {"a":2}\n\n'))).to.deep.equal({ chunks: [], done: false });
  });

  it('puts the replacement character for what is not UTF-8', () => {
    expect(readAll([Buffer.from('data: {"a":"'), Uint8Array.of(0xff), '"}\n\n'])).to.deep.equal(
      outcome([{ a: '\uFFFD' }]),
    );
  });

  for (const [name, piece] of [
    ['a line', 'x'.repeat(1 << 20)],
    ['an event of many lines', `${'x'.repeat(1 << 20)}\ndata: `],
  ] as const) {
    it(`refuses ${name} of more than 8 Mi characters, after the chunks before it`, () => {
      const pieces = ['data: {"a":1}\n\ndata: ', ...Array.from({ length: 17 }, () => piece)];

      expect(readAll(pieces)).to.deep.equal(outcome([{ a: 1 }], { failure: 'upstream_invalid_response' }));
    });
  }

  it('keeps nothing of an endless comment', () => {
    const pieces = [': ', ...Array.from({ length: 20 }, () => 'x'.repeat(1 << 20)), '\n\ndata: {"a":1}\n\n'];

    expect(readAll(pieces)).to.deep.equal(outcome([{ a: 1 }]));
  });

  it('keeps no words that it has handed out, while the request goes on', async () => {
    const reader = createSseReader((error) => new ApiError('upstream_error', { cause: error }));
    // Words of another choice are handed out as chunks, and those of the first one as text.
    const words = Array.from({ length: 10 }, (_, number) => ({
      choices: [{ index: 1, delta: { content: ` word${number}` } }],
    }));
    const handOut = (): WeakRef<ChatChunk>[] =>
      reader
        .feed(Buffer.from(words.map((chunk) => `data: ${JSON.stringify(chunk)}\n\n`).join('')))
        .chunks.filter(isObject)
        .map((chunk) => new WeakRef(chunk));

    const handedOut = handOut();
    // A WeakRef holds what it refers to until the turn is over.
    await turn(1);
    collectGarbage();

    expect(handedOut).to.have.length(words.length);
    // The first one shows what the others look like.
    expect(handedOut.slice(1).filter((chunk) => chunk.deref() !== undefined)).to.be.empty;
    expect(reader.feed(Buffer.from('data: [DONE]\n\n')).done).to.equal(true);
  });

  for (const { name, status, contentType, body } of loadRecordings()) {
    if (status !== 200 || contentType !== 'text/event-stream') continue;
    it(`reads ${name} byte by byte as it reads it whole`, () => {
      const whole = readAll([body]);
      expect(whole.chunks).to.not.be.empty;
      expect(readAll(Array.from(body, (byte) => Uint8Array.of(byte)))).to.deep.equal(whole);
    });
  }
});

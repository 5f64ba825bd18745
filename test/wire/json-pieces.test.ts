import { expect } from 'chai';
import { toItemId } from '../../src/core/ids.ts';
import type { ResponseEvent } from '../../src/contract/types.ts';
import { echoOf, initialResponse } from '../../src/core/reply/initial-response.ts';
import { createPiecesWriter, type Pieces } from '../../src/wire/json-pieces.ts';
import { newUniquePartAt } from '../../src/identity/unique-part.ts';

const LONG = 'Long "text" of ümlauts. '.repeat(20_000);
const UNIQUE = newUniquePartAt(0);
const REQUEST = { model: 'm', instructions: 'Be "brief".', metadata: { a: 'b' } };
const RESPONSE = { ...initialResponse(REQUEST, { echo: [] }, { unique: UNIQUE, createdAtS: 0 }), output_text: LONG };
const PLACE = { item_id: toItemId('msg', UNIQUE, 0), output_index: 0, content_index: 0 };
const DELTA: ResponseEvent = {
  type: 'response.output_text.delta',
  ...PLACE,
  delta: LONG,
  logprobs: [],
  sequence_number: 1,
};
const DONE: ResponseEvent = {
  type: 'response.output_text.done',
  ...PLACE,
  text: LONG,
  logprobs: [],
  sequence_number: 2,
};
const COMPLETED: ResponseEvent = { type: 'response.completed', response: RESPONSE, sequence_number: 3 };

function textOf(pieces: Pieces | undefined): string {
  return Buffer.concat((pieces ?? []).map((piece) => Buffer.from(piece))).toString();
}

describe('createPiecesWriter', () => {
  it('leaves short answers to others', () => {
    const writer = createPiecesWriter(undefined);
    expect([{ ...DELTA, delta: 'short' }, DONE, COMPLETED].map((event) => writer.event(event))).to.deep.equal([
      undefined,
      undefined,
      undefined,
    ]);
  });

  it('writes the JSON of a long answer, and its text once', () => {
    const writer = createPiecesWriter(undefined);
    const bytes = new Set<unknown>();
    for (const event of [DELTA, DONE, COMPLETED]) {
      const pieces = writer.event(event);
      expect(textOf(pieces)).to.equal(JSON.stringify(event));
      for (const piece of pieces ?? []) if (typeof piece !== 'string') bytes.add(piece);
    }
    expect(bytes.size).to.equal(1);
  });

  it('writes the JSON of many log probabilities, and these once while they do not grow', () => {
    let written = 0;
    const plain = { token: 'a', logprob: -1, bytes: [97], top_logprobs: [] };
    const toJSON = () => {
      written += 1;
      return plain;
    };
    const logprobs = Array.from({ length: 20 }, (_, index) => (index === 0 ? { ...plain, toJSON } : plain));
    const part = { type: 'output_text' as const, text: 'a', annotations: [], logprobs };
    const item = {
      type: 'message' as const,
      id: PLACE.item_id,
      status: 'completed' as const,
      role: 'assistant' as const,
    };
    const messages = [{ ...item, content: [part] }];
    const events: readonly ResponseEvent[] = [
      { ...DONE, text: 'a', logprobs },
      { type: 'response.content_part.done', ...PLACE, part, sequence_number: 3 },
      { type: 'response.output_item.done', output_index: 0, item: { ...item, content: [part] }, sequence_number: 4 },
      { ...COMPLETED, response: { ...RESPONSE, output: messages, output_text: 'a' } },
    ];
    const writer = createPiecesWriter(undefined);
    for (const logprob of logprobs) writer.event({ ...DELTA, delta: 'a', logprobs: [logprob] });
    for (const round of [1, 2]) {
      const texts = events.map((event) => textOf(writer.event(event)));
      expect(written).to.equal(round);
      expect(texts).to.deep.equal(events.map((event) => JSON.stringify(event)));
      written = round;
      logprobs.push(plain);
    }
  });

  it('leaves few log probabilities to others', () => {
    const writer = createPiecesWriter(undefined);
    const logprobs = [{ token: 'a', logprob: -1, bytes: [97], top_logprobs: [] }];
    writer.event({ ...DELTA, delta: 'a', logprobs });
    expect(writer.event({ ...DONE, text: 'a', logprobs })).to.equal(undefined);
  });

  it('leaves a citation of a long answer to others', () => {
    const writer = createPiecesWriter(undefined);
    writer.event(DELTA);
    const annotation = { type: 'url_citation' as const, url: 'u', title: '', start_index: 0, end_index: 1 };
    const type = 'response.output_text.annotation.added';
    expect(writer.event({ type, ...PLACE, annotation_index: 0, annotation, sequence_number: 2 })).to.equal(undefined);
  });

  it('writes the echo of a large request in the place of what a response repeats', () => {
    const echo = Buffer.from(JSON.stringify(echoOf(REQUEST, { echo: [] })).slice(1, -1));
    const writer = createPiecesWriter(echo);
    const { instructions: _instructions, metadata: _metadata, ...small } = REQUEST;
    const response = initialResponse(small, { echo: [] }, { unique: UNIQUE, createdAtS: 0 });
    const whole = initialResponse(REQUEST, { echo: [] }, { unique: UNIQUE, createdAtS: 0 });
    expect(textOf(writer.response(response))).to.equal(JSON.stringify(whole));
    expect(textOf(writer.event({ ...COMPLETED, response }))).to.equal(
      JSON.stringify({ ...COMPLETED, response: whole }),
    );
    expect(writer.response(response)).to.include(echo);
  });

  it('writes long instructions once for all responses of a stream', () => {
    const request = { ...REQUEST, instructions: LONG };
    const response = initialResponse(request, { echo: [] }, { unique: UNIQUE, createdAtS: 0 });
    const writer = createPiecesWriter(undefined);
    const bytes = new Set<unknown>();
    for (const type of ['response.created', 'response.in_progress', 'response.completed'] as const) {
      const event = { type, response, sequence_number: 0 };
      const pieces = writer.event(event) ?? [];
      expect(textOf(pieces)).to.equal(JSON.stringify(event));
      for (const piece of pieces) if (typeof piece !== 'string') bytes.add(piece);
    }
    expect(bytes.size).to.equal(1);
  });
});

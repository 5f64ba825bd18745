import { expect } from 'chai';
import { createEventWriter } from '../../../src/http/responses/event-text.ts';
import type { ResponseEvent } from '../../../src/contract/types.ts';
import { loadFixtures } from '../../support/fixtures.ts';

function parse(text: string): { name: string | undefined; event: unknown } {
  const [, name, data = ''] = /^event: ([\w.]+)\ndata: ([^\n]*)\n\n$/.exec(text) ?? [];
  return { name, event: JSON.parse(data) };
}

describe('the text of events', () => {
  for (const fixture of loadFixtures()) {
    it(`says what the events of ${fixture.name} say`, () => {
      const write = createEventWriter();
      for (const event of fixture.expectedEvents()) {
        expect(parse(write(event))).to.deep.equal({ name: event.type, event });
      }
    });
  }

  const place = { item_id: 'msg_1', output_index: 0, content_index: 0, logprobs: [] };
  const delta = (fields: object) =>
    ({
      type: 'response.output_text.delta',
      sequence_number: 4,
      ...place,
      delta: 'Hello',
      ...fields,
    }) as unknown as ResponseEvent;
  const neighbours: readonly { name: string; event: ResponseEvent }[] = [
    { name: 'another part of the item', event: delta({ content_index: 1 }) },
    { name: 'another item', event: delta({ item_id: 'msg_2', output_index: 1 }) },
    { name: 'another kind of delta', event: delta({ type: 'response.refusal.delta' }) },
    { name: 'a delta with log probabilities', event: delta({ logprobs: [{ token: 'a', logprob: -1 }] }) },
    { name: 'a delta of many characters', event: delta({ delta: '"\\\n\u2028\ud800é😀' }) },
  ];
  for (const { name, event } of neighbours) {
    it(`keeps a delta apart from ${name}`, () => {
      const write = createEventWriter();
      for (const each of [delta({}), event, delta({ sequence_number: 6 })]) {
        expect(parse(write(each)).event).to.deep.equal(each);
      }
    });
  }

  it('writes every character as JSON.stringify does', () => {
    const write = createEventWriter();
    for (let code = 0; code <= 0xff_ff; code++) {
      const text = `a${String.fromCharCode(code)}b`;
      expect(write(delta({ delta: text }))).to.include(`"delta":${JSON.stringify(text)},"sequence_number"`);
    }
  });

  it('keeps the summaries of a thought apart', () => {
    const write = createEventWriter();
    for (const index of [0, 1, 0]) {
      const type = 'response.reasoning_summary_text.delta';
      const event = { type, sequence_number: 1, item_id: 'rs_1', output_index: 0, summary_index: index, delta: 'a' };
      expect(parse(write(event as ResponseEvent)).event).to.deep.equal(event);
    }
  });
});

import { expect } from 'chai';
import * as fc from 'fast-check';
import type { ChatChunk } from '../../../src/core/chat.ts';
import { chunkOf, translate } from '../../support/machine.ts';
import { cutAt } from '../../support/cut.ts';
import { runs } from '../../support/property.ts';
import { expectWellFormed } from '../../support/well-formed.ts';

interface Call {
  readonly name: string;
  readonly arguments: string;
}

const anyCall: fc.Arbitrary<Call> = fc.record({
  name: fc.constantFrom('look', 'see', 'now'),
  arguments: fc.oneof(
    fc.constant(''),
    fc.dictionary(fc.string(), fc.jsonValue({ maxDepth: 2 }), { maxKeys: 4 }).map((value) => JSON.stringify(value)),
  ),
});
const anyCalls = fc.array(anyCall, { minLength: 1, maxLength: 5 });

function callsIn(chunks: readonly ChatChunk[]): (Call & { readonly callId: string })[] {
  const response = expectWellFormed(translate({ chunks: [...chunks, chunkOf({}, 'tool_calls')], done: true }));
  return response.output.flatMap((item) =>
    item.type === 'function_call' ? [{ name: item.name, arguments: item.arguments, callId: item.call_id }] : [],
  );
}

const piece = (fields: object, name: string | undefined, more: string) =>
  chunkOf({ tool_calls: [{ ...fields, function: { ...(name !== undefined && { name }), arguments: more } }] });

const expected = (calls: readonly Call[]) =>
  calls.map((call, index) => ({ name: call.name, arguments: call.arguments || '{}', callId: `call_${index}` }));

const anyCuts = fc.infiniteStream(fc.array(fc.nat(), { maxLength: 4 }));

describe('parallel calls', () => {
  it('with an index come back exactly, however their pieces are cut and interleaved', () => {
    const anyOrder = fc.infiniteStream(fc.nat());
    fc.assert(
      fc.property(anyCalls, anyCuts, anyOrder, fc.constantFrom('first', 'all'), (calls, cuts, order, idsIn) => {
        const waiting = calls.map((call, index) => {
          const first = piece({ index, id: `call_${index}` }, call.name, '');
          const more = idsIn === 'all' ? { index, id: `call_${index}` } : { index };
          return [first, ...cutAt(call.arguments, cuts.next().value).map((text) => piece(more, undefined, text))];
        });
        // The first pieces come in the order of the calls; all others in any.
        const chunks = waiting.flatMap((pieces) => pieces.splice(0, 1));
        for (let left = waiting.filter((pieces) => pieces.length > 0); left.length > 0;) {
          chunks.push(...(left[order.next().value % left.length]?.splice(0, 1) ?? []));
          left = left.filter((pieces) => pieces.length > 0);
        }
        expect(callsIn(chunks)).to.deep.equal(expected(calls));
      }),
      runs(800),
    );
  });

  it('without an index come back exactly, one after the other', () => {
    fc.assert(
      fc.property(anyCalls, anyCuts, (calls, cuts) => {
        const chunks = calls.flatMap((call, index) => [
          piece({ id: `call_${index}` }, call.name, ''),
          ...cutAt(call.arguments, cuts.next().value).map((text) => piece({}, undefined, text)),
        ]);
        expect(callsIn(chunks)).to.deep.equal(expected(calls));
      }),
      runs(500),
    );
  });

  it('without an index, but with their ids in every piece, come back exactly when interleaved', () => {
    fc.assert(
      fc.property(anyCalls, anyCuts, (calls, cuts) => {
        const pieces = calls.map((call, index) =>
          cutAt(call.arguments, cuts.next().value).map((text) => piece({ id: `call_${index}` }, undefined, text)),
        );
        const rounds = Math.max(...pieces.map((own) => own.length));
        const chunks = [
          ...calls.map((call, index) => piece({ id: `call_${index}` }, call.name, '')),
          ...Array.from({ length: rounds }, (_, round) => pieces.flatMap((own) => own.slice(round, round + 1))).flat(),
        ];
        expect(callsIn(chunks)).to.deep.equal(expected(calls));
      }),
      runs(500),
    );
  });

  it('all under index 0 come back exactly, told apart by their ids', () => {
    fc.assert(
      fc.property(anyCalls, anyCuts, (calls, cuts) => {
        const whole = calls.map((call) => ({ ...call, arguments: call.arguments || '{}' }));
        const chunks = whole.flatMap((call, index) => [
          piece({ index: 0, id: `call_${index}` }, call.name, ''),
          ...cutAt(call.arguments, cuts.next().value).map((text) => piece({ index: 0 }, undefined, text)),
        ]);
        expect(callsIn(chunks)).to.deep.equal(expected(whole));
      }),
      runs(500),
    );
  });

  it('get ids that are all different, and keep those of the backend which are', () => {
    const ids = fc.array(fc.constantFrom('', 'a', 'b', 'c'), { minLength: 1, maxLength: 6 });
    fc.assert(
      fc.property(ids, (ids) => {
        const chunks = ids.map((id, index) => piece({ index, id }, 'look', `{"n":${index}}`));
        const got = callsIn(chunks).map((call) => call.callId);
        expect(new Set(got).size).to.equal(ids.length);
        for (const [index, id] of ids.entries())
          if (id !== '' && ids.indexOf(id) === index) expect(got[index]).to.equal(id);
      }),
      runs(200),
    );
  });
});

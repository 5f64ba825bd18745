import { expect } from 'chai';
import { findMisplaced, findUnordered } from './chaos/linear.ts';

const ANSWERED = { kind: 'ended', how: 'completed' } as const;
const DUPLICATE = { kind: 'error', status: 409, code: 'duplicate_request' } as const;
const POOR = { kind: 'error', status: 402, code: 'insufficient_credits' } as const;
const NO_REPLY = { kind: 'no reply' } as const;

type End = typeof ANSWERED | typeof DUPLICATE | typeof POOR | typeof NO_REPLY;

const seen = (startMs: number, endMs: number, end: End, requestId?: string) => ({
  plan: { name: 'a key' },
  startMs,
  endMs,
  end,
  requestId,
});
const KEPT = new Map(['r1', 'r2'].map((id) => [id, { isKept: true }]));
const FREED = new Map([...KEPT, ['r1', { isKept: false }]]);

const CASES = [
  { name: 'a repeat after the end', made: [seen(0, 5, ANSWERED, 'r1'), seen(6, 7, DUPLICATE, 'r1')] },
  { name: 'a repeat that came first', made: [seen(0, 5, ANSWERED, 'r1'), seen(3, 4, DUPLICATE, 'r1')] },
  { name: 'a repeat of what had no reply', made: [seen(0, 1, NO_REPLY), seen(6, 7, DUPLICATE, 'r1')] },
  { name: 'a key that was freed', made: [seen(0, 5, ANSWERED, 'r1'), seen(6, 7, ANSWERED, 'r2')], records: FREED },
  { name: 'two runs', made: [seen(0, 5, ANSWERED, 'r1'), seen(6, 7, ANSWERED, 'r2')], isWrong: true },
  {
    name: 'a repeat of what came later',
    made: [seen(6, 7, ANSWERED, 'r1'), seen(0, 5, DUPLICATE, 'r1')],
    isWrong: true,
  },
  { name: 'a repeat of what nobody asked for', made: [seen(0, 5, DUPLICATE, 'r1')], isWrong: true },
  { name: 'a repeat that had to pay', made: [seen(0, 5, ANSWERED, 'r1'), seen(6, 7, POOR)], isWrong: true },
];

describe('the order of what customers saw', () => {
  for (const { name, made, records = KEPT, isWrong = false } of CASES) {
    it(`${isWrong ? 'is missing' : 'is found'} for ${name}`, () => {
      expect(findUnordered(made, records)).to.have.lengthOf(isWrong ? 1 : 0);
    });
  }

  it('is that of the ledger', () => {
    const made = [seen(0, 5, ANSWERED, 'r1'), seen(6, 7, ANSWERED, 'r2')];
    const entries = ['r1', 'r1', 'r2', 'r2'].map((requestId, seq) => ({ accountId: 'key', requestId, seq }));
    expect(findMisplaced(made, KEPT, entries)).to.deep.equal([]);
    const swapped = ['r1', 'r2', 'r1', 'r2'].map((requestId, seq) => ({ accountId: 'key', requestId, seq }));
    expect(findMisplaced(made, KEPT, swapped)).to.deep.equal([
      'r2 has entry 1, though entry 2 was made before it began',
    ]);
  });
});

import * as fc from 'fast-check';
import { canMeet, faultOf, faultOfRequest, loadConversations, NOTHING_TO_CHANGE, type Recorded } from './cases.ts';
import { ODDITIES } from './oddities.ts';
import { REQUESTS } from './requests.ts';
import { WIRES } from './wires.ts';

export interface Finding {
  /** How many cases were tried, without those of the shrinking. */
  readonly tried: number;
  /** The first fault, with the fewest oddities that show it; undefined where all was understood. */
  readonly text?: string;
}

/** Tries so many times up to three oddities at one of the answers, and at the turn after one of them. */
export function search(answers: readonly Recorded[], { seed, cases }: { seed: number; cases: number }): Finding {
  const conversations = loadConversations(answers);
  // The bias of fast-check is for the first ones of a list, which are no simpler than the others.
  const oddAnswer = fc.noBias(
    fc.record({
      answer: fc.constantFrom(...answers),
      oddities: fc
        .uniqueArray(fc.constantFrom(...ODDITIES), { minLength: 1, maxLength: 3 })
        .filter((some) => some.every((one, at) => some.slice(at + 1).every((other) => canMeet(one, other))))
        // What breaks an answer is done to it last.
        .map((some) =>
          some.toSorted((one, other) => Number(one.means === 'broken') - Number(other.means === 'broken')),
        ),
      wire: fc.option(fc.constantFrom(...WIRES), { nil: undefined, freq: 2 }),
    }),
  );
  const oddRequest = fc.noBias(
    fc.record({
      conversation: fc.constantFrom(...conversations),
      oddities: fc.uniqueArray(fc.constantFrom(...REQUESTS), { minLength: 1, maxLength: 3 }),
    }),
  );
  let tried = 0;
  let isShrinking = false;

  function expectNone(fault: string | undefined, ...what: readonly { readonly name: string }[]): void {
    if (fault === NOTHING_TO_CHANGE) return;
    if (!isShrinking) tried += 1;
    if (fault === undefined) return;
    isShrinking = true;
    throw new Error(`${what.map(({ name }) => name).join(', ')}:\n  ${fault}`);
  }

  const { errorInstance } = fc.check(
    fc.property(oddAnswer, oddRequest, ({ answer, oddities, wire }, { conversation, oddities: others }) => {
      const asItComes = wire ?? { name: 'as it comes' };
      expectNone(faultOf(answer, oddities, wire), answer, { name: answer.dialect }, ...oddities, asItComes);
      expectNone(faultOfRequest(conversation, others), conversation, { name: conversation.dialect }, ...others);
    }),
    { seed, numRuns: cases },
  );
  return errorInstance instanceof Error ? { tried, text: errorInstance.message } : { tried };
}

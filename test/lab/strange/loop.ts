/**
 * `npm run lab strange -- --seed N --cases M`: two or three oddities at once, and the bytes of a
 * stream as well; ends with 1 at the first fault, shrunk to the fewest oddities.
 */

import { parseArgs } from 'node:util';
import * as fc from 'fast-check';
import { publishFigures } from '../../support/generate-figures.ts';
import { SEED } from '../../support/property.ts';
import { canMeet, faultOf, faultOfRequest, loadAnswers, loadConversations, NOTHING_TO_CHANGE } from './cases.ts';
import { ODDITIES } from './oddities.ts';
import { REQUESTS } from './requests.ts';
import { WIRES } from './wires.ts';

const { values } = parseArgs({ options: { seed: { type: 'string' }, cases: { type: 'string' } } });
const seed = Number(values.seed ?? SEED);
const cases = Number(values.cases ?? 100_000);
const answers = loadAnswers();
const conversations = loadConversations(answers);
let tried = 0;

// The bias of fast-check is for the first ones of a list, which are no simpler than the others.
const oddAnswer = fc.noBias(
  fc.record({
    answer: fc.constantFrom(...answers),
    oddities: fc
      .uniqueArray(fc.constantFrom(...ODDITIES), { minLength: 1, maxLength: 3 })
      .filter((some) => some.every((one, at) => some.slice(at + 1).every((other) => canMeet(one, other))))
      // What breaks an answer is done to it last.
      .map((some) => some.toSorted((one, other) => Number(one.means === 'broken') - Number(other.means === 'broken'))),
    wire: fc.option(fc.constantFrom(...WIRES), { nil: undefined, freq: 2 }),
  }),
);
const oddRequest = fc.noBias(
  fc.record({
    conversation: fc.constantFrom(...conversations),
    oddities: fc.uniqueArray(fc.constantFrom(...REQUESTS), { minLength: 2, maxLength: 3 }),
  }),
);

function note(fault: string | undefined): string | undefined {
  if (fault === NOTHING_TO_CHANGE) return undefined;
  tried += 1;
  return fault;
}

function expectNone(fault: string | undefined, what: readonly string[]): void {
  if (fault !== undefined) throw new Error(`${what.join(', ')}:\n  ${fault}`);
}

const begun = process.cpuUsage();
const result = fc.check(
  fc.property(oddAnswer, oddRequest, (one, other) => {
    expectNone(note(faultOf(one.answer, one.oddities, one.wire)), [
      one.answer.name,
      one.answer.dialect,
      ...one.oddities.map(({ name }) => name),
      one.wire?.name ?? 'as it comes',
    ]);
    expectNone(note(faultOfRequest(other.conversation, other.oddities)), [
      other.conversation.name,
      other.conversation.dialect,
      ...other.oddities.map(({ name }) => name),
    ]);
  }),
  { seed, numRuns: cases },
);
const { user, system } = process.cpuUsage(begun);
console.log(`${tried} cases with --seed ${seed}, in ${((user + system) / 1e6).toFixed(1)} s of processor time`);
if (result.failed) {
  console.log(`${(result.errorInstance as Error).message}\n\nTo see it again: npm run lab strange -- --seed ${seed}`);
  process.exitCode = 1;
} else {
  console.log('all were understood');
  publishFigures('lab strange', `${tried} answers and requests with two or three oddities each`);
}

/** Faults that the oddities must find. Most of them were in the translation once. */

import { SEED } from '../../support/property.ts';
import { plant, type Fault } from '../plant.ts';
import type { Finding } from './search.ts';

export const FAULTS: readonly Fault[] = [
  {
    name: 'text so far that is put behind itself',
    file: 'core/reply/text-reader.ts',
    right: "return mode === 'pieces' ? readPiece(piece) : readFirst(piece);",
    wrong: 'return readPiece(piece);',
    within: 2500,
  },
  {
    name: 'arguments so far that are put behind themselves',
    file: 'core/reply/call-arguments.ts',
    right: "const canBeSoFar = before !== '' &&",
    wrong: 'const canBeSoFar = false &&',
    within: 8000,
  },
  {
    name: 'a whole message that is said once more',
    file: 'core/reply/output-writer.ts',
    right: 'const isWhole = isMessage && hasDeltas;',
    wrong: 'const isWhole = false;',
    within: 8000,
  },
  {
    name: 'thoughts that are told of each of their fields',
    file: 'core/reply/chunk.ts',
    right: ': thoughtIn(delta[field]);',
    wrong: ": THOUGHTS_FIELDS.map((one) => thoughtIn(delta[one])).join('');",
    within: 8000,
  },
  {
    name: 'zeros that count in the place of the usage before them',
    file: 'core/reply/usage.ts',
    right: 'if (latest.gaps.length > 0 && isWhole(before)) return named;',
    wrong: '',
    within: 600,
  },
  {
    name: 'an answer in two choices that is charged twice',
    file: 'core/reply/chat-meter.ts',
    right: 'if (known.size === 1 || expectedChoices === 1) return;',
    wrong: 'if (known.size === 1) return;',
    within: 2000,
  },
  {
    name: 'an index in a string that is none',
    file: 'core/reply/chunk.ts',
    right: String.raw`if (typeof given === 'string' && /^\d+$/.test(given)) return Number(given);`,
    wrong: '',
    within: 8000,
  },
  {
    name: 'a call at several indexes that runs once for each',
    file: 'core/reply/match-call.ts',
    right: 'calls.findLast(piece) ?? findAtOtherIndex(calls, piece) ?? atIndex',
    wrong: 'calls.findLast(piece) ?? atIndex',
    within: 6000,
  },
  {
    name: 'a call in another choice that is lost',
    file: 'core/reply/chunk.ts',
    right: 'if (isObject(choice)) choices.push(',
    wrong: 'if (isObject(choice) && indexOf(choice, position) === 0) choices.push(',
    within: 1000,
  },
  {
    name: 'a placeholder that becomes the beginning of the arguments',
    file: 'core/reply/call-arguments.ts',
    right: "if (isPlaceholder() && piece.startsWith('{')) waiting = [];",
    wrong: '',
    within: 1500,
  },
  {
    name: 'a finish reason of failure that is told as completed',
    file: 'core/reply/finish-reason.ts',
    right: "return { kind: 'failed', error: givenUp() };",
    wrong: "return { kind: 'completed' };",
    within: 50,
  },
  {
    name: 'an error in the place of a choice that is overlooked',
    file: 'backend/error-body.ts',
    right: "return isObject(choice) && reportsFailure(choice['error']) ? choice['error'] : undefined;",
    wrong: 'return undefined;',
    within: 400,
  },
  {
    name: 'a schema that goes out without a type at its root',
    file: 'core/request/tools.ts',
    right: "return { ...schema, type: 'object', properties:",
    wrong: 'return { ...schema, properties:',
    within: 50,
  },
  {
    name: 'a call that is asked twice because the client repeats it',
    file: 'core/request/turns.ts',
    right: 'const same = isRepeated ? sameCallIn(turn, piece) : undefined;',
    wrong: 'const same = undefined as ReturnType<typeof sameCallIn>;',
    within: 2500,
  },
];

/** Searches answers of our own over sources with this fault. Throws as `plant` does. */
export async function findPlanted(fault: Fault): Promise<Finding> {
  const { loadAnswers } = (await plant(fault, './strange/cases.ts')) as typeof import('./cases.ts');
  const { search } = (await plant(fault, './strange/search.ts')) as typeof import('./search.ts');
  return search(loadAnswers({ isPlain: true }), { seed: SEED, cases: fault.within });
}

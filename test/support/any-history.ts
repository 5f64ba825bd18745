import * as fc from 'fast-check';
import { EVERY_ITEM } from './client-items.ts';
import { HOSTED_CALLS } from './foreign-items.ts';

const id = fc.constantFrom('call_0', 'call_1', 'call_2', 'call_a');

const anyItem = fc.oneof(
  { arbitrary: fc.constantFrom(...EVERY_ITEM), weight: 8 },
  id.map((call_id) => ({ type: 'function_call', call_id, name: 'look', arguments: '{}' })),
  id.map((call_id) => ({ type: 'function_call_output', call_id, output: 'rain' })),
  fc.constantFrom('user', 'assistant', 'developer').map((role) => ({ role, content: 'Hi' })),
  // The fields of a call that another server executed may be anything, and so may an item of tomorrow.
  fc
    .tuple(
      fc.constantFrom(...HOSTED_CALLS, { type: 'of_tomorrow' }),
      fc.dictionary(fc.constantFrom('action', 'output', 'result'), fc.jsonValue({ maxDepth: 3 })),
    )
    .map(([call, odd]) => ({ ...call, ...odd })),
);

/** Items of any server and client in any order, so that outputs come without their calls, before them or turns later. */
export const anyHistory: fc.Arbitrary<readonly object[]> = fc.array(anyItem, { maxLength: 20 });

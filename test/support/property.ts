/** The part of the cases that `npm test` tries; test/all-cases.system.ts tries all of them. */
const SHARE = 0.2;

/** Whether `npm test` runs, and not a file by hand or the system tests. */
const isPart = process.env['npm_lifecycle_event'] === 'test';

/** Always the same, so that a red test stays red. The seed of a failure stands in its message. */
export const SEED = Number(process.env['FAST_CHECK_SEED'] ?? 20_261_121);

/** How many times as many cases as usual. */
const TIMES = Number(process.env['FAST_CHECK_TIMES'] ?? 1);

/** How property tests run: always the same cases. `FAST_CHECK_SEED` tries others, and `FAST_CHECK_TIMES` more. */
export function runs(numRuns: number): { readonly seed: number; readonly numRuns: number } {
  return { seed: SEED, numRuns: isPart ? Math.ceil(numRuns * SHARE) : numRuns * TIMES };
}

/** The cases to try of a long list, spread evenly over it, and over the rows of a table that the list may be. */
export function casesOf<Case>(all: readonly Case[]): readonly Case[] {
  const step = Math.round(1 / SHARE);
  return isPart ? all.filter((_, at) => at % step === Math.floor(at / step) % step) : all;
}

/** The pairs to try of all those of two lists. */
export function pairsOf<One, Other>(
  ones: readonly One[],
  others: readonly Other[],
): readonly (readonly [One, Other])[] {
  return casesOf(others.flatMap((other) => ones.map((one) => [one, other] as const)));
}

/** The part of the cases that `npm test` tries; test/properties.system.ts tries all of them. */
const SHARE = 0.2;

/**
 * How property tests run: always the same cases, so that a red test stays red. `FAST_CHECK_SEED` tries others; the seed of a
 * failure stands in its message.
 */
export function runs(numRuns: number): { readonly seed: number; readonly numRuns: number } {
  const isPart = process.env['npm_lifecycle_event'] === 'test';
  return {
    seed: Number(process.env['FAST_CHECK_SEED'] ?? 20_261_121),
    numRuns: isPart ? Math.ceil(numRuns * SHARE) : numRuns,
  };
}

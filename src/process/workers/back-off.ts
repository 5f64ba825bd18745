/** How long a process that has died is left alone before it is started again, so that one which cannot live costs little. */

const FIRST_MS = 100;
const AT_MOST_MS = 10_000;
/** Whoever has lived for so long did not die of its start. */
const STEADY_MS = 10_000;

/** Returns what to ask after each death, with how long the process has lived, in milliseconds. */
export function createBackOff(): (livedMs: number) => number {
  let waitMs = FIRST_MS;
  return (livedMs) => {
    if (livedMs >= STEADY_MS) waitMs = FIRST_MS;
    const now = waitMs;
    waitMs = Math.min(waitMs * 2, AT_MOST_MS);
    return now;
  };
}

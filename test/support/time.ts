/** How tests wait: for what happens, and never for time to pass. What never happens is ended by mocha's limit, the one of all tests. */

import { DAY_MS } from '../../src/core/time.ts';

// Also while a test holds time still.
const setRealTimeout = setTimeout;

/** What happens at once takes less, even on a busy machine. What a limit of the gateway ends by default takes longer. */
export const AT_ONCE_MS = 30_000;

/** Waits until something holds. */
export async function until(holds: () => Promise<boolean> | boolean): Promise<void> {
  while (!(await holds())) await turn(5);
}

/** As `until`, for what is read with a key again and again: a key may read 600 times a minute. */
export async function untilRead(holds: () => Promise<boolean>): Promise<void> {
  while (!(await holds())) await turn(200);
}

/**
 * Waits until what is on its way inside this process has arrived, such as bytes that one end of a connection has written. What
 * threads and other processes do is not waited for.
 */
export async function allArrived(): Promise<void> {
  for (let turns = 0; turns < 20; turns += 1) await turn(1);
}

/** Waits until this number does not change any more by what happens inside this process. */
export async function untilSteady(read: () => number): Promise<number> {
  for (let before = read(); ;) {
    await allArrived();
    const now = read();
    if (now === before) return now;
    before = now;
  }
}

/** At least this long, and at least one turn of the event loop, in which sockets are read. */
export function turn(ms: number): Promise<void> {
  return new Promise((resolve) => setRealTimeout(() => setImmediate(resolve), ms));
}

/**
 * Waits for the next UTC day where less than this is left of this one: for what counts per day, by the clock of another
 * process.
 */
export function untilDayHasLeft(ms: number): Promise<void> {
  return until(() => DAY_MS - (Date.now() % DAY_MS) >= ms);
}

/** A clock that starts with the next minute, so that no limit of a minute or a day opens while a test runs into it. */
export function clockOfAWholeMinute(): () => number {
  const [startedAtMs, beganMs] = [Math.ceil(Date.now() / 60_000) * 60_000, performance.now()];
  return () => startedAtMs + Math.floor(performance.now() - beganMs);
}

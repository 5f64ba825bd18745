/** How tests wait: for what happens, and never for time to pass. What never happens is ended by mocha's limit, the one of all tests. */

import { mock } from 'node:test';

// Also while a test holds the timers.
const [setRealTimeout, realNow] = [setTimeout, performance.now.bind(performance)];

/** Waits until something holds. */
export async function until(holds: () => Promise<boolean> | boolean): Promise<void> {
  while (!(await holds())) await turn(5);
}

/**
 * Waits until what is on its way inside this process has arrived, such as bytes that one end of a connection has written. What
 * threads and other processes do is not waited for.
 */
export async function allArrived(): Promise<void> {
  for (let turns = 0; turns < 20; turns += 1) await turn(1);
}

/** At least this long, and at least one turn of the event loop, in which sockets are read. */
function turn(ms: number): Promise<void> {
  return new Promise((resolve) => setRealTimeout(() => setImmediate(resolve), ms));
}

/**
 * For a `describe`, before its own hooks: in each test timers and `performance.now()` stand still, but for the time which
 * the returned function lets pass. The timers of sockets (`setTimeout` of a socket, a request or a reply) go on.
 */
export function useHeldTime(): (ms: number) => Promise<void> {
  let passedMs = 0;
  beforeEach(() => {
    const startMs = realNow();
    passedMs = 0;
    performance.now = () => startMs + passedMs;
    mock.timers.enable({ apis: ['setTimeout', 'setInterval'] });
  });
  afterEach(() => {
    mock.timers.reset();
    performance.now = realNow;
  });
  return async (ms) => {
    for (const endMs = passedMs + ms; passedMs < endMs;) {
      // In steps, since what a timer starts may set the next one.
      const stepMs = Math.min(STEP_MS, endMs - passedMs);
      passedMs += stepMs;
      mock.timers.tick(stepMs);
      await new Promise(setImmediate);
    }
    await allArrived();
  };
}

const STEP_MS = 10;

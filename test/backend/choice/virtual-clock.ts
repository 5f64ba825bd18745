/** Time for a simulation of millions of requests: it jumps from one event to the next, in whole milliseconds. */

import { setImmediate as turn } from 'node:timers/promises';

export interface VirtualClock {
  readonly nowMs: () => number;
  /** Returns what cancels it. */
  after(ms: number, run: () => void): () => void;
}

/** Resolves when nothing waits for time any more. Until then the timers of this process are those of the clock. */
export async function runVirtually(begin: (clock: VirtualClock) => void): Promise<void> {
  const real = { setTimeout, clearTimeout };
  const due = new Map<number, Set<() => void>>();
  let nowMs = 0;
  let lastMs = 0;

  function after(ms: number, run: () => void): () => void {
    const atMs = nowMs + Math.max(1, Math.round(ms));
    // Two timers may have the same function.
    const own = (): void => run();
    const others = due.get(atMs);
    if (others === undefined) due.set(atMs, new Set([own]));
    else others.add(own);
    lastMs = Math.max(lastMs, atMs);
    return () => void due.get(atMs)?.delete(own);
  }

  Object.assign(globalThis, {
    setTimeout: (run: () => void, ms: number) => after(ms, run),
    // What an earlier test started in real time may be cleared meanwhile.
    clearTimeout(timer: (() => void) | NodeJS.Timeout | undefined): void {
      if (typeof timer === 'function') timer();
      else real.clearTimeout(timer);
    },
  });
  try {
    begin({ nowMs: () => nowMs, after });
    await turn();
    for (; nowMs <= lastMs; nowMs += 1) {
      const runs = due.get(nowMs);
      if (runs === undefined) continue;
      for (const run of runs) run();
      due.delete(nowMs);
      await turn();
    }
  } finally {
    Object.assign(globalThis, real);
  }
}

/** Time that stands still but for what a test lets pass: what waits for it ends when the test says so, on a busy machine too. */

import { syncBuiltinESMExports } from 'node:module';
import timersPromises from 'node:timers/promises';
import { allArrived } from './time.ts';

const real = { setTimeout, setInterval, clearTimeout, clearInterval };
const realDelay = timersPromises.setTimeout;

/**
 * For a `describe`, before its own hooks: in each of its tests the timers and `performance.now()` stand still, but for the time
 * which the returned function lets pass. The timers of sockets go on, and so does the time of day.
 */
export function useHeldTime(): (ms: number) => Promise<void> {
  let nowMs: number;
  let waiting: Set<HeldTimer>;

  class HeldTimer {
    readonly #run: () => void;
    readonly #ms: number;
    readonly #repeats: boolean;
    dueMs = 0;

    constructor(run: () => void, ms = 0, repeats = false) {
      [this.#run, this.#ms, this.#repeats] = [run, Math.max(1, ms), repeats];
      this.#start();
    }

    #start(): void {
      this.dueMs = nowMs + this.#ms;
      waiting.add(this);
    }

    fire(): void {
      if (this.#repeats) this.#start();
      else waiting.delete(this);
      this.#run();
    }

    refresh(): this {
      if (waiting.has(this)) this.#start();
      return this;
    }

    ref(): this {
      return this;
    }

    unref(): this {
      return this;
    }
  }

  function clear(timer: unknown): void {
    if (timer instanceof HeldTimer) waiting.delete(timer);
    else real.clearTimeout(timer as NodeJS.Timeout);
  }

  beforeEach(() => {
    nowMs = performance.now();
    waiting = new Set();
    performance.now = () => nowMs;
    Object.assign(globalThis, {
      setTimeout: (run: (...values: unknown[]) => void, ms?: number, ...values: unknown[]) =>
        new HeldTimer(() => run(...values), ms),
      setInterval: (run: () => void, ms?: number) => new HeldTimer(run, ms, true),
      clearTimeout: clear,
      clearInterval: clear,
    });
    timersPromises.setTimeout = delay;
    syncBuiltinESMExports();
  });

  afterEach(() => {
    Reflect.deleteProperty(performance, 'now');
    Object.assign(globalThis, real);
    timersPromises.setTimeout = realDelay;
    syncBuiltinESMExports();
  });

  return async (ms) => {
    await allArrived();
    const untilMs = nowMs + ms;
    for (let timer = nextOf(waiting); timer !== undefined && timer.dueMs <= untilMs; timer = nextOf(waiting)) {
      nowMs = timer.dueMs;
      timer.fire();
      await allArrived();
    }
    nowMs = untilMs;
  };
}

function nextOf<Timer extends { readonly dueMs: number }>(waiting: ReadonlySet<Timer>): Timer | undefined {
  return [...waiting].toSorted((one, other) => one.dueMs - other.dueMs)[0];
}

/** As that of node:timers/promises, by the timers of the moment. */
function delay<Value>(
  ms?: number,
  value?: Value,
  { signal }: { signal?: AbortSignal | undefined } = {},
): Promise<Value> {
  return new Promise((resolve, reject) => {
    if (signal?.aborted === true) return reject(signal.reason as Error);
    const timer = setTimeout(() => resolve(value as Value), ms);
    signal?.addEventListener('abort', () => {
      clearTimeout(timer);
      reject(signal.reason as Error);
    });
    return undefined;
  });
}

/** Time that passes only when the simulation says so, and turns of the event loop whose end can be seen. */

import { AsyncLocalStorage } from 'node:async_hooks';
import { syncBuiltinESMExports } from 'node:module';
import timersPromises from 'node:timers/promises';

const real = {
  globals: { setTimeout, setInterval, setImmediate, clearTimeout, clearInterval },
  hrtime: process.hrtime,
  delay: timersPromises.setTimeout,
};

/** A round hour, at which each history begins. */
const HOUR_MS = 3_600_000;
const BEGIN_MS = 500_000 * HOUR_MS;

/** A process, whose timers wait while it stands still. */
export interface Standing {
  readonly isPaused: boolean;
}

export interface VirtualTime {
  readonly nowMs: () => number;
  /** All timers that this begins are those of the process. */
  within<Result>(process: Standing, work: () => Result): Result;
  /** Goes on with all that waits for no time, until nothing does. */
  settle(): Promise<void>;
  pass(ms: number): Promise<void>;
  /** Forgets all timers, and goes on to the next hour. */
  nextHistory(): void;
  /** Gives the process its real time back. */
  end(): void;
}

/** Takes the time of this process over. Nothing here waits for sockets, threads or disks. */
export function beginVirtualTime(): VirtualTime {
  let nowMs = BEGIN_MS;
  const timers = new Set<Timer>();
  const running = new AsyncLocalStorage<Standing>();
  const immediates: (() => void)[] = [];

  class Timer {
    dueMs = 0;
    readonly #run: () => void;
    readonly #ms: number;
    readonly #repeats: boolean;
    readonly #process = running.getStore();

    constructor(run: () => void, ms = 0, repeats = false) {
      [this.#run, this.#ms, this.#repeats] = [run, Math.max(1, ms), repeats];
      this.refresh();
    }

    fire(): void {
      if (this.#repeats) this.refresh();
      else timers.delete(this);
      if (this.#process === undefined) this.#run();
      else running.run(this.#process, this.#run);
    }

    get isHeld(): boolean {
      return this.#process?.isPaused === true;
    }

    refresh(): this {
      this.dueMs = nowMs + this.#ms;
      timers.delete(this);
      timers.add(this);
      return this;
    }

    ref(): this {
      return this;
    }

    unref(): this {
      return this;
    }
  }

  const clear = (timer: unknown): void => void timers.delete(timer as Timer);
  const start =
    (repeats: boolean) =>
    (run: (...values: unknown[]) => void, ms?: number, ...values: unknown[]) =>
      new Timer(() => run(...values), ms, repeats);
  Object.assign(globalThis, {
    setTimeout: start(false),
    setInterval: start(true),
    setImmediate: (run: (...values: unknown[]) => void, ...values: unknown[]) => immediates.push(() => run(...values)),
    clearTimeout: clear,
    clearInterval: clear,
  });
  timersPromises.setTimeout = (ms, value) =>
    new Promise((resolve) => void new Timer(() => resolve(value as never), ms));
  syncBuiltinESMExports();
  performance.now = () => nowMs;
  const hrtime = (): [number, number] => [Math.floor(nowMs / 1000), (nowMs % 1000) * 1e6];
  process.hrtime = Object.assign(hrtime, { bigint: () => BigInt(nowMs) * 1_000_000n });

  async function settle(): Promise<void> {
    for (;;) {
      await new Promise((resolve) => void real.globals.setImmediate(resolve));
      const immediate = immediates.shift();
      if (immediate === undefined) return;
      immediate();
    }
  }

  function next(untilMs: number): Timer | undefined {
    let first: Timer | undefined;
    for (const timer of timers)
      if (timer.dueMs <= untilMs && timer.dueMs < (first?.dueMs ?? Infinity) && !timer.isHeld) first = timer;
    return first;
  }

  return {
    nowMs: () => nowMs,
    settle,
    within: (process, work) => running.run(process, work),
    async pass(ms) {
      const untilMs = nowMs + ms;
      for (let timer = next(untilMs); timer !== undefined; timer = next(untilMs)) {
        // That of a process which stood still comes late.
        nowMs = Math.max(nowMs, timer.dueMs);
        timer.fire();
        await settle();
      }
      nowMs = untilMs;
    },
    nextHistory() {
      timers.clear();
      immediates.length = 0;
      nowMs = (Math.floor(nowMs / HOUR_MS) + 1) * HOUR_MS;
    },
    end() {
      Object.assign(globalThis, real.globals);
      timersPromises.setTimeout = real.delay;
      syncBuiltinESMExports();
      Reflect.deleteProperty(performance, 'now');
      process.hrtime = real.hrtime;
    },
  };
}

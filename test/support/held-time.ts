/** Time that stands still but for what a test lets pass: what waits for it ends when the test says so, on a busy machine too. */

import { syncBuiltinESMExports } from 'node:module';
import { Socket } from 'node:net';
import timersPromises from 'node:timers/promises';
import { allArrived } from './time.ts';

const real = { setTimeout, setInterval, clearTimeout, clearInterval };
const realDelay = timersPromises.setTimeout;

/** What Node calls when nothing has come or gone for as long as `setTimeout` of the socket said, and whenever something has. */
interface SocketTimers {
  setTimeout(this: Socket, ms: number, onTimeout?: () => void): Socket;
  _onTimeout(this: Socket): void;
  _unrefTimer(this: Socket): void;
}
const sockets = Socket.prototype as unknown as SocketTimers;
const { setTimeout: setSocketTimeout, _unrefTimer: noteActivity } = sockets;

/**
 * For a `describe`, before its own hooks: in each of its tests the timers, those of sockets too, and `performance.now()` stand
 * still, but for the time which the returned function lets pass. The time of day goes on.
 */
export function useHeldTime(): (ms: number) => Promise<void> {
  let isHeld = false;
  let nowMs: number;
  let waiting: Set<HeldTimer>;

  class HeldTimer {
    readonly #run: () => void;
    readonly #ms: number;
    readonly #repeats: boolean;
    /** Of one that somebody uses again when time goes on: a library may keep it for the life of the process. */
    #real: NodeJS.Timeout | undefined;
    #isCleared = false;
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

    /** Also of one that has fired, as Node has it. */
    refresh(): this {
      if (this.#isCleared) return this;
      if (isHeld) this.#start();
      else this.#real = this.#real?.refresh() ?? real.setTimeout(this.#run, this.#ms).unref();
      return this;
    }

    clear(): void {
      this.#isCleared = true;
      waiting.delete(this);
    }

    ref(): this {
      return this;
    }

    unref(): this {
      return this;
    }
  }

  function clear(timer: unknown): void {
    if (timer instanceof HeldTimer) timer.clear();
    else real.clearTimeout(timer as NodeJS.Timeout);
  }

  function holdSockets(): void {
    const idle = new WeakMap<Socket, HeldTimer>();
    sockets.setTimeout = function (ms, onTimeout) {
      Object.assign(this, { timeout: ms });
      clear(idle.get(this));
      idle.delete(this);
      if (ms > 0) idle.set(this, new HeldTimer(() => sockets._onTimeout.call(this), ms));
      if (onTimeout !== undefined) {
        if (ms > 0) this.once('timeout', onTimeout);
        else this.off('timeout', onTimeout);
      }
      return this;
    };
    sockets._unrefTimer = function () {
      idle.get(this)?.refresh();
    };
  }

  beforeEach(() => {
    isHeld = true;
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
    holdSockets();
  });

  afterEach(() => {
    isHeld = false;
    waiting.clear();
    Reflect.deleteProperty(performance, 'now');
    Object.assign(globalThis, real);
    timersPromises.setTimeout = realDelay;
    syncBuiltinESMExports();
    Object.assign(sockets, { setTimeout: setSocketTimeout, _unrefTimer: noteActivity });
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

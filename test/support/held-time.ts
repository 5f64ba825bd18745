/** Time that stands still but for what a test lets pass: what waits for it ends when the test says so, on a busy machine too. */

import { syncBuiltinESMExports } from 'node:module';
import { Socket } from 'node:net';
import timersPromises from 'node:timers/promises';
import { allArrived } from './time.ts';

const real = { setTimeout, setInterval, clearTimeout, clearInterval };
const realDelay = timersPromises.setTimeout;

/** While time is held: when it stands still, and what waits for it to pass. */
let held: { nowMs: number; readonly waiting: Set<HeldTimer> } | undefined;

/**
 * For a `describe`, before its own hooks: in each of its tests the timers, those of sockets too, and `performance.now()` stand
 * still, but for the time which the returned function lets pass. The time of day goes on.
 */
export function useHeldTime(): (ms: number) => Promise<void> {
  beforeEach(hold);
  afterEach(letGo);
  return pass;
}

/** Lets time pass in these steps until something has happened, in a test with `useHeldTime`. Resolves with what it was. */
export async function passUntil<Event>(event: Promise<Event>, stepMs: number): Promise<Event> {
  const state = { isOver: false };
  const happened = event.finally(() => (state.isOver = true));
  while (!state.isOver) await pass(stepMs);
  return happened;
}

/**
 * Lets time pass in which the process stands still, in a test with `useHeldTime`: all timers that
 * are due then fire at its end, before anything that has arrived meanwhile is read.
 */
export async function standStill(ms: number): Promise<void> {
  if (held === undefined) throw new Error('time is not held');
  held.nowMs += ms;
  const { waiting, nowMs } = held;
  const isDue = ({ dueMs }: HeldTimer): boolean => dueMs <= nowMs;
  for (const timer of [...waiting].filter(isDue).toSorted((one, other) => one.dueMs - other.dueMs)) {
    if (waiting.has(timer) && isDue(timer)) timer.fire();
  }
  await allArrived();
}

function hold(): void {
  // Whole milliseconds, since sums of fractions may fall short of what has passed.
  const holding = { nowMs: Math.ceil(performance.now()), waiting: new Set<HeldTimer>() };
  held = holding;
  performance.now = () => holding.nowMs;
  Object.assign(globalThis, {
    setTimeout: (run: (...values: unknown[]) => void, ms?: number, ...values: unknown[]) =>
      new HeldTimer(() => run(...values), ms),
    setInterval: (run: () => void, ms?: number) => new HeldTimer(run, ms, true),
    // Also for the time after: what was started now may be cleared then.
    clearTimeout: clear,
    clearInterval: clear,
  });
  timersPromises.setTimeout = delay;
  syncBuiltinESMExports();
  holdSockets();
}

function letGo(): void {
  const waiting = [...(held?.waiting ?? [])];
  held = undefined;
  Reflect.deleteProperty(performance, 'now');
  const { setTimeout, setInterval } = real;
  Object.assign(globalThis, { setTimeout, setInterval });
  timersPromises.setTimeout = realDelay;
  syncBuiltinESMExports();
  Object.assign(sockets, realSockets);
  for (const timer of waiting) timer.refresh();
}

async function pass(ms: number): Promise<void> {
  if (held === undefined) throw new Error('time is not held');
  const { waiting, nowMs } = held;
  await allArrived();
  const untilMs = nowMs + ms;
  for (let timer = nextOf(waiting); timer !== undefined && timer.dueMs <= untilMs; timer = nextOf(waiting)) {
    held.nowMs = timer.dueMs;
    timer.fire();
    await allArrived();
  }
  held.nowMs = untilMs;
}

function nextOf(waiting: ReadonlySet<HeldTimer>): HeldTimer | undefined {
  return [...waiting].toSorted((one, other) => one.dueMs - other.dueMs)[0];
}

/** Waits for time to pass while that is held, and for real time afterwards. */
class HeldTimer {
  dueMs = 0;
  readonly #run: () => void;
  readonly #ms: number;
  readonly #repeats: boolean;
  #real: NodeJS.Timeout | undefined;
  #isCleared = false;

  constructor(run: () => void, ms = 0, repeats = false) {
    [this.#run, this.#ms, this.#repeats] = [run, Math.max(1, ms), repeats];
    this.refresh();
  }

  fire(): void {
    if (this.#repeats) this.refresh();
    else held?.waiting.delete(this);
    this.#run();
  }

  /** Also starts one again that has fired, as Node has it. */
  refresh(): this {
    if (this.#isCleared) return this;
    if (held !== undefined) {
      this.dueMs = held.nowMs + this.#ms;
      held.waiting.add(this);
    } else {
      this.#real ??= (this.#repeats ? real.setInterval : real.setTimeout)(this.#run, this.#ms);
      this.#real.refresh().unref();
    }
    return this;
  }

  clear(): void {
    this.#isCleared = true;
    held?.waiting.delete(this);
    real.clearTimeout(this.#real);
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

/* oxlint-disable no-underscore-dangle -- these are names of Node */

/** What Node calls when nothing has come or gone for as long as `setTimeout` of the socket said, and whenever something has. */
interface SocketTimers {
  setTimeout: (this: Socket, ms: number, onTimeout?: () => void) => Socket;
  readonly _onTimeout: (this: Socket) => void;
  _unrefTimer: (this: Socket) => void;
}

const sockets = Socket.prototype as unknown as SocketTimers;
const realSockets: Partial<SocketTimers> = { setTimeout: sockets.setTimeout, _unrefTimer: sockets._unrefTimer };

function holdSockets(): void {
  const idle = new WeakMap<Socket, HeldTimer>();
  sockets.setTimeout = function (ms, onTimeout) {
    Object.assign(this, { timeout: ms });
    idle.get(this)?.clear();
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

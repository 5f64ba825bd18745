import { setTimeout as delay } from 'node:timers/promises';
import { ApiError } from '../../core/errors.ts';
import type { LaneName } from './engine.ts';
import type { Failure } from './failures.ts';
import type { Operation, OperationName, OperationOf, ResultOf } from './operations.ts';
import type { RemoteEngine } from './thread.ts';

/**
 * The calls on their way to the engine, one batch at a time: what arrives while a batch is being committed is the next
 * batch, so there is no timer, and the busier the store, the cheaper each call.
 */
export interface Lane {
  /** Resolves with what the operation returned, after its commit. Throws ApiError `store_unavailable` within seconds otherwise. */
  call<Name extends OperationName>(operation: OperationOf<Name>, care?: Care): Promise<ResultOf<Name>>;
  /** Takes no more calls, and resolves when the last one is over or can wait no longer. Returns how many were given up. */
  close(): Promise<number>;
}

/** What becomes of a call whose caller was told that it failed. */
export interface Care {
  /** It is tried on until the engine takes it. */
  readonly isKept?: boolean;
  /** This is run, and kept, in case the call had its effect all the same. */
  readonly undo?: Operation;
}

export interface LaneOptions {
  readonly name: LaneName;
  readonly engine: RemoteEngine;
  readonly onFailure?: (failure: Failure) => void;
  readonly onSuccess?: () => void;
  /** Others than the usual ones, for tests. */
  readonly limits?: Partial<LaneLimits>;
}

export interface LaneLimits {
  readonly batch: number;
  readonly waiting: number;
  readonly kept: number;
  readonly answerWithinMs: number;
  readonly closeWithinMs: number;
}

const LIMITS: Readonly<Record<LaneName, LaneLimits>> = {
  // A lookup can cost as much as many inserts, and the batches of both lanes take turns on the thread.
  read: { batch: 32, waiting: 5000, kept: 0, answerWithinMs: 2000, closeWithinMs: 2000 },
  write: { batch: 256, waiting: 10_000, kept: 20_000, answerWithinMs: 2000, closeWithinMs: 3000 },
};

const SWEEP_MS = 100;
const RETRY_BUSY_MS = 5;
const RETRY_KEPT_FIRST_MS = 50;
const RETRY_KEPT_AT_MOST_MS = 1000;

interface Call {
  readonly operation: Operation;
  readonly care: Care;
  readonly deadlineMs: number;
  /** Undefined once the caller has been told something. */
  caller: { readonly resolve: (result: unknown) => void; readonly reject: (error: Error) => void } | undefined;
  failures: number;
}

export function createLane({ name, engine, onFailure, onSuccess, limits }: LaneOptions): Lane {
  const limit: LaneLimits = { ...LIMITS[name], ...limits };
  let waiting: Call[] = [];
  /** Calls that failed and must not be forgotten. They go in batches of their own: a write that needs no new page can
   * succeed on a full disk, but not together with one that does. */
  let kept: Call[] = [];
  let running: readonly Call[] = [];
  let keptRetryAtMs = 0;
  let keptRetryAfterMs = 0;
  let isAwake = false;
  let isClosed = false;
  let sweeper: NodeJS.Timeout | undefined;
  let lastFailure = SLOW;
  let onIdle: (() => void) | undefined;

  function call<Name extends OperationName>(operation: OperationOf<Name>, care?: Care): Promise<ResultOf<Name>>;
  // The list of calls is too mixed for the compiler to see that each gets the result of its own operation.
  function call(operation: Operation, care: Care = {}): Promise<unknown> {
    if (isClosed) return Promise.reject(toUnavailable('the store is closed'));
    const room = care.isKept === true ? limit.waiting + limit.kept : limit.waiting;
    if (waiting.length + kept.length >= room) return Promise.reject(toUnavailable('too many calls wait for the store'));
    return new Promise((resolve, reject) => {
      const deadlineMs = performance.now() + limit.answerWithinMs;
      waiting.push({ operation, care, deadlineMs, caller: { resolve, reject }, failures: 0 });
      wake();
    });
  }

  function wake(): void {
    sweeper ??= setInterval(sweep, SWEEP_MS);
    if (isAwake) return;
    isAwake = true;
    // After the sockets of this turn have been read, so that requests which arrive together share a commit.
    setImmediate(() => void work());
  }

  async function work(): Promise<void> {
    for (let batch = take(); batch.length > 0; batch = take()) {
      running = batch;
      const reply = await engine.run(
        name,
        batch.map(({ operation }) => operation),
      );
      running = [];
      if ('results' in reply) {
        succeed(batch, reply.results);
      } else if (reply.failure.reason === 'busy' || reply.failure.reason === 'starting') {
        lastFailure = reply.failure;
        waiting.unshift(...batch.filter(isWanted));
        await delay(RETRY_BUSY_MS);
      } else {
        fail(batch, reply.failure);
      }
    }
    isAwake = false;
    if (kept.length > 0) setTimeout(wake, Math.max(0, keptRetryAtMs - performance.now()));
    else onIdle?.();
  }

  function take(): Call[] {
    const areKeptDue = kept.length > 0 && performance.now() >= keptRetryAtMs;
    return (areKeptDue ? kept : waiting).splice(0, limit.batch);
  }

  function succeed(batch: readonly Call[], results: readonly unknown[]): void {
    keptRetryAtMs = 0;
    keptRetryAfterMs = 0;
    lastFailure = SLOW;
    onSuccess?.();
    for (const [index, call] of batch.entries()) {
      const result = results[index];
      if (call.caller === undefined) undo(call);
      else if (result instanceof Error) call.caller.reject(result);
      else call.caller.resolve(result);
      call.caller = undefined;
    }
  }

  function fail(batch: readonly Call[], failure: Failure): void {
    lastFailure = failure;
    for (const call of batch) {
      call.failures += 1;
      // The first failure may have been caused by the others of the batch.
      if (call.care.isKept !== true || call.failures > 1) refuse(call);
      if (call.care.isKept === true) kept.push(call);
      else if (failure.reason === 'lost') undo(call);
    }
    // Only their own failures put the next try off, or a stream of failing newcomers would do so for ever.
    if (!batch.some(({ failures }) => failures > 1)) return;
    keptRetryAtMs = performance.now() + keptRetryAfterMs;
    keptRetryAfterMs = Math.min(Math.max(keptRetryAfterMs * 2, RETRY_KEPT_FIRST_MS), RETRY_KEPT_AT_MOST_MS);
  }

  /** The caller was told that it failed, but it took effect, or nobody knows. */
  function undo({ care }: Call): void {
    if (care.undo === undefined || kept.length >= limit.waiting + limit.kept) return;
    kept.push({ operation: care.undo, care: { isKept: true }, deadlineMs: 0, caller: undefined, failures: 0 });
  }

  function refuse(call: Call): void {
    if (call.caller === undefined) return;
    onFailure?.(lastFailure);
    call.caller.reject(toUnavailable(`${lastFailure.reason}: ${lastFailure.message}`));
    call.caller = undefined;
  }

  /** Tells those who have waited too long, whatever holds the lane up. */
  function sweep(): void {
    const nowMs = performance.now();
    for (const call of [...running, ...waiting, ...kept]) if (call.deadlineMs <= nowMs) refuse(call);
    waiting = waiting.filter(isWanted);
    if (running.length + waiting.length + kept.length > 0) return;
    clearInterval(sweeper);
    sweeper = undefined;
  }

  async function close(): Promise<number> {
    isClosed = true;
    const over = new Promise<void>((resolve) => {
      onIdle = resolve;
    });
    if (isAwake || kept.length > 0) await Promise.race([over, delay(limit.closeWithinMs)]);
    const left = [...running, ...waiting, ...kept];
    for (const call of left) refuse(call);
    waiting = [];
    kept = [];
    clearInterval(sweeper);
    return left.length;
  }

  return { call, close };
}

const SLOW: Failure = { reason: 'busy', message: 'the database takes too long' };

function isWanted(call: Call): boolean {
  return call.caller !== undefined || call.care.isKept === true;
}

function toUnavailable(why: string): ApiError {
  return new ApiError('store_unavailable', { cause: new Error(why) });
}

import { setTimeout as delay } from 'node:timers/promises';
import { limitConcurrency } from '../../core/limit-concurrency.ts';
import { toUnavailable, type Failure } from './failures.ts';
import {
  checkReply,
  type Mode,
  type Operation,
  type OperationName,
  type OperationOf,
  type RemoteEngine,
  type Reply,
  type ResultOf,
} from './operations.ts';

/**
 * Sends calls to the engine in their order, one batch at a time. Calls that arrive during a commit
 * form the next batch, so a busier store has cheaper calls. A lookup sees every change that was
 * called before it, awaited or not, and may see later ones.
 */
export interface BatchQueue {
  /**
   * Resolves after the commit. Throws ApiError `store_unavailable` after `answerWithinMs`, or after
   * `keptWithinMs` when the operation is kept.
   */
  call<Name extends OperationName>(operation: OperationOf<Name>, care?: CallOptions): Promise<ResultOf<Name>>;
  /** As `call`, for operations that only some engines have. */
  ask(operation: Operation, care?: CallOptions): Promise<unknown>;
  /** Refuses new calls, and waits for the others. Returns how many were given up. */
  close(): Promise<number>;
  /** Whether something is still to be written whose caller has got an error. */
  isBehind(): boolean;
  readonly answerWithinMs: number;
}

export interface CallOptions {
  /** Changes nothing, so it is answered even while nothing can be written. */
  readonly isLookup?: boolean;
  /** A lookup that reads many rows. Only one at a time runs, so that other calls hardly wait. */
  readonly isList?: boolean;
  /** Retried, even after its caller got an error, until the engine takes it. */
  readonly isKept?: boolean;
  /** Runs after the caller got an error, because the operation may have taken effect. */
  readonly undo?: Operation;
}

export interface BatchQueueOptions {
  readonly engine: RemoteEngine;
  /** The engine gets these operations one at a time. */
  readonly alone?: ReadonlySet<Operation[0]>;
  /** Lookups that run concurrently with a batch. Without it, they are part of the batch. */
  readonly lookupSlots?: number;
  readonly onFailure?: (failure: Failure) => void;
  readonly onSuccess?: () => void;
  readonly limits?: Partial<BatchQueueLimits> | undefined;
}

export interface BatchQueueLimits {
  readonly batch: number;
  /** A lookup can cost as much as many changes, which wait for it. */
  readonly lookups: number;
  /**
   * Beyond these only what must be kept is taken: the ends of requests that were accepted before. For a
   * change, what is kept counts as well.
   */
  readonly waiting: number;
  readonly answerWithinMs: number;
  readonly keptWithinMs: number;
  readonly closeWithinMs: number;
}

/** What holds where the options of a store do not say otherwise. */
export const DEFAULT_LIMITS: BatchQueueLimits = {
  batch: 256,
  lookups: 16,
  waiting: 10_000,
  answerWithinMs: 2000,
  keptWithinMs: 1000,
  closeWithinMs: 3000,
};

const NONE: ReadonlySet<Operation[0]> = new Set();

/**
 * A commit takes some 200 µs of CPU before its first call. With 16 clients at once, four turns in place of one save a tenth of
 * all CPU of a JSON request; eight make the first word of a stream wait longer.
 */
const MOST_TURNS = 4;
const SWEEP_MS = 100;
/** The whole time of a call by default: a call ends however often the process is paused. */
const MOST_LATE_SWEEPS = 20;
const RETRY_PASSING_MS = 5;
const RETRY_KEPT_FIRST_MS = 50;
const RETRY_KEPT_AT_MOST_MS = 1000;
/** A server may commit what it got before the connection broke. Its own limits end most of that earlier. */
const COMMITTED_WITHIN_MS = 10_000;

const TOO_MANY = 'too many calls wait for the store';
const SLOW: Failure = { reason: 'busy', message: 'the database takes too long' };

interface Call {
  readonly operation: Operation;
  readonly care: CallOptions;
  deadlineMs: number;
  lateSweeps: number;
  /** Undefined once the caller has its answer. */
  caller: { readonly resolve: (result: unknown) => void; readonly reject: (error: Error) => void } | undefined;
  failures: number;
}

/** Opens a queue. Calls `onFailure` for each refused call, `onSuccess` for each written batch. */
export function createBatchQueue({
  engine,
  alone = NONE,
  lookupSlots = 0,
  onFailure,
  onSuccess,
  limits,
}: BatchQueueOptions): BatchQueue {
  const limit: BatchQueueLimits = { ...DEFAULT_LIMITS, ...limits };
  let waiting: Call[] = [];
  /**
   * Failed changes to retry in batches of their own: on a full disk a change without a new page
   * succeeds, but not together with one that needs a page.
   */
  let kept: Call[] = [];
  let running: readonly Call[] = [];
  let keptRetryAtMs = 0;
  let keptRetryAfterMs = 0;
  let areLookupsFirst = false;
  let isAwake = false;
  let isClosed = false;
  let isGivenUp = false;
  let sweeper: NodeJS.Timeout | undefined;
  let sweptAtMs = 0;
  let lastFailure = SLOW;
  let onIdle: (() => void) | undefined;
  /** Those that run beside batches, or wait for it. */
  const lookingUp = new Set<Call>();
  const takeSlot = limitConcurrency(lookupSlots);
  const takeListSlot = limitConcurrency(1);

  function call<Name extends OperationName>(operation: OperationOf<Name>, care?: CallOptions): Promise<ResultOf<Name>>;
  // The compiler cannot see that each call gets the result of its own operation.
  function call(operation: Operation, care?: CallOptions): Promise<unknown> {
    return ask(operation, care);
  }

  function ask(operation: Operation, care: CallOptions = {}): Promise<unknown> {
    if (isClosed) return Promise.reject(toUnavailable('the store is closed'));
    const before = waiting.length + lookingUp.size + (care.isLookup === true ? 0 : kept.length);
    if (before >= limit.waiting && care.isKept !== true) return Promise.reject(toUnavailable(TOO_MANY));
    return new Promise((resolve, reject) => {
      const withinMs = care.isKept === true ? limit.keptWithinMs : limit.answerWithinMs;
      const deadlineMs = performance.now() + withinMs;
      waiting.push({ operation, care, deadlineMs, lateSweeps: 0, caller: { resolve, reject }, failures: 0 });
      wake();
    });
  }

  function wake(): void {
    if (sweeper === undefined) {
      sweptAtMs = performance.now();
      sweeper = setInterval(sweep, SWEEP_MS);
    }
    if (isAwake) return;
    isAwake = true;
    void work();
  }

  async function work(): Promise<void> {
    await gather();
    for (let taken = take(); taken.length > 0; taken = take()) {
      running = taken;
      const batch = lookupSlots === 0 ? taken : taken.filter((call) => !isLookup(call));
      const reply = batch.length === 0 ? undefined : await runBatch(batch);
      running = [];
      if (lookupSlots > 0) for (const call of taken.filter(isLookup)) void lookUpBeside(call);
      if (reply !== undefined && 'failure' in reply) await putOff(batch, reply.failure);
      await gather();
    }
    isAwake = false;
    if (isGivenUp) return;
    if (kept.length > 0) setTimeout(wake, Math.max(0, keptRetryAtMs - performance.now()));
    else noteIdle();
  }

  /** Sockets of a turn are read first, and of the next ones while they bring calls: what arrives together shares a commit. */
  async function gather(): Promise<void> {
    for (let turn = 0, known = 0; turn < MOST_TURNS && waiting.length > known; turn += 1) {
      known = waiting.length;
      await endOfTurn();
    }
  }

  async function runBatch(batch: readonly Call[]): Promise<Reply> {
    const mode = batch.every(isLookup) ? 'read' : 'write';
    const reply = await runCalls(mode, batch);
    if ('results' in reply) {
      if (mode === 'write') noteSuccess();
      succeed(batch, reply.results);
    }
    return reply;
  }

  async function runCalls(mode: Mode, batch: readonly Call[]): Promise<Reply> {
    const operations = batch.map(({ operation }) => operation);
    return checkReply(await engine.run(mode, operations), operations.length);
  }

  function noteIdle(): void {
    if (!isAwake && kept.length === 0 && lookingUp.size === 0) onIdle?.();
  }

  async function lookUpBeside(call: Call): Promise<void> {
    lookingUp.add(call);
    await (isList(call) ? takeListSlot : takeSlot)(() => lookUp(call));
    lookingUp.delete(call);
    noteIdle();
  }

  async function lookUp(call: Call): Promise<void> {
    while (call.caller !== undefined) {
      const reply = await runCalls('read', [call]);
      if ('results' in reply) return succeed([call], reply.results);
      lastFailure = reply.failure;
      if (!isPassing(reply.failure)) return refuse(call);
      await delay(RETRY_PASSING_MS);
    }
  }

  function take(): Call[] {
    if (isGivenUp) return [];
    if (kept.length > 0 && performance.now() >= keptRetryAtMs) return takeBatch(kept);
    if (areLookupsFirst) {
      areLookupsFirst = false;
      const lookups = new Set(takeLookups());
      waiting = waiting.filter((call) => !lookups.has(call));
      if (lookups.size > 0) return [...lookups];
    }
    return takeBatch(waiting);
  }

  function takeLookups(): readonly Call[] {
    const lookups = waiting.filter(isLookup);
    const list = lookups.find(isList);
    return lookups.filter((call) => !isList(call) || call === list).slice(0, limit.lookups);
  }

  function takeBatch(calls: Call[]): Call[] {
    let lookups = 0;
    let lists = 0;
    const end = calls.findIndex((call, index) => {
      if (lookupSlots === 0 && isLookup(call)) lookups += 1;
      if (lookupSlots === 0 && isList(call)) lists += 1;
      const isCut = index > 0 && (isAlone(call) || isAlone(calls[index - 1]));
      return isCut || index === limit.batch || lookups > limit.lookups || lists > 1;
    });
    return calls.splice(0, end === -1 ? calls.length : end);
  }

  function isAlone(call: Call | undefined): boolean {
    return call !== undefined && alone.has(call.operation[0]);
  }

  function noteSuccess(): void {
    keptRetryAtMs = 0;
    keptRetryAfterMs = 0;
    lastFailure = SLOW;
    onSuccess?.();
  }

  function succeed(batch: readonly Call[], results: readonly unknown[]): void {
    for (const [index, call] of batch.entries()) {
      const result = results[index];
      if (call.operation === call.care.undo) undoAgain(call);
      else if (call.caller === undefined) undo(call);
      else if (result instanceof Error) call.caller.reject(result);
      else call.caller.resolve(result);
      call.caller = undefined;
    }
  }

  async function putOff(batch: readonly Call[], failure: Failure): Promise<void> {
    lastFailure = failure;
    if (isPassing(failure)) {
      waiting.unshift(...batch.filter(isWanted));
      areLookupsFirst = true;
      await delay(RETRY_PASSING_MS);
      return;
    }
    const wereLookups = batch.every(isLookup);
    // A failed write of kept changes does not concern the lookups of the batch.
    const [again, failed] = wereLookups
      ? [[], batch]
      : [batch.filter(isLookup), batch.filter((call) => !isLookup(call))];
    waiting.unshift(...again);
    areLookupsFirst = again.length > 0;
    fail(failed, failure);
  }

  function fail(batch: readonly Call[], failure: Failure): void {
    for (const call of batch) {
      call.failures += 1;
      if (call.care.isKept === true) {
        kept.push(call);
        continue;
      }
      refuse(call);
      if (failure.reason === 'lost') undo(call, true);
    }
    // New failing calls must not delay the next try endlessly.
    if (!batch.some(({ failures }) => failures > 1)) return;
    keptRetryAtMs = performance.now() + keptRetryAfterMs;
    keptRetryAfterMs = Math.min(Math.max(keptRetryAfterMs * 2, RETRY_KEPT_FIRST_MS), RETRY_KEPT_AT_MOST_MS);
  }

  /** An undo that has overtaken its operation has found nothing to undo. The server answers by now. */
  function undoAgain(call: Call): void {
    setTimeout(() => {
      if (isClosed) return;
      undo(call);
      wake();
    }, COMMITTED_WITHIN_MS).unref();
  }

  /** The undo of what was lost has itself for its undo. */
  function undo({ care }: Call, isLost = false): void {
    if (care.undo === undefined) return;
    kept.push({
      operation: care.undo,
      care: { isKept: true, ...(isLost && { undo: care.undo }) },
      deadlineMs: 0,
      lateSweeps: 0,
      caller: undefined,
      failures: 0,
    });
  }

  function refuse(call: Call): void {
    if (call.caller === undefined) return;
    onFailure?.(lastFailure);
    call.caller.reject(toUnavailable(`${lastFailure.reason}: ${lastFailure.message}`));
    call.caller = undefined;
  }

  function sweep(): void {
    const nowMs = performance.now();
    const all = () => [...running, ...waiting, ...lookingUp, ...kept];
    // The time in which this process was paused or had no core is not the store's, whose answer may
    // have arrived. Each sweep counts its own time.
    const lateMs = Math.max(0, nowMs - sweptAtMs - SWEEP_MS);
    sweptAtMs = nowMs;
    for (const call of all()) {
      if (lateMs > 0 && call.lateSweeps < MOST_LATE_SWEEPS) {
        call.deadlineMs += lateMs;
        call.lateSweeps += 1;
      }
      if (call.deadlineMs <= nowMs) refuse(call);
    }
    waiting = waiting.filter(isWanted);
    if (all().length > 0) return;
    clearInterval(sweeper);
    sweeper = undefined;
  }

  async function close(): Promise<number> {
    isClosed = true;
    const over = new Promise<void>((resolve) => {
      onIdle = resolve;
    });
    if (isAwake || kept.length > 0 || lookingUp.size > 0)
      await Promise.race([over, delay(limit.closeWithinMs, undefined, { ref: false })]);
    isGivenUp = true;
    const left = [...running, ...waiting, ...lookingUp, ...kept];
    for (const call of left) refuse(call);
    waiting = [];
    kept = [];
    clearInterval(sweeper);
    return left.length;
  }

  function isBehind(): boolean {
    return [...running, ...waiting, ...kept].some(({ caller }) => caller === undefined);
  }

  return { call, ask, close, isBehind, answerWithinMs: limit.answerWithinMs };
}

function endOfTurn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}

function isLookup({ care }: Call): boolean {
  return care.isLookup === true;
}

function isList({ care }: Call): boolean {
  return care.isList === true;
}

function isPassing({ reason }: Failure): boolean {
  return reason === 'busy' || reason === 'starting';
}

function isWanted({ caller, care }: Call): boolean {
  return caller !== undefined || care.isKept === true;
}

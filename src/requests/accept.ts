/** Every recorded request is accepted, or found to be a duplicate, and settled exactly once. */

import { isLimited, type Admission, type AdmissionTerms } from '../accounts/admission.ts';
import type { RateCharge } from '../accounts/rates.ts';
import type { KeyOwner } from '../backend/failures.ts';
import { ApiError, isCancel, toApiError, unreachable } from '../core/errors.ts';
import { toRequestId, type UniquePart } from '../core/ids.ts';
import { isWhole, NOTHING_REPORTED } from '../core/reply/usage.ts';
import type { TokenEstimator } from '../core/tokens/estimate.ts';
import type { Identities } from '../identity/identities.ts';
import type { RecordDraft, RecordStatus, Store, StoredRecord } from '../store/store.ts';
import type { Incoming, ReplyGate } from './incoming.ts';
import { outcomeOf, type Ending } from './outcome.ts';
import { modelCallOf, type Plan } from './plan.ts';
import { refuseWhileDraining, type RunningRequest, type RunningRequests } from './running.ts';
import type { DuplicateServices } from './show-record.ts';

export interface AcceptServices extends DuplicateServices {
  readonly store: Store;
  readonly admission: Admission;
  readonly running: RunningRequests;
  readonly identities: Identities;
  readonly estimator: TokenEstimator;
  readonly keyOwner: KeyOwner;
  readonly nowMs: () => number;
  /** A clock that nobody sets. */
  readonly steadyMs: () => number;
}

export interface Accepted extends ReplyGate {
  readonly kind: 'accepted';
  /**
   * As the gate has it. A record that is held begins now, except for an answer that is whole: that
   * may be told after `settle` alone, which then writes both states in one commit.
   */
  readonly whenDecided: (isWhole?: boolean) => Promise<void> | undefined;
  /** Whether the record has not begun, or could not be written, so that nothing may be told before `settle`. */
  isHeld(): boolean;
  /** Whether so little time has passed that an answer which is whole is told with its end. */
  isShort(): boolean;
  readonly unique: UniquePart;
  readonly createdAtMs: number;
  /** Settles by this plan from now on; returns false if the hold does not allow it. */
  move(plan: Plan): boolean;
  /** Waits until it is decided. Logs an internal error. */
  failureOf(thrown: unknown): Promise<ApiError>;
  /**
   * Must be awaited before the client can know the end; only the first call counts. Resolves when
   * the final state is on disk, without a record, and when the store takes longer than
   * `SETTLE_TIMEOUT_MS`: an outage must not hold back the answer. The result is the failure to
   * tell: that of the ending, unless another process was asked to cancel the request or has closed
   * its record before.
   */
  settle(ending: Ending): Promise<ApiError | null>;
  /** Resolves with what to throw instead. */
  settleThrown(thrown: unknown): Promise<unknown>;
  /** Must be called last. A drain waits for it, and until the client has its reply. */
  release(): void;
}

export interface Duplicate {
  readonly kind: 'duplicate';
  readonly record: StoredRecord;
}

/**
 * Writes the record, or finds a duplicate. Throws the ApiError of a request that may not start. The
 * record may still be on its way to the disk where no key and no limit depends on it; with `mayHold`
 * it may wait some milliseconds for its end.
 */
export async function accept(
  incoming: Incoming,
  plan: Plan,
  services: AcceptServices,
  { mayHold = false } = {},
): Promise<Accepted | Duplicate> {
  const { facts } = incoming;
  // A client that left while its body was decompressed sends no further event.
  if (incoming.isServed()) throw new ApiError('client_disconnected');
  facts.model = plan.model;
  facts.stream = plan.stream;
  const draft = toDraft(incoming, plan, services);
  const clock = startClockAt(draft.createdAtMs, services.steadyMs);
  const run = services.running.begin(draft.requestId);
  // The listener is set before the record is written, so that no disconnect is missed.
  incoming.onceServed((hasWholeReply) => {
    if (!hasWholeReply) run.abort(new ApiError('client_disconnected'));
  });
  try {
    const decision = await decide(draft, incoming, plan, services);
    if (decision.kind === 'accepted')
      return toAccepted({ ...decision, incoming, plan, draft, clock, run, mayHold }, services);
    release(run, incoming);
    return decision;
  } catch (refusal) {
    release(run, incoming);
    throw refusal;
  }
}

interface Started extends Begun {
  readonly incoming: Incoming;
  readonly plan: Plan;
  readonly draft: RecordDraft;
  /** The clock of this request, which does not jump when the time of day is set. */
  readonly clock: () => number;
  readonly run: RunningRequest;
  readonly mayHold: boolean;
}

interface Begun {
  readonly kind: 'accepted';
  readonly admitted: AdmissionTerms;
  readonly taken: RateCharge;
  /** Set if the request begins beside the commit of its record. The promise rejects if there is none. */
  readonly write?: () => Promise<unknown>;
}

const NOTHING_CAME = { incompleteReason: null, reported: NOTHING_REPORTED, outputLength: 0 } as const;

function toAccepted(started: Started, services: AcceptServices): Accepted {
  const { incoming, draft, run, taken } = started;
  const { facts } = incoming;
  let { plan } = started;
  let end: RecordEnd | undefined;
  /** Why there is no record. */
  let refusal: ApiError | undefined;
  let writing: Promise<void> | undefined;
  // A hold is taken from the start on.
  const mayWait = started.mayHold && started.admitted.hold === undefined;
  const held = started.write && mayWait ? soon(SHORT_MS, begin) : undefined;
  if (held === undefined) begin();
  const short = held ?? (started.mayHold ? soon(SHORT_MS, () => undefined) : undefined);
  for (const [name, value] of Object.entries(taken.headers)) incoming.setHeader(name, value);

  function begin(): void {
    writing = started.write?.().then(noteWritten, (thrown: unknown) => {
      refusal = toApiError(thrown);
      run.abort(refusal);
    });
  }

  function noteWritten(): void {
    writing = undefined;
  }

  async function settle(ending: Ending): Promise<ApiError | null> {
    if (writing !== undefined) await writing;
    if (refusal !== undefined) return withoutRecord(refusal, ending.failure);
    if (end === undefined) {
      facts.usage = ending.reported.usage;
      facts.errorCode = ending.failure?.code;
      end = writeEnd({ ...started, plan, hasBegun: held?.cancel() !== true }, ending, services);
    }
    const status = await end.written;
    if (status instanceof ApiError) {
      facts.errorCode = status.code;
      return status;
    }
    const failure = failureToTell(ending.failure, status);
    if (failure !== ending.failure) facts.errorCode = failure?.code;
    // A retry with the same key would only get a 409 for the duplicate.
    const keepsKey = end.keepsKey || failure !== ending.failure;
    if (failure !== null && keepsKey && !incoming.hasReplyBegun()) incoming.setHeader('x-should-retry', 'false');
    return failure;
  }

  return {
    kind: 'accepted',
    unique: facts.unique,
    createdAtMs: draft.createdAtMs,
    signal: run.signal,
    isHeld: () => held?.isWaiting() === true || refusal !== undefined,
    isShort: () => short?.isWaiting() === true,
    whenDecided(isWhole = false) {
      if (!isWhole || run.cancelDecided !== undefined) held?.now();
      const decided = writing === undefined ? run.cancelDecided : writing.then(() => run.cancelDecided);
      return decided?.then(() => run.signal.throwIfAborted());
    },
    move(next) {
      const { backendModel: model } = started.plan;
      // Of one model, since two that count differently do not make an input longer.
      const call = { ...modelCallOf(next, incoming.caller.identity, 0), model };
      const estimatedInputTokens = services.estimator.reserveInput(call);
      const isCovered = started.admitted.move({ ...next, estimatedInputTokens });
      if (isCovered) plan = next;
      return isCovered;
    },
    async failureOf(thrown) {
      await writing;
      await run.cancelDecided;
      const reason = toApiError(run.signal.aborted ? run.signal.reason : thrown);
      const error = refusal === undefined ? reason : withoutRecord(refusal, reason);
      if (error.code === 'internal_error') facts.log.error({ err: thrown }, 'the gateway failed');
      return error;
    },
    settle,
    async settleThrown(thrown) {
      const error = toApiError(thrown);
      const failure = await settle({ ...NOTHING_CAME, failure: error, hasOutput: incoming.hasReplyBegun() });
      return failure === error ? thrown : failure;
    },
    release: () => release(run, incoming),
  };
}

/**
 * What has ended by then is recorded and told at once, as far as that may be: one commit for both
 * states of a short reply takes 260 µs of CPU in place of 630, and 52 in place of 88 together with 31
 * others. Lists do not show a record that is held meanwhile, and a process that dies leaves none.
 */
const SHORT_MS = 5;

/** Something that is done in some milliseconds, unless it is done or cancelled before. */
interface Soon {
  isWaiting(): boolean;
  /** Does it at once, if it still waits. */
  now(): void;
  /** Returns whether it still waited. It will not be done any more. */
  cancel(): boolean;
}

/**
 * Calls `act` after `ms` milliseconds. The process may have been busy meanwhile, so what has arrived
 * until then is read first.
 */
export function soon(ms: number, act: () => void): Soon {
  let isWaiting = true;
  let turn: NodeJS.Immediate | undefined;
  const timer = setTimeout(() => {
    turn = setImmediate(now);
  }, ms);
  return { isWaiting: () => isWaiting, now, cancel };

  function now(): void {
    if (cancel()) act();
  }

  function cancel(): boolean {
    clearTimeout(timer);
    clearImmediate(turn);
    const hasWaited = isWaiting;
    isWaiting = false;
    return hasWaited;
  }
}

/** Resolves with whether the promise is still open after `ms` milliseconds. Rejects as the promise does. */
export async function takesLonger(promise: Promise<unknown>, ms: number): Promise<boolean> {
  const { promise: late, resolve } = Promise.withResolvers<boolean>();
  const timer = soon(ms, () => resolve(true));
  try {
    return await Promise.race([promise.then(() => false), late]);
  } finally {
    timer.cancel();
  }
}

/** Nobody is told of an end that is on no disk. A record that somebody was asked to cancel stays, and says so. */
function withoutRecord(refusal: ApiError, failure: ApiError | null): ApiError {
  return failure !== null && isCancel(failure) ? failure : refusal;
}

/** Returns the failure that agrees with the final status of the record. */
function failureToTell(failure: ApiError | null, status: RecordStatus | undefined): ApiError | null {
  if (status === 'cancelled' && !isCancel(failure)) return new ApiError('request_cancelled');
  // Others took this process for dead.
  if (status === 'failed' && failure === null) return new ApiError('gateway_interrupted');
  return failure;
}

function release(run: RunningRequest, incoming: Incoming): void {
  if (incoming.isServed()) run.end();
  else incoming.onceServed(() => run.end());
}

/** Returns a clock that shows this time now, and then goes on as time passes. */
function startClockAt(nowMs: number, steadyMs: () => number): () => number {
  const startedAtMs = steadyMs();
  return () => nowMs + Math.max(0, Math.round(steadyMs() - startedAtMs));
}

function toDraft(incoming: Incoming, plan: Plan, services: AcceptServices): RecordDraft {
  const { caller, idempotencyKey, body, facts } = incoming;
  const { endpoint, model, stream } = plan;
  const { identities } = services;
  return {
    requestId: toRequestId(facts.unique),
    caller: caller.identity,
    endpoint,
    model,
    stream,
    createdAtMs: services.nowMs(),
    estimatedInputTokens: services.estimator.reserveInput(modelCallOf(plan, caller.identity, 0)),
    ...(idempotencyKey !== undefined && {
      idempotency: {
        key: identities.idempotencyKey(caller.identity, idempotencyKey),
        body: identities.body(caller.identity, body.bytes, endpoint, plan.bodyDigest),
      },
    }),
  };
}

/**
 * Returns the record of the request that this one repeats, for a refusal before `accept`. Without an
 * idempotency key a request repeats none.
 */
export async function findDuplicate(
  { caller, idempotencyKey, body }: Pick<Incoming, 'caller' | 'idempotencyKey' | 'body'>,
  endpoint: RecordDraft['endpoint'],
  { store, identities }: Pick<AcceptServices, 'store' | 'identities'>,
  bodyDigest?: Uint8Array,
): Promise<StoredRecord | undefined> {
  if (idempotencyKey === undefined) return undefined;
  return store.findDuplicate(caller.identity, {
    key: identities.idempotencyKey(caller.identity, idempotencyKey),
    body: identities.body(caller.identity, body.bytes, endpoint, bodyDigest),
  });
}

/** The store finds duplicates in any case, so a lookup is needed only after another refusal. */
async function decide(
  draft: RecordDraft,
  incoming: Incoming,
  plan: Plan,
  { store, admission, running }: AcceptServices,
): Promise<Begun | Duplicate> {
  let admitted: AdmissionTerms;
  try {
    refuseWhileDraining(running);
    const { estimatedInputTokens } = draft;
    admitted = admission.admit(incoming.caller.key, { ...plan, estimatedInputTokens });
  } catch (refusal) {
    const record = draft.idempotency && (await store.findDuplicate(draft.caller, draft.idempotency));
    if (record === undefined) throw refusal;
    return { kind: 'duplicate', record };
  }
  const begin = (): Promise<Begun | Duplicate> => write(draft, admitted, store);
  if (!mayOverlap(draft, incoming, store)) return begin();
  return { kind: 'accepted', admitted, taken: admitted.taken(undefined), write: begin };
}

/**
 * Returns whether the backend may be called beside the commit. An idempotency key, funds and limits
 * are decided by the commit, and a store that fails would make each call a waste.
 */
function mayOverlap({ idempotency }: RecordDraft, { caller }: Incoming, store: Pick<Store, 'isFailing'>): boolean {
  return idempotency === undefined && !isLimited(caller.key) && !store.isFailing();
}

async function write(
  draft: RecordDraft,
  admitted: AdmissionTerms,
  store: Pick<Store, 'accept'>,
): Promise<Begun | Duplicate> {
  const { hold } = admitted;
  const acceptance = await store.accept(hold === undefined ? draft : { ...draft, hold });
  switch (acceptance.kind) {
    case 'accepted':
      return { kind: 'accepted', admitted, taken: admitted.taken(acceptance.rates) };
    case 'refused':
      throw await admitted.explain(acceptance);
    case 'duplicate':
      return acceptance;
    default:
      return unreachable(acceptance);
  }
}

interface RecordEnd {
  /** Resolves as `Accepted.settle` does, or with the reason why there is no record. */
  readonly written: Promise<RecordStatus | ApiError | undefined>;
  /** Whether a repeat with the same idempotency key is a duplicate. */
  readonly keepsKey: boolean;
}

function writeEnd(
  { incoming, draft, plan, clock, admitted, taken, hasBegun }: Started & { readonly hasBegun: boolean },
  ending: Ending,
  { store, estimator, keyOwner }: AcceptServices,
): RecordEnd {
  const { reported } = ending;
  const modelCall = modelCallOf(plan, incoming.caller.identity, ending.outputLength);
  // What failed may have been passed on without being read.
  const isRead = ending.failure === null || isCancel(ending.failure);
  if (isRead && isWhole(reported)) estimator.learn(modelCall, reported.usage);
  const outcome = outcomeOf(ending, {
    completedAtMs: clock(),
    keyOwner,
    wasSent: incoming.facts.wasSent,
    upstream: incoming.facts.upstream ?? null,
    isStranger: incoming.caller.holder().isStranger,
    estimateUsage: () => estimator.estimateUsage(modelCall, draft.estimatedInputTokens),
    costOf: (usage, answeredBy) => admitted.costOf(usage, answeredBy),
  });
  const used = outcome === 'discard' ? null : outcome.usage;
  const correction = taken.correct(used === null ? 0 : used.input_tokens + used.output_tokens);
  if (!hasBegun) return { written: writeAtOnce(draft, outcome, store), keepsKey: false };
  const { requestId } = draft;
  const written =
    outcome === 'discard' ? store.discard(requestId, correction) : store.finish(requestId, outcome, correction);
  return {
    written: written.catch((error: unknown) => {
      incoming.facts.isToldEarly = true;
      incoming.facts.log.error({ err: error }, 'the end of the request is not recorded yet');
      return undefined;
    }),
    keepsKey: draft.idempotency !== undefined && outcome !== 'discard' && !outcome.freesIdempotencyKey,
  };
}

/** Resolves with the status, or with the ApiError for which there is no record. */
async function writeAtOnce(
  draft: RecordDraft,
  outcome: ReturnType<typeof outcomeOf>,
  store: Pick<Store, 'record'>,
): Promise<RecordStatus | ApiError | undefined> {
  if (outcome === 'discard') return undefined;
  try {
    await store.record(draft, outcome);
    return outcome.status;
  } catch (thrown) {
    return toApiError(thrown);
  }
}

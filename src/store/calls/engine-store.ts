import { createCalendar } from '../calendar.ts';
import type { ApiError } from '../../core/errors.ts';
import type { RateCorrection } from '../../core/money/rates.ts';
import { DAY_MS, MINUTE_MS, UTC } from '../../core/time.ts';
import { USAGE_KEPT_DAYS, type Hold } from '../../core/books/keys.ts';
import { checkAmount } from '../book/funds.ts';
import { namesOf, type Identity } from '../../core/ids.ts';
import type { Acceptance, Idempotency, RecordDraft, Store, StoredRecord, StoreLog } from '../../core/books/store.ts';
import { createAlertCalls } from './alerts.ts';
import { createConfirmations } from '../queue/confirmations.ts';
import { machineMs } from '../queue/deadline.ts';
import { createAccountCalls, toRates } from './keys.ts';
import type { PaidRow } from '../book/charges.ts';
import { toUnavailable, type Failure } from '../queue/failures.ts';
import { createBatchQueue, type BatchQueue, type BatchQueueOptions, type CallOptions } from '../queue/batch-queue.ts';
import { createOperatorCalls } from './operator.ts';
import { createRequestStatsCalls } from './request-stats.ts';
import { listRecords } from './pages.ts';
import { prune } from './pruning.ts';
import {
  toDraftRow,
  toOutcomeRow,
  toRecord,
  type IdempotencyKeyRow,
  type IdempotencyRow,
  type RecordRow,
} from '../rows/records.ts';

const LOOKUP: CallOptions = { isLookup: true };
const LIST: CallOptions = { isLookup: true, isList: true };

/** Much longer than an acceptance takes, and than its undo takes where nobody was told of it. */
const SURELY_TOLD_MS = 60_000;
/** One probe answers all readiness checks of this time, so that they cannot keep the disk busy. */
const PROBE_HOLDS_MS = 200;

export interface EngineStoreOptions extends Omit<BatchQueueOptions, keyof Health> {
  readonly clock: () => number;
  readonly log: StoreLog;
  /** That of the days and months of spend limits. */
  readonly timeZone?: string | undefined;
  readonly hearCancels?: Store['hearCancels'];
}

export interface EngineStore {
  readonly store: Store;
  readonly queue: BatchQueue;
}

/** Creates the store over an engine: each call becomes operations in its queue. */
export function createEngineStore({
  clock,
  log,
  timeZone = UTC,
  hearCancels = hearNothing,
  ...options
}: EngineStoreOptions): EngineStore {
  const health = createHealth(log);
  const queue = createBatchQueue({ ...options, ...health });
  const calendar = createCalendar(timeZone);
  const confirmations = createConfirmations(queue);
  let probe: { readonly mark: Promise<string | null>; readonly startedAtMs: number } | undefined;

  const store: Store = {
    async accept(draft) {
      if (draft.hold !== undefined) checkHold(draft.hold);
      for (;;) {
        const decision = await decide(draft);
        if (decision.kind !== 'duplicate') return decision;
        const record = await confirmations.confirmed(decision.record);
        if (record !== undefined) return { kind: 'duplicate', record: toRecord(record) };
      }
    },
    async finish(requestId, outcome, correction = null) {
      if (outcome.costMicro !== null) checkAmount(outcome.costMicro);
      checkCorrection(correction);
      const finished = queue.call(['finish', toOutcomeRow(requestId, outcome), correction], { isKept: true });
      return (await finished.finally(() => confirmations.remove(requestId))) ?? undefined;
    },
    async record(draft, outcome) {
      if (outcome.costMicro !== null) checkAmount(outcome.costMicro);
      const { requestId } = draft;
      const row = toDraftRow(draft, machineMs() + queue.answerWithinMs);
      const undo = ['undoRecord', requestId] as const;
      if ((await queue.call(['record', row, toOutcomeRow(requestId, outcome)], { undo })) === 'late') throw tooLate();
    },
    async discard(requestId, correction = null) {
      checkCorrection(correction);
      const discarded = queue.call(['discard', requestId, clock(), correction], { isKept: true });
      return (await discarded.finally(() => confirmations.remove(requestId))) ?? undefined;
    },
    async requestCancel(caller, requestId) {
      const found = await queue.call(['requestCancel', caller, requestId, clock()]);
      return found === null ? undefined : { kind: found.kind, record: toRecord(found.record) };
    },
    async find(caller, requestId) {
      return toFound(await queue.call(['find', caller, requestId], LOOKUP));
    },
    async findDuplicate(caller, idempotency) {
      const found = await queue.call(['findDuplicate', toCandidates(caller, idempotency)], LOOKUP);
      return toFound(found && ((await confirmations.confirmed(found)) ?? null));
    },
    async findByIdempotencyKey(caller, key) {
      return toFound(await queue.call(['findByIdempotencyKey', pair(caller, key)], LOOKUP));
    },
    async list(caller, query, signal) {
      signal?.throwIfAborted();
      const { rows, ...page } = await listRecords((step) => queue.call(['list', step], LIST), namesOf(caller), query);
      return { ...page, records: rows.map(toRecord) };
    },
    async listCancelRequested() {
      const asked = await queue.call(['listAsked'], LOOKUP);
      confirmations.answer(asked);
      return asked.flatMap(({ requestId, isCancelRequested }) => (isCancelRequested ? [requestId] : []));
    },
    hearCancels,
    comparePrices: (version) => queue.call(['comparePrices', version]),
    noteCurrency: async (currency) => (await queue.call(['noteCurrency', currency])) ?? undefined,
    ...createOperatorCalls(queue, clock),
    ...createAccountCalls(queue, clock, calendar),
    ...createAlertCalls(queue, clock, calendar),
    ...createRequestStatsCalls(queue),
    async recover() {
      const unfinished = await queue.call(['listUnfinished', clock() - SURELY_TOLD_MS], LOOKUP);
      // What is still to be written may be the end of one of them.
      const ended = queue.isBehind() ? [] : unfinished.filter((requestId) => !confirmations.isUnfinished(requestId));
      let closed = 0;
      for (;;) {
        const some = await queue.call(['recoverSome', clock(), ended]);
        if (some === 0) return closed;
        closed += some;
      }
    },
    prune: (beforeMs) => prune(queue, beforeMs, clock() - USAGE_KEPT_DAYS * DAY_MS),
    isFailing: () => health.isFailing(),
    async checkWritable() {
      const nowMs = performance.now();
      if (probe === undefined || nowMs - probe.startedAtMs > PROBE_HOLDS_MS) {
        probe = { mark: queue.call(['probeWrite']), startedAtMs: nowMs };
      }
      return (await probe.mark) ?? undefined;
    },
    async close() {
      const unwritten = await queue.close();
      if (unwritten > 0) log.warn({ unwritten }, 'the store was closed with calls it could not serve');
      await options.engine.close();
    },
  };
  return { store, queue };

  async function decide(draft: RecordDraft): Promise<Decision> {
    const earlier = toCandidates(draft.caller, draft.idempotency).slice(1);
    const undo = ['undoAccept', draft.requestId, clock(), toReturned(draft)] as const;
    const row = toDraftRow(draft, machineMs() + queue.answerWithinMs);
    const decision =
      draft.hold === undefined
        ? toDecision(await queue.call(['accept', row, earlier], { undo }))
        : toPaidDecision(await queue.call(['acceptPaid', row, earlier, draft.hold], { undo }));
    if (decision.kind === 'accepted') confirmations.add(draft.requestId);
    return decision;
  }
}

/** The owner of a duplicate has not confirmed it yet. */
type Decision =
  | Exclude<Acceptance, { readonly kind: 'duplicate' }>
  | { readonly kind: 'duplicate'; readonly record: RecordRow };

interface Health {
  onFailure(failure: Failure): void;
  onSuccess(): void;
  isFailing(): boolean;
}

/** Logs once that writing fails, and once that it works again. */
function createHealth(log: StoreLog): Health {
  let failedAtMs: number | undefined;
  return {
    isFailing: () => failedAtMs !== undefined,
    onFailure({ reason, message }: Failure): void {
      if (failedAtMs === undefined) log.warn({ reason, message }, 'the store cannot be written');
      failedAtMs = performance.now();
    },
    onSuccess(): void {
      // On a full disk small writes succeed between failing ones.
      if (failedAtMs === undefined || performance.now() - failedAtMs < 1000) return;
      failedAtMs = undefined;
      log.info({}, 'the store can be written again');
    },
  };
}

function toCandidates(caller: Identity, idempotency: Idempotency | undefined): readonly IdempotencyRow[] {
  if (idempotency === undefined) return [];
  return pair(caller, idempotency.key).flatMap((pair, index) => {
    const body = idempotency.body[index];
    return body === undefined ? [] : [{ ...pair, body }];
  });
}

function pair(caller: Identity, key: Identity): readonly IdempotencyKeyRow[] {
  return caller.flatMap((caller, index) => {
    const idempotencyKey = key[index];
    return idempotencyKey === undefined ? [] : [{ caller, idempotencyKey }];
  });
}

function hearNothing(): () => void {
  return () => undefined;
}

function checkHold({ heldMicro, interruptedCostMicro, tokens }: Hold): void {
  checkAmount(heldMicro);
  checkAmount(tokens);
  if (interruptedCostMicro !== null) checkAmount(interruptedCostMicro);
}

function checkCorrection(correction: RateCorrection | null): void {
  if (correction !== null) checkAmount(Math.abs(correction.tokens));
}

function toDecision(row: RecordRow | 'late' | null): Decision {
  if (row === 'late') throw tooLate();
  return row === null ? { kind: 'accepted' } : { kind: 'duplicate', record: row };
}

function toPaidDecision(row: PaidRow): Decision {
  if (row.kind === 'duplicate') return row;
  const rates = toRates(row.rates);
  if (row.kind === 'late') throw tooLate();
  if (row.kind === 'accepted') return { kind: 'accepted', ...rates };
  return { kind: 'refused', code: row.kind, ...rates, ...(row.ofGroup !== null && { ofGroup: row.ofGroup }) };
}

/** Returns the tokens that were counted in its minute, if the clock of the database agrees on that. */
function toReturned({ createdAtMs, hold }: RecordDraft): RateCorrection | null {
  return hold === undefined ? null : { minute: Math.floor(createdAtMs / MINUTE_MS), tokens: -hold.tokens };
}

function tooLate(): ApiError {
  return toUnavailable('the database came to the request after its deadline');
}

function toFound(row: RecordRow | null): StoredRecord | undefined {
  return row === null ? undefined : toRecord(row);
}

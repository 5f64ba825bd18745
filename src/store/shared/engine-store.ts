import { USAGE_KEPT_DAYS, type Hold } from '../keys.ts';
import { checkAmount } from './funds.ts';
import type { OperatorStore } from '../operator.ts';
import type { Identity } from '../../identity/identities.ts';
import type { Acceptance, Idempotency, RecordPage, RecordQuery, Store, StoredRecord, StoreLog } from '../store.ts';
import type { RequestId } from '../../contract/ids.ts';
import type { StopSignal } from '../../core/stop-signal.ts';
import { createAccountCalls, toRates } from './key-calls.ts';
import type { PaidRow } from './charges.ts';
import type { Failure } from './failures.ts';
import type { CallOptions, BatchQueue } from './batch-queue.ts';
import { createOperatorCalls } from './operator-calls.ts';
import type { RemoteEngine } from './operations.ts';
import { prune } from './pruning.ts';
import { SEQ, toDraftRow, toOutcomeRow, toRecord, type IdempotencyRow, type ListStep, type RecordRow } from './rows.ts';

const LOOKUP: CallOptions = { isLookup: true };

/** How long a write that was tried for one readiness check answers for others, so that strangers cannot keep the disk busy. */
const PROBE_HOLDS_MS = 200;

const DAY_MS = 86_400_000;

export interface EngineStoreParts {
  readonly engine: RemoteEngine;
  /** To that engine. */
  readonly queue: BatchQueue;
  readonly clock: () => number;
  readonly log: StoreLog;
  /** Absent where no other process can be heard. */
  readonly hearCancels?: Store['hearCancels'];
}

/** The store over an engine, whichever it is: each call becomes operations on their way to it. */
export function createEngineStore({
  engine,
  queue,
  clock,
  log,
  hearCancels = hearNothing,
}: EngineStoreParts): Store & OperatorStore {
  let probe: { readonly mark: Promise<string | null>; readonly startedAtMs: number } | undefined;

  return {
    async accept(draft) {
      const earlier = toCandidates(draft.caller, draft.idempotency).slice(1);
      const undo = ['discard', draft.requestId, clock()] as const;
      const row = toDraftRow(draft);
      if (draft.hold === undefined) return toAcceptance(await queue.call(['accept', row, earlier], { undo }));
      checkHold(draft.hold);
      return toPaidAcceptance(await queue.call(['acceptPaid', row, earlier, draft.hold], { undo }));
    },
    async finish(requestId, outcome) {
      if (outcome.costMicro !== null) checkAmount(outcome.costMicro);
      return (await queue.call(['finish', toOutcomeRow(requestId, outcome)], { isKept: true })) ?? undefined;
    },
    async discard(requestId) {
      await queue.call(['discard', requestId, clock()], { isKept: true });
    },
    async requestCancel(caller, requestId) {
      const found = await queue.call(['requestCancel', caller, requestId, clock()]);
      return found === null ? undefined : { kind: found[0], record: toRecord(found[1]) };
    },
    async find(caller, requestId) {
      return toFound(await queue.call(['find', caller, requestId], LOOKUP));
    },
    async findDuplicate(caller, idempotency) {
      return toFound(await queue.call(['findDuplicate', toCandidates(caller, idempotency)], LOOKUP));
    },
    async findByIdempotencyKey(caller, key) {
      return toFound(await queue.call(['findByIdempotencyKey', pair(caller, key)], LOOKUP));
    },
    list: (caller, query, signal) => list(queue, caller, query, signal),
    listCancelRequested: () => queue.call(['listCancelRequested'], LOOKUP),
    hearCancels,
    comparePrices: (version) => queue.call(['comparePrices', version]),
    ...createOperatorCalls(queue, clock),
    ...createAccountCalls(queue, clock),
    async recover() {
      let closed = 0;
      for (;;) {
        const some = await queue.call(['recoverSome', clock()]);
        if (some === 0) return closed;
        closed += some;
      }
    },
    prune: (beforeMs) => prune(queue, beforeMs, clock() - USAGE_KEPT_DAYS * DAY_MS),
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
      await engine.close();
    },
  };
}

/** Says once that writing fails, and once that it works again, however many calls are hit meanwhile. */
export function createHealth(log: StoreLog) {
  let failedAtMs: number | undefined;
  return {
    onFailure({ reason, message }: Failure): void {
      if (failedAtMs === undefined) log.warn({ reason, message }, 'the store cannot be written');
      failedAtMs = performance.now();
    },
    onSuccess(): void {
      // On a full disk small writes succeed between failing ones: a moment without failures is the end of them.
      if (failedAtMs === undefined || performance.now() - failedAtMs < 1000) return;
      failedAtMs = undefined;
      log.info({}, 'the store can be written again');
    },
  };
}

async function list(
  queue: BatchQueue,
  caller: Identity,
  query: RecordQuery,
  signal: StopSignal | undefined,
): Promise<RecordPage | undefined> {
  const firstBeforeSeq =
    query.after === undefined ? Number.MAX_SAFE_INTEGER : await findPlace(queue, caller, query.after);
  if (firstBeforeSeq === null) return undefined;
  const lists = await Promise.all(caller.map((name) => collect(queue, name, { firstBeforeSeq, query, signal })));
  const rows = lists.flat().sort((one, other) => other[SEQ] - one[SEQ]);
  return { records: rows.slice(0, query.limit).map(toRecord), hasMore: rows.length > query.limit };
}

function findPlace(queue: BatchQueue, caller: Identity, requestId: RequestId): Promise<number | null> {
  return queue.call(['findPlace', caller, requestId], LOOKUP);
}

interface Search {
  readonly firstBeforeSeq: number;
  readonly query: RecordQuery;
  readonly signal: StopSignal | undefined;
}

/** One row more than asked for, if there are as many: it shows that there is another page. */
async function collect(
  queue: BatchQueue,
  caller: string,
  { firstBeforeSeq, query, signal }: Search,
): Promise<RecordRow[]> {
  const wanted = query.limit + 1;
  const found: RecordRow[] = [];
  let beforeSeq: number | null = firstBeforeSeq;
  while (beforeSeq !== null && found.length < wanted) {
    signal?.throwIfAborted();
    const filter = [query.status ?? null, query.model ?? null, wanted - found.length] as const;
    const [rows, next]: ListStep = await queue.call(['list', [caller, beforeSeq, ...filter]], LOOKUP);
    found.push(...rows);
    beforeSeq = next;
  }
  return found;
}

/** The same caller, key and body under each secret. */
function toCandidates(caller: Identity, idempotency: Idempotency | undefined): readonly IdempotencyRow[] {
  if (idempotency === undefined) return [];
  const { key, body } = idempotency;
  return pair(caller, key).flatMap(([name, key], index) => {
    const text = body[index];
    return text === undefined ? [] : [[name, key, text] as const];
  });
}

function pair(caller: Identity, key: Identity): readonly (readonly [string, string])[] {
  return caller.flatMap((name, index) => {
    const text = key[index];
    return text === undefined ? [] : [[name, text] as const];
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

function toAcceptance(row: RecordRow | null): Acceptance {
  return row === null ? { kind: 'accepted' } : { kind: 'duplicate', record: toRecord(row) };
}

function toPaidAcceptance(row: PaidRow): Acceptance {
  if (row[0] === 'duplicate') return { kind: 'duplicate', record: toRecord(row[1]) };
  const [kind, rates] = row;
  return kind === 'accepted' ? { kind, ...toRates(rates) } : { kind: 'refused', code: kind, ...toRates(rates) };
}

function toFound(row: RecordRow | null): StoredRecord | undefined {
  return row === null ? undefined : toRecord(row);
}

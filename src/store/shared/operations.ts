import type { KeyId, RequestId } from '../../contract/ids.ts';
import type { CreditEntry, Hold, KeyChange, LedgerEntry, UsageQuery } from '../keys.ts';
import type { RateStanding } from '../../core/money/rates.ts';
import type { RecordStatus } from '../store.ts';
import type { CountedRow, PaidRow } from './charges.ts';
import type { Failure } from './failures.ts';
import type { FoundKeyRow, KeyDraftRow, KeyRow } from './key-rows.ts';
import type {
  CallerListStep,
  CancelRow,
  DraftRow,
  IdempotencyRow,
  ListedRows,
  OperatorListStep,
  OutcomeRow,
  RecordRow,
} from './rows.ts';
import type { HourSpan, UsageSumRow } from './usage-rows.ts';

/** The operations of every engine. Each is one small step. */
export interface Operations {
  /**
   * Returns null when the draft became a record, else the record that it repeats. `earlier`
   * identifies the draft under previous secrets.
   */
  accept(draft: DraftRow, earlier: readonly IdempotencyRow[]): RecordRow | null;
  /** As `accept`, for a key that pays. A duplicate is found even when the funds are used up. */
  acceptPaid(draft: DraftRow, earlier: readonly IdempotencyRow[], hold: Hold): PaidRow;
  /** Returns the status of the record afterwards; null when there is no such record. */
  finish(outcome: OutcomeRow): RecordStatus | null;
  discard(requestId: RequestId, nowMs: number): null;
  requestCancel(callers: readonly string[], requestId: RequestId, nowMs: number): CancelRow | null;
  find(callers: readonly string[], requestId: RequestId): RecordRow | null;
  findDuplicate(candidates: readonly IdempotencyRow[]): RecordRow | null;
  /** Returns the newest record of the caller with this key, under any secret. */
  findByIdempotencyKey(candidates: readonly Omit<IdempotencyRow, 'body'>[]): RecordRow | null;
  /** Returns the `seq` of a record of one of these callers, else null. */
  findPlace(callers: readonly string[], requestId: RequestId): number | null;
  list(step: CallerListStep): ListedRows;
  /** Returns the unfinished records of this process for which a cancel was requested. */
  listCancelRequested(): readonly RequestId[];

  findPlaceOfAny(requestId: RequestId): number | null;
  listAll(step: OperatorListStep): ListedRows;
  findAny(requestId: RequestId): RecordRow | null;
  requestCancelOfAny(requestId: RequestId, nowMs: number): CancelRow | null;

  createKey(draft: KeyDraftRow): KeyRow;
  findKey(keyId: KeyId): KeyRow | null;
  findKeyByHash(hashes: readonly string[], nowMs: number): FoundKeyRow | null;
  /** Replaces a hash, or a former hash, by that of the current secret. */
  rehashKey(from: string, to: string): null;
  /** Null when `after` is no key. */
  listKeys(limit: number, after: KeyId | null): readonly KeyRow[] | null;
  updateKey(keyId: KeyId, change: KeyChange): KeyRow | null;
  rotateKey(keyId: KeyId, hash: string, prefix: string, formerUntilMs: number): KeyRow | null;
  /** The ledger cannot be read afterwards, and later pruning drops it in small steps. */
  deleteKey(keyId: KeyId): boolean;
  /**
   * Null when there is no such key, `repeated` when it has an entry with this reference. Throws
   * RangeError, before anything is written, when the balance would be too large.
   */
  credit(keyId: KeyId, entry: CreditEntry): KeyRow | 'repeated' | null;
  /** Newest first. Null when there is no such key. */
  listLedger(keyId: KeyId, beforeSeq: number, limit: number): readonly LedgerEntry[] | null;

  /** Takes nothing when it is refused. PostgreSQL counts by its own clock instead of `nowMs`. */
  takeRate(keyId: KeyId, tokens: number, nowMs: number): CountedRow;
  correctRate(keyId: KeyId, minute: number, tokens: number): null;
  findRate(keyId: KeyId, nowMs: number): RateStanding | null;

  /** Null selects all callers. */
  sumUsage(caller: string | null, per: UsageQuery['per'], span: HourSpan): readonly UsageSumRow[];
  /** Returns the hours that have usage. */
  findUsageSpan(): HourSpan;

  comparePrices(version: string): readonly string[];

  /** Closes some of the unfinished records of dead processes; returns how many, 0 at the end. */
  recoverSome(nowMs: number): number;
  /** Deletes at most PRUNE_STEP records that ended before this time; returns how many. */
  pruneSome(beforeMs: number): number;
  /** Deletes at most PRUNE_STEP rows of usage from earlier hours; returns how many. */
  pruneUsageSome(beforeHour: number): number;
  /**
   * Combines old entries of the next key after this one that has any. Returns the key after which
   * to continue, and null at the end.
   */
  carrySome(afterKey: number, beforeMs: number): number | null;
  /** Returns some unused space to the file system; returns whether there is more to do. */
  reclaimSome(): boolean;
  /**
   * Writes as `accept` does, and leaves nothing behind. Returns the mark of the secret, null where
   * there is none.
   */
  probeWrite(): string | null;
}

export type OperationName = keyof Operations;

/** A call of an operation: its name and its parameters. */
export type OperationOf<Name extends OperationName> = readonly [Name, ...Parameters<Operations[Name]>];
/** Any call, in a mixed batch. Only SQLite has `pragma` and `asOwner`. */
export type Operation = readonly [name: OperationName | 'pragma' | 'asOwner', ...parameters: unknown[]];
export type ResultOf<Name extends OperationName> = ReturnType<Operations[Name]>;

/** `write` is for a batch that changes anything, `read` for lookups only. */
export type Mode = 'read' | 'write';

/**
 * Results in the order of the operations, an Error for an operation that was invalid; or why the
 * whole batch failed.
 */
export type Reply = { readonly results: readonly unknown[] } | { readonly failure: Failure };

/** Returns the reply, or `lost` when it does not have one result for each operation. */
export function checkReply(reply: Reply, operations: number): Reply {
  if ('failure' in reply || reply.results.length === operations) return reply;
  const message = `the database answered ${operations} calls with ${reply.results.length} results`;
  return { failure: { reason: 'lost', message } };
}

/** A database in another thread, or behind a connection. */
export interface RemoteEngine {
  /** Never rejects: a reply reports failures. */
  run(mode: Mode, batch: readonly Operation[]): Promise<Reply>;
  /** Resolves when the database is closed, or was given up after a few seconds. */
  close(): Promise<void>;
}

/** How many rows one step of pruning deletes: some milliseconds in a large database. */
export const PRUNE_STEP = 100;

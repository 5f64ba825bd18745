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

/** What every engine can be asked for: one small step of its database each. */
export interface Operations {
  /** Returns null when the draft became a record, else the record it repeats. `earlier` is how it was known under previous secrets. */
  accept(draft: DraftRow, earlier: readonly IdempotencyRow[]): RecordRow | null;
  /** As `accept`, for a key that pays. A duplicate is answered also when nothing is left. */
  acceptPaid(draft: DraftRow, earlier: readonly IdempotencyRow[], hold: Hold): PaidRow;
  /** Returns the status which the record has from then on; null when there is no such record. */
  finish(outcome: OutcomeRow): RecordStatus | null;
  discard(requestId: RequestId, nowMs: number): null;
  requestCancel(callers: readonly string[], requestId: RequestId, nowMs: number): CancelRow | null;
  find(callers: readonly string[], requestId: RequestId): RecordRow | null;
  findDuplicate(candidates: readonly IdempotencyRow[]): RecordRow | null;
  /** The newest of what the caller made under this key, under whichever secret. */
  findByIdempotencyKey(candidates: readonly Omit<IdempotencyRow, 'body'>[]): RecordRow | null;
  /** The place of a record in the list of its caller, who is one of these; null when it is nobody's of them. */
  findPlace(callers: readonly string[], requestId: RequestId): number | null;
  list(step: CallerListStep): ListedRows;
  /** The unfinished records of this process for which a cancel was asked for. */
  listCancelRequested(): readonly RequestId[];

  findPlaceOfAny(requestId: RequestId): number | null;
  listAll(step: OperatorListStep): ListedRows;
  findAny(requestId: RequestId): RecordRow | null;
  requestCancelOfAny(requestId: RequestId, nowMs: number): CancelRow | null;

  createKey(draft: KeyDraftRow): KeyRow;
  findKey(keyId: KeyId): KeyRow | null;
  findKeyByHash(hashes: readonly string[], nowMs: number): FoundKeyRow | null;
  /** Both are HMACs of one secret. Found by the first, the key is known by the other one from now on. */
  rehashKey(from: string, to: string): null;
  /** Null when `after` is no key. */
  listKeys(limit: number, after: KeyId | null): readonly KeyRow[] | null;
  updateKey(keyId: KeyId, change: KeyChange): KeyRow | null;
  rotateKey(keyId: KeyId, hash: string, prefix: string, formerUntilMs: number): KeyRow | null;
  /** Its ledger cannot be read from now on, and goes in small steps with the next pruning. */
  deleteKey(keyId: KeyId): boolean;
  /** Null when there is no such key, `repeated` when it has an entry with this reference. Throws RangeError. */
  credit(keyId: KeyId, entry: CreditEntry): KeyRow | 'repeated' | null;
  /** Newest first. Null when there is no such key. */
  listLedger(keyId: KeyId, beforeSeq: number, limit: number): readonly LedgerEntry[] | null;

  /** Nothing is taken when it is refused. Each engine which has a clock for all its users goes by that one, and not by `nowMs`. */
  takeRate(keyId: KeyId, tokens: number, nowMs: number): CountedRow;
  correctRate(keyId: KeyId, minute: number, tokens: number): null;
  findRate(keyId: KeyId, nowMs: number): RateStanding | null;

  /** Null stands for all callers. */
  sumUsage(caller: string | null, per: UsageQuery['per'], span: HourSpan): readonly UsageSumRow[];
  /** The hours of which anything is known. */
  findUsageSpan(): HourSpan;

  comparePrices(version: string): readonly string[];

  /** Closes some of the unfinished records whose process is dead; returns how many, and 0 when there are no more. */
  recoverSome(nowMs: number): number;
  /** Deletes at most PRUNE_STEP of the records that ended before this time; returns how many. */
  pruneSome(beforeMs: number): number;
  /** Forgets at most PRUNE_STEP sums of what was used in the hours before; returns how many. */
  pruneUsageSome(beforeHour: number): number;
  /**
   * Goes on behind this key and makes one carry of old entries of the next key that has any. Returns behind which key to
   * go on, and null at the end.
   */
  carrySome(afterKey: number, beforeMs: number): number | null;
  /** Gives a little of unused space back; returns whether there is more to do. */
  reclaimSome(): boolean;
  /**
   * Writes as an `accept` would, and leaves nothing behind. Returns the mark of the secret, null
   * where there is none.
   */
  probeWrite(): string | null;
}

export type OperationName = keyof Operations;

/** One call on its way to the database, as a flat list: the name of the operation and what it takes. */
export type OperationOf<Name extends OperationName> = readonly [Name, ...Parameters<Operations[Name]>];
/** Any of them, in a batch where all kinds are mixed; SQLite alone runs pragmas too, and acts for others. */
export type Operation = readonly [name: OperationName | 'pragma' | 'asOwner', ...parameters: unknown[]];
export type ResultOf<Name extends OperationName> = ReturnType<Operations[Name]>;

/** `write` is for a batch which changes anything, `read` for lookups alone. */
export type Mode = 'read' | 'write';

/** One entry per operation, in order, an Error for one that is our own mistake; or why the batch as a whole had no effect. */
export type Reply = { readonly results: readonly unknown[] } | { readonly failure: Failure };

/** The reply, or a failure where it has not one entry per operation: then nobody knows what became of which. */
export function checkReply(reply: Reply, operations: number): Reply {
  if ('failure' in reply || reply.results.length === operations) return reply;
  const message = `the database answered ${operations} calls with ${reply.results.length} results`;
  return { failure: { reason: 'lost', message } };
}

/** A database that is somewhere else: in another thread, or behind a connection. */
export interface RemoteEngine {
  /** Never rejects: what goes wrong is in the reply. */
  run(mode: Mode, batch: readonly Operation[]): Promise<Reply>;
  /** Resolves when the database is closed, or was given up after a few seconds. */
  close(): Promise<void>;
}

/** How many rows one step of pruning deletes: some milliseconds in a large database. */
export const PRUNE_STEP = 100;

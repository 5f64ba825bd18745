import type { AccountId, GroupId, KeyId, RequestId } from '../../contract/ids.ts';
import type {
  CalendarDay,
  CreditEntry,
  GroupChange,
  Hold,
  KeyChange,
  LedgerEntry,
  UsageQuery,
} from '../../core/books/keys.ts';
import type { RateCorrection, RateStanding } from '../../core/money/rates.ts';
import type { RecordStatus } from '../../core/books/store.ts';
import type { ClaimRow, SpendingRow, SpendingStep } from '../rows/alerts.ts';
import type { CountedRow, PaidRow } from '../book/charges.ts';
import type { LedgerCursor } from '../book/ledger.ts';
import type { Failure } from './failures.ts';
import type {
  Conflict,
  FoundKeyRow,
  GroupDraftRow,
  GroupFilter,
  GroupRow,
  KeyDraftRow,
  KeyFilter,
  KeyRow,
} from '../rows/keys.ts';
import type { ListedRows, ListStep } from '../rows/list-query.ts';
import type {
  AskedRow,
  CancelRow,
  DraftRow,
  IdempotencyKeyRow,
  IdempotencyRow,
  OutcomeRow,
  RecordRow,
} from '../rows/records.ts';
import type { StatsRow, StatsStep } from '../rows/request-stats.ts';
import type { Rollup, TotalRow, TotalsStep } from '../rows/usage-rollups.ts';
import type { GroupUsageRow, HourSpan, UsageSumRow } from '../rows/usage.ts';

export interface Operations {
  /**
   * Returns the record that the draft repeats, else null; `late` after its deadline. `earlier` is
   * the draft under previous secrets.
   */
  accept(draft: DraftRow, earlier: readonly IdempotencyRow[]): RecordRow | 'late' | null;
  acceptPaid(draft: DraftRow, earlier: readonly IdempotencyRow[], hold: Hold): PaidRow;
  finish(outcome: OutcomeRow, correction: RateCorrection | null): RecordStatus | null;
  /** As `accept` and `finish` of a draft that nothing can repeat. Returns `late` after its deadline. */
  record(draft: DraftRow, outcome: OutcomeRow): 'late' | null;
  /** Takes back all of `record`, of which nobody was told. */
  undoRecord(requestId: RequestId): null;
  discard(requestId: RequestId, nowMs: number, correction: RateCorrection | null): RecordStatus | null;
  /**
   * As `discard`, after an `accept` that nobody was told of. Takes back what a recovery has closed
   * and charged meanwhile, unless somebody was told of that.
   */
  undoAccept(requestId: RequestId, nowMs: number, correction: RateCorrection | null): RecordStatus | null;
  requestCancel(callers: readonly string[], requestId: RequestId, nowMs: number): CancelRow | null;
  find(callers: readonly string[], requestId: RequestId): RecordRow | null;
  findDuplicate(candidates: readonly IdempotencyRow[]): RecordRow | null;
  findByIdempotencyKey(candidates: readonly IdempotencyKeyRow[]): RecordRow | null;
  list(step: ListStep): ListedRows;
  listAsked(): readonly AskedRow[];
  /** Asks the owner of an unfinished record whether it runs, and confirms a final one. */
  doubt(requestId: RequestId): null;
  confirm(requestIds: readonly RequestId[]): null;

  findCallers(prefix: string, limit: number): readonly string[];
  findAny(requestId: RequestId): RecordRow | null;
  requestCancelOfAny(requestId: RequestId, nowMs: number): CancelRow | null;

  /** All of them or none. The names of the drafts differ. */
  createKeys(drafts: readonly KeyDraftRow[]): readonly KeyRow[] | Conflict;
  findKey(keyId: KeyId): KeyRow | null;
  findKeyByHash(hashes: readonly string[], nowMs: number): FoundKeyRow | null;
  rehashKey(from: string, to: string, mark: string | null): null;
  /** Null when `after` is no key. */
  listKeys(limit: number, after: KeyId | null, filter: KeyFilter): readonly KeyRow[] | null;
  updateKey(keyId: KeyId, change: KeyChange): KeyRow | Conflict | null;
  rotateKey(keyId: KeyId, hash: string, mark: string | null, prefix: string, formerUntilMs: number): KeyRow | null;
  /** Later pruning drops the ledger in small steps. */
  deleteKeys(keyIds: readonly KeyId[]): number;

  /** The group of all keys begins with what they have spent since this day, its week and its month began. */
  createGroup(draft: GroupDraftRow, today: CalendarDay): GroupRow | Conflict;
  findGroups(groupIds: readonly GroupId[]): readonly GroupRow[];
  listGroups(limit: number, after: GroupId | null, filter: GroupFilter): readonly GroupRow[] | null;
  updateGroup(groupId: GroupId, change: GroupChange): GroupRow | Conflict | null;
  deleteGroup(groupId: GroupId): 'deleted' | 'has keys' | null;

  /**
   * Null when there is no such account, `repeated` when it has an entry with this reference. Throws
   * RangeError, before anything is written, when the balance would be too large.
   */
  credit(accountId: AccountId, entry: CreditEntry): 'credited' | 'repeated' | null;
  /** The newest before a cursor first, or the oldest after one. */
  listLedger(accountId: AccountId, cursor: LedgerCursor, limit: number): readonly LedgerEntry[] | null;

  /** PostgreSQL counts by its own clock instead of `nowMs`. */
  takeRate(keyId: KeyId, tokens: number, nowMs: number): CountedRow;
  findRate(accountId: AccountId, nowMs: number): RateStanding | null;

  sumUsage(caller: string | null, per: UsageQuery['per'], span: HourSpan, limit: number): readonly UsageSumRow[];
  sumGroupUsage(
    groupId: GroupId | null,
    per: UsageQuery['per'],
    span: HourSpan,
    limit: number,
  ): readonly GroupUsageRow[];
  sumTotals(step: TotalsStep): readonly TotalRow[];
  listRollups(): readonly Rollup[];
  /** Does nothing when a part of it is not current any more. */
  rollUp(rollup: Rollup): null;

  addStats(rows: readonly StatsRow[]): null;
  listStats(step: StatsStep): readonly StatsRow[];
  findUsageSpan(): HourSpan;

  /** Keeps the latest MAX_ACCEPTED. */
  rememberAccepted(caller: string, atMs: number): null;
  listAccepted(sinceMs: number): readonly string[];

  listSpending(step: SpendingStep): readonly SpendingRow[];
  claimAlert(claim: ClaimRow): boolean;

  comparePrices(version: string): readonly string[];
  noteCurrency(currency: string): string | null;

  /**
   * Returns the own unfinished records from before this time; none where no commit can be lost. Some
   * may have ended: after a fail-over to a replica the last commits may be lost.
   */
  listUnfinished(beforeMs: number): readonly RequestId[];
  /** Returns how many records of dead processes it closed, and of these own ones; 0 at the end. */
  recoverSome(nowMs: number, ended: readonly RequestId[]): number;
  /** Returns when those ended that it deleted, of which there are at most PRUNE_STEP. */
  pruneSome(fromMs: number, beforeMs: number): readonly number[];
  /** Deletes alerts of that time too. */
  pruneUsageSome(beforeHour: number): number;
  /** Combines old entries of the next key. Returns the key to continue after, null at the end. */
  carrySome(afterKey: number, beforeMs: number): number | null;
  /** Returns some unused space to the file system; returns whether there is more to do. */
  reclaimSome(): boolean;
  /** Leaves nothing behind. Returns the mark of the secret, null where there is none. */
  probeWrite(): string | null;
}

export type OperationName = keyof Operations;

export type OperationOf<Name extends OperationName> = readonly [Name, ...Parameters<Operations[Name]>];
/** Only SQLite has `pragma` and `asOwner`. */
export type Operation = readonly [name: OperationName | 'pragma' | 'asOwner', ...parameters: unknown[]];
export type ResultOf<Name extends OperationName> = ReturnType<Operations[Name]>;

export type Mode = 'read' | 'write';

/** An invalid operation has an Error as its result. */
export type Reply = { readonly results: readonly unknown[] } | { readonly failure: Failure };

/** Returns the reply, or `lost` when it does not have one result for each operation. */
export function checkReply(reply: Reply, operations: number): Reply {
  if ('failure' in reply || reply.results.length === operations) return reply;
  const message = `the database answered ${operations} calls with ${reply.results.length} results`;
  return { failure: { reason: 'lost', message } };
}

export interface RemoteEngine {
  /** Never rejects: a reply reports failures. */
  run(mode: Mode, batch: readonly Operation[]): Promise<Reply>;
  /** Resolves when the database is closed, or was given up after a few seconds. */
  close(): Promise<void>;
}

export const MAX_ACCEPTED = 10_000;

/** One step deletes them in some milliseconds in a large database. */
export const PRUNE_STEP = 100;

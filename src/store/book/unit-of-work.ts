import type { AccountId, GroupId } from '../../contract/ids.ts';
import type { LedgerEntry } from '../../core/books/keys.ts';
import type { Funds } from './funds.ts';
import { LIMITS, SPEND_WINDOWS, type KeyLimits } from '../../core/money/limits.ts';
import type { RateCounts } from '../../core/money/rates.ts';
import { selected } from '../rows/columns.ts';
import type { RecordRow } from '../rows/records.ts';
import { addSums, toUsageSum, type GroupUsageRow, type UsageSumRow } from '../rows/usage.ts';

export interface Account extends Funds, KeyLimits, RateCounts {
  readonly id: AccountId;
  /** Negative for a group, so that keys and groups share the ledger. */
  readonly seq: number;
  readonly groupId: GroupId | null;
  readonly isDisabled: 0 | 1;
  readonly expiresAtMs: number | null;
  /** The time of the database, if rates are counted by it. */
  readonly clockMs?: number;
}

/** What requests change. */
export const COUNTED_FIELDS = [
  'balanceMicro',
  'heldMicro',
  ...SPEND_WINDOWS.flatMap(({ per, spent }) => [per, spent]),
  'minute',
  'minuteRequests',
  'minuteTokens',
] as const satisfies readonly (keyof Account)[];

const FIELDS = ['isDisabled', 'expiresAtMs', ...COUNTED_FIELDS, ...LIMITS.map(({ limit }) => limit)];

export const KEY_ACCOUNT_COLUMNS = `seq, key_id AS id, group_id AS "groupId", ${selected(FIELDS)}`;
export const GROUP_ACCOUNT_COLUMNS = `-seq AS seq, group_id AS id, NULL AS "groupId", ${selected(FIELDS)}`;

export interface EntryRow extends Omit<LedgerEntry, 'seq'> {
  readonly key: number;
}

type NewEntry = Pick<EntryRow, 'key' | 'kind' | 'amountMicro' | 'createdAtMs'> & Partial<EntryRow>;

export interface Funding {
  of(key: number): Account | undefined;
  find(id: AccountId): Account | undefined;
  write(account: Account): void;
  enter(entry: NewEntry): void;
}

export interface OpenUnit {
  readonly funding: Funding;
  readonly noteUsage: (closed: RecordRow) => void;
  readonly takeBackUsage: (closed: RecordRow) => void;
}

/**
 * The state of keys inside one transaction: read once, changed in memory, and written at the end.
 * Many requests of one key change its row once.
 */
export interface UnitOfWork extends OpenUnit {
  add(account: Account): Account;
  flush(): UnitChanges;
}

export interface UnitChanges {
  readonly accounts: readonly Account[];
  readonly entries: readonly EntryRow[];
  /** Sorted, so that all transactions take their locks in one order. */
  readonly sums: readonly UsageSumRow[];
  readonly groupSums: readonly GroupUsageRow[];
}

export interface AccountReader {
  of(key: number): Account | undefined;
  find(id: AccountId): Account | undefined;
}

/** Opens an empty unit of work. */
export function openUnitOfWork(reader: AccountReader): UnitOfWork {
  const accounts = new Map<number, Account>();
  const keys = new Map<AccountId, number>();
  const missing = new Set<AccountId>();
  const changed = new Set<number>();
  const usage = new Map<string, UsageSumRow>();
  const groupUsage = new Map<string, GroupUsageRow>();
  let entries: EntryRow[] = [];

  function add(account: Account): Account {
    accounts.set(account.seq, account);
    keys.set(account.id, account.seq);
    missing.delete(account.id);
    return account;
  }

  function addFound(account: Account | undefined): Account | undefined {
    return account && add(account);
  }

  function addUsage(closed: RecordRow, times: 1 | -1): void {
    const sum = toUsageSum(closed, times);
    // A caller is an HMAC or the id of a key, so it contains no space.
    const key = `${sum.startHour} ${sum.caller} ${sum.model}`;
    const earlier = usage.get(key);
    usage.set(key, earlier === undefined ? sum : addSums(earlier, sum));
    const { groupId } = closed;
    if (groupId === null) return;
    const groupKey = `${groupId} ${key}`;
    const earlierOfGroup = groupUsage.get(groupKey);
    groupUsage.set(groupKey, earlierOfGroup === undefined ? { ...sum, groupId } : addSums(earlierOfGroup, sum));
  }

  function write(account: Account): void {
    if (!accounts.has(account.seq)) throw new Error('the account of a key was changed before it was read');
    accounts.set(account.seq, account);
    changed.add(account.seq);
  }

  return {
    add,
    funding: {
      of: (key) => accounts.get(key) ?? addFound(reader.of(key)),
      find(id) {
        if (missing.has(id)) return undefined;
        const account = accounts.get(keys.get(id) ?? 0) ?? addFound(reader.find(id));
        if (account === undefined) missing.add(id);
        return account;
      },
      write,
      enter(entry) {
        if (entry.amountMicro !== 0) entries.push({ requestId: null, note: '', reference: null, ...entry });
      },
    },
    noteUsage: (closed) => addUsage(closed, 1),
    takeBackUsage: (closed) => addUsage(closed, -1),
    flush() {
      const changes: UnitChanges = {
        accounts: [...changed].flatMap((key) => accounts.get(key) ?? []),
        entries,
        sums: sorted(usage),
        groupSums: sorted(groupUsage),
      };
      for (const page of [accounts, keys, missing, changed, usage, groupUsage]) page.clear();
      entries = [];
      return changes;
    },
  };
}

function sorted<Row>(rows: ReadonlyMap<string, Row>): readonly Row[] {
  if (rows.size < 2) return [...rows.values()];
  return [...rows.entries()].sort(([one], [other]) => (one < other ? -1 : 1)).map(([, row]) => row);
}

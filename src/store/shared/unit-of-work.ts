import type { KeyId } from '../../contract/ids.ts';
import type { Funds } from './funds.ts';
import type { RateCounts } from '../../core/money/rates.ts';
import type { Account, EntryRow, Funding } from './charges.ts';
import type { RecordRow } from './rows.ts';
import { addSums, toUsageSum, type UsageSumRow } from './usage-rows.ts';

/**
 * The funds of some keys, their ledger and the usage inside one transaction: read once, changed in memory, and written at
 * the end. What many requests of one key do to it is then one change of its row, and one of its usage.
 */
export interface UnitOfWork {
  readonly funding: Funding;
  readonly noteUsage: (closed: RecordRow) => void;
  /** An account as it was read in this transaction. */
  keep(account: Account): Account;
  /** What is to be written, and in this order; the books are empty then. */
  close(): Balance;
}

export interface Balance {
  readonly accounts: readonly Account[];
  readonly entries: readonly EntryRow[];
  /** In one order, whoever writes them. */
  readonly sums: readonly UsageSumRow[];
}

/** Reads an account that is not in the books yet. Undefined when there is no such key. */
export interface AccountReader {
  of(key: number): Account | undefined;
  find(keyId: KeyId): Account | undefined;
}

/** Opens books with nothing in them. */
export function openUnitOfWork(reader: AccountReader): UnitOfWork {
  const accounts = new Map<number, Account>();
  const keys = new Map<KeyId, number>();
  const changed = new Set<number>();
  const usage = new Map<string, UsageSumRow>();
  let entries: EntryRow[] = [];

  function keep(account: Account): Account {
    accounts.set(account.seq, account);
    keys.set(account.keyId, account.seq);
    return account;
  }

  function keepFound(account: Account | undefined): Account | undefined {
    return account && keep(account);
  }

  function change(key: number, part: Funds | RateCounts): void {
    const account = accounts.get(key);
    if (account === undefined) throw new Error('the funds of a key were changed that is not in the books');
    accounts.set(key, { ...account, ...part });
    changed.add(key);
  }

  return {
    keep,
    funding: {
      of: (key) => accounts.get(key) ?? keepFound(reader.of(key)),
      find: (keyId) => accounts.get(keys.get(keyId) ?? 0) ?? keepFound(reader.find(keyId)),
      write: change,
      count: change,
      enter(entry) {
        if (entry.amountMicro !== 0) entries.push({ requestId: null, note: '', reference: null, ...entry });
      },
    },
    noteUsage(closed) {
      const sum = toUsageSum(closed);
      // A caller is an HMAC or the id of a key, so it has no space in it.
      const place = `${sum.startHour} ${sum.caller} ${sum.model}`;
      const earlier = usage.get(place);
      usage.set(place, earlier === undefined ? sum : addSums(earlier, sum));
    },
    close() {
      const balance = {
        accounts: [...changed].flatMap((key) => accounts.get(key) ?? []),
        entries,
        sums: [...usage.entries()].sort(([one], [other]) => (one < other ? -1 : 1)).map(([, sum]) => sum),
      };
      for (const page of [accounts, keys, changed, usage]) page.clear();
      entries = [];
      return balance;
    },
  };
}

import type { AccountId } from '../contract/ids.ts';
import { SPEND_WINDOWS } from '../core/money/limits.ts';
import type { AccountSpending } from '../core/books/alerts.ts';
import type { Store } from '../core/books/store.ts';
import type { GroupReading, ReachedReading } from '../telemetry/instruments.ts';
import { percentOf, reachedBy, spendingOf, type Spending } from './spending.ts';

export interface AccountWatch {
  /** Reads all groups, and the keys that have reached a threshold. */
  look(): Promise<void>;
  /** A request was refused because less was left than it could cost. */
  readonly noteRefusal: (accountId: AccountId, of: 'credits' | 'spend') => void;
  /** As the last look found them. */
  readonly groups: readonly GroupReading[];
  readonly reached: readonly ReachedReading[];
}

export interface AccountWatchOptions {
  readonly store: Store;
  /**
   * Is called once for each level that an account reaches in a period. Returns whether it could be
   * taken; otherwise it is called again at the next look.
   */
  readonly onReached: (reached: Reached) => Promise<boolean>;
}

export interface Reached {
  readonly account: AccountSpending;
  readonly spending: Spending;
  /** The highest of the thresholds. */
  readonly level: number;
}

/** The shares of funds and limits, in percent, that are told once each: time to act, little time, none. */
const THRESHOLDS = [80, 95, 100] as const;
const [LOWEST, , HIGHEST] = THRESHOLDS;
const PAGE = 500;
const MAX_ACCOUNTS = 10_000;
const MAX_REFUSALS = 1000;

export function watchAccounts({ store, onReached }: AccountWatchOptions): AccountWatch {
  /** Until a look has told of them. */
  const refusals = new Set<string>();
  /** By account and kind, of the accounts that the last look found. */
  let known = new Map<string, { readonly period: string; readonly level: number }>();
  let groups: readonly GroupReading[] = [];
  let reached: readonly ReachedReading[] = [];

  async function look(): Promise<void> {
    const refused = new Set(refusals);
    const found: typeof known = new Map();
    const readings: GroupReading[] = [];
    const levels: ReachedLevel[] = [];

    // All groups are shown, while keys are far too many for that.
    for await (const account of accountsOf('groups', 0)) {
      for (const { of, usedMicro, limitMicro } of spendingOf(account)) {
        readings.push({ group: account.name, of, ratio: usedMicro / limitMicro });
      }
      await note('group', account);
    }
    for await (const account of accountsOf('keys', LOWEST)) await note('key', account);
    [known, groups, reached] = [found, readings, countReached(levels)];
    for (const refusal of refused) refusals.delete(refusal);

    async function note(kind: ReachedReading['account'], account: AccountSpending): Promise<void> {
      const all = spendingOf(account);
      for (const spending of all) {
        const { of, period } = spending;
        const key = `${account.id} ${of}`;
        const last = known.get(key);
        const before = last?.period === period ? last.level : 0;
        const now = levelOf(spending, refused.has(refusalOf(account.id, of)) && isFullest(spending, all));
        if (now === undefined) continue;
        // A refusal counts until the period ends.
        const level = Math.max(now, before);
        levels.push({ account: kind, of, level });
        const isKnown = level === before || (await onReached({ account, spending, level }));
        if (!isKnown) refused.delete(refusalOf(account.id, of));
        if (isKnown || before > 0) found.set(key, { period, level: isKnown ? level : before });
      }
    }
  }

  async function* accountsOf(of: 'keys' | 'groups', percent: number): AsyncGenerator<AccountSpending> {
    let beforeSeq: number | undefined;
    for (let read = 0; read < MAX_ACCOUNTS; read += PAGE) {
      const page = await store.listSpending({
        of,
        percent,
        limit: PAGE,
        ...(beforeSeq !== undefined && { beforeSeq }),
      });
      yield* page;
      beforeSeq = page.at(-1)?.seq;
      if (page.length < PAGE) return;
    }
  }

  /** What is left may be too little for any request, so a refusal counts as all used. */
  function levelOf(spending: Spending, isRefused: boolean): number | undefined {
    const level = reachedBy(spending, THRESHOLDS);
    return level !== undefined && isRefused ? HIGHEST : level;
  }

  return {
    look,
    noteRefusal(accountId, of) {
      if (refusals.size < MAX_REFUSALS) refusals.add(refusalOf(accountId, of));
    },
    get groups() {
      return groups;
    },
    get reached() {
      return reached;
    },
  };
}

/** A refusal does not say whether it was for the day, the week or the month. */
function refusalOf(accountId: AccountId, of: Spending['of'] | 'spend'): string {
  return `${accountId} ${of === 'credits' ? 'credits' : 'spend'}`;
}

/** Of the spend limits the one counts of which the largest share is used. */
function isFullest(spending: Spending, all: readonly Spending[]): boolean {
  if (spending.of === 'credits') return true;
  return all.every((other) => other.of === 'credits' || percentOf(other) <= percentOf(spending));
}

/** What nobody has reached is shown as 0. */
function countReached(all: readonly ReachedLevel[]): readonly ReachedReading[] {
  const kinds = ['credits', ...SPEND_WINDOWS.map(({ per }) => per)] as const;
  return (['group', 'key'] as const).flatMap((account) =>
    kinds.flatMap((of) => {
      const levels = all.filter((one) => one.account === account && one.of === of);
      return THRESHOLDS.map((threshold) => {
        return { account, of, threshold, count: levels.filter(({ level }) => level >= threshold).length };
      });
    }),
  );
}

interface ReachedLevel extends Pick<ReachedReading, 'account' | 'of'> {
  readonly level: number;
}

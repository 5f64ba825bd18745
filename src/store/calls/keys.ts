import type { AccountId, GroupId, KeyId } from '../../contract/ids.ts';
import type { Calendar } from '../calendar.ts';
import { ApiError } from '../../core/errors.ts';
import { WHOLE_GATEWAY } from '../../core/ids.ts';
import type {
  AccountStore,
  CalendarDay,
  CreditEntry,
  KeyDraft,
  LedgerPage,
  LedgerQuery,
  StoredGroup,
  StoredKey,
} from '../../core/books/keys.ts';
import { checkAmount } from '../book/funds.ts';
import type { LedgerCursor } from '../book/ledger.ts';
import type { RateStanding } from '../../core/money/rates.ts';
import {
  toGroupDraftRow,
  toKeyDraftRow,
  toStoredGroup,
  toStoredKey,
  type Conflict,
  type GroupRow,
  type KeyRow,
} from '../rows/keys.ts';
import type { CallOptions, BatchQueue } from '../queue/batch-queue.ts';
import { readNet } from './net-ledger.ts';
import { toPage } from './pages.ts';
import { listUsage, listUsageTotals, rollUpUsage } from './usage.ts';

const LOOKUP: CallOptions = { isLookup: true };

export function createAccountCalls(queue: BatchQueue, clock: () => number, calendar: Calendar): AccountStore {
  const today = (): CalendarDay => calendar.at(clock());

  async function toKeys(rows: readonly KeyRow[]): Promise<readonly StoredKey[]> {
    const groupIds = [...new Set(rows.flatMap(toGroupIds))];
    const found = groupIds.length === 0 ? [] : await queue.call(['findGroups', groupIds], LOOKUP);
    const groups = new Map(found.map((group) => [group.groupId, group]));
    const day = today();
    return rows.map((row) => toStoredKey(row, groups, day));
  }

  async function toKey(row: KeyRow | null): Promise<StoredKey | undefined> {
    return row === null ? undefined : (await toKeys([row]))[0];
  }

  const toGroup = (row: GroupRow | undefined | null) => (row ? toStoredGroup(row, today()) : undefined);

  async function createKeys(drafts: readonly KeyDraft[]): Promise<readonly StoredKey[]> {
    for (const { creditsMicro } of drafts) if (creditsMicro !== null) checkAmount(creditsMicro);
    const undo = ['deleteKeys', drafts.map(({ keyId }) => keyId)] as const;
    const rows = await queue.call(['createKeys', drafts.map(toKeyDraftRow)], { undo });
    return toKeys(refuseConflict('key', rows));
  }

  async function findKey(keyId: KeyId): Promise<StoredKey | undefined> {
    return toKey(await queue.call(['findKey', keyId], LOOKUP));
  }

  async function findGroup(groupId: GroupId): Promise<StoredGroup | undefined> {
    return toGroup((await queue.call(['findGroups', [groupId]], LOOKUP))[0]);
  }

  async function credit(accountId: AccountId, entry: CreditEntry): Promise<boolean> {
    if (entry.amountMicro === 0 && entry.isEnd !== true)
      throw new RangeError('an entry of the ledger must have an amount');
    checkAmount(entry.kind === 'grant' ? entry.amountMicro : Math.abs(entry.amountMicro));
    const credited = await queue.call(['credit', accountId, entry]);
    if (credited !== 'repeated') return credited !== null;
    throw new ApiError('duplicate_request', {
      param: 'reference',
      message: 'The ledger has an entry with this reference already; nothing was added.',
    });
  }

  async function listLedger(accountId: AccountId, query: LedgerQuery): Promise<LedgerPage | undefined> {
    const { limit, beforeSeq = Number.MAX_SAFE_INTEGER, isNet = false } = query;
    const read = (cursor: LedgerCursor, count: number) => queue.call(['listLedger', accountId, cursor, count], LOOKUP);
    const found = await (isNet ? readNet(read, beforeSeq, limit + 1) : read({ beforeSeq }, limit + 1));
    if (found === null) return undefined;
    const { rows, hasMore } = toPage(found, limit);
    return { entries: rows, hasMore };
  }

  return {
    async createKey(draft) {
      const [key] = await createKeys([draft]);
      if (key === undefined) throw new Error('a key that was made was not returned');
      return key;
    },
    createKeys,
    async findKeyByHash(hash, mark) {
      const found = await queue.call(['findKeyByHash', hash, clock()], LOOKUP);
      if (found === null) return undefined;
      const isKept = found.hash === hash[0] && (mark === undefined || found.key.mark === mark);
      // The next lookup retries it.
      if (!isKept) void queue.call(['rehashKey', found.hash, hash[0], mark ?? null]).catch(() => undefined);
      return toKey(found.key);
    },
    findKey,
    async listKeys({ limit, after, name, groupId, search, isOfPreviousSecret = false }) {
      const isOfPrevious = isOfPreviousSecret ? (1 as const) : (0 as const);
      const filter = {
        name: name ?? null,
        groupId: groupId ?? null,
        search: search?.toLowerCase() ?? null,
        isOfPrevious,
      };
      const found = await queue.call(['listKeys', limit + 1, after ?? null, filter], LOOKUP);
      if (found === null) return undefined;
      const { rows, hasMore } = toPage(found, limit);
      return { keys: await toKeys(rows), hasMore };
    },
    async updateKey(keyId, change) {
      return toKey(refuseConflict('key', await queue.call(['updateKey', keyId, change])));
    },
    async rotateKey(keyId, { hash, mark, prefix }, formerUntilMs) {
      return toKey(await queue.call(['rotateKey', keyId, hash[0], mark ?? null, prefix, formerUntilMs]));
    },
    deleteKey: async (keyId) => (await queue.call(['deleteKeys', [keyId]])) === 1,
    credit: async (keyId, entry) => ((await credit(keyId, entry)) ? findKey(keyId) : undefined),
    listLedger,
    async createGroup(draft) {
      if (draft.creditsMicro !== null) checkAmount(draft.creditsMicro);
      // That of all keys has always one id, so what would be deleted may have been made before, or again.
      const care: CallOptions = draft.groupId === WHOLE_GATEWAY ? {} : { undo: ['deleteGroup', draft.groupId] };
      const row = refuseConflict('group', await queue.call(['createGroup', toGroupDraftRow(draft), today()], care));
      return toStoredGroup(row, today());
    },
    findGroup,
    async listGroups({ limit, after, name, search }) {
      const filter = { name: name ?? null, search: search?.toLowerCase() ?? null };
      const found = await queue.call(['listGroups', limit + 1, after ?? null, filter], LOOKUP);
      if (found === null) return undefined;
      const { rows, hasMore } = toPage(found, limit);
      const day = today();
      return { groups: rows.map((row) => toStoredGroup(row, day)), hasMore };
    },
    async updateGroup(groupId, change) {
      return toGroup(refuseConflict('group', await queue.call(['updateGroup', groupId, change])));
    },
    async deleteGroup(groupId) {
      return (await queue.call(['deleteGroup', groupId])) ?? undefined;
    },
    creditGroup: async (groupId, entry) => ((await credit(groupId, entry)) ? findGroup(groupId) : undefined),
    listGroupLedger: listLedger,
    listUsage: (query, signal) => listUsage(queue, query, signal),
    listUsageTotals: (query, signal) => listUsageTotals(queue, query, signal),
    rollUpUsage: () => rollUpUsage(queue, clock()),
    async takeRate(keyId, tokens) {
      checkAmount(tokens);
      const { refused, ofGroup, rates } = await queue.call(['takeRate', keyId, tokens, clock()]);
      return { ...(refused !== null && { refused }), ...(ofGroup !== null && { ofGroup }), ...toRates(rates) };
    },
    async findRate(accountId) {
      return toRates(await queue.call(['findRate', accountId, clock()], LOOKUP)).rates;
    },
    async rememberAccepted(caller, atMs) {
      await queue.call(['rememberAccepted', caller, atMs]);
    },
    listAccepted: (sinceMs) => queue.call(['listAccepted', sinceMs], LOOKUP),
  };
}

function toGroupIds({ groupId, isCapped }: KeyRow): readonly GroupId[] {
  return [...(groupId === null ? [] : [groupId]), ...(isCapped === 1 ? [WHOLE_GATEWAY] : [])];
}

/** Returns an object to spread; empty for a key without limits per minute. */
export function toRates(rates: RateStanding | null): { readonly rates?: RateStanding } {
  return rates === null ? {} : { rates };
}

function refuseConflict<Row>(what: 'key' | 'group', result: Row | Conflict): Row {
  if (result === 'name taken') {
    throw new ApiError('duplicate_request', { param: 'name', message: `There is a ${what} with this name already.` });
  }
  if (result === 'no group') throw new ApiError('not_found', { param: 'group', message: 'There is no such group.' });
  return result;
}

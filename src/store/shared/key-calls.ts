import type { AccountId, GroupId, KeyId } from '../../contract/ids.ts';
import { ApiError } from '../../core/errors.ts';
import type { StopSignal } from '../../core/stop-signal.ts';
import type {
  AccountStore,
  CreditEntry,
  LedgerPage,
  LedgerQuery,
  StoredGroup,
  StoredKey,
  UsageQuery,
  UsageRow,
} from '../keys.ts';
import { checkAmount } from './funds.ts';
import type { RateStanding } from '../../core/money/rates.ts';
import { HOUR_MS } from '../../core/time.ts';
import {
  toGroupDraftRow,
  toKeyDraftRow,
  toStoredGroup,
  toStoredKey,
  type Conflict,
  type GroupRow,
  type KeyRow,
} from './key-rows.ts';
import type { CallOptions, BatchQueue } from './batch-queue.ts';
import { toPage } from './pages.ts';
import { addSums, toUsageRow } from './usage-rows.ts';

const LOOKUP: CallOptions = { isLookup: true };
const LIST: CallOptions = { isLookup: true, isList: true };

/** Returns the calls about keys, groups, credits and usage. */
export function createAccountCalls(queue: BatchQueue, clock: () => number): AccountStore {
  async function toKeys(rows: readonly KeyRow[]): Promise<readonly StoredKey[]> {
    const groupIds = [...new Set(rows.flatMap(({ groupId }) => groupId ?? []))];
    const found = groupIds.length === 0 ? [] : await queue.call(['findGroups', groupIds], LOOKUP);
    const groups = new Map(found.map((group) => [group.groupId, group]));
    const nowMs = clock();
    return rows.map((row) => toStoredKey(row, row.groupId === null ? undefined : groups.get(row.groupId), nowMs));
  }

  async function toKey(row: KeyRow | null): Promise<StoredKey | undefined> {
    return row === null ? undefined : (await toKeys([row]))[0];
  }

  const toGroup = (row: GroupRow | undefined | null) => (row ? toStoredGroup(row, clock()) : undefined);

  async function findKey(keyId: KeyId): Promise<StoredKey | undefined> {
    return toKey(await queue.call(['findKey', keyId], LOOKUP));
  }

  async function findGroup(groupId: GroupId): Promise<StoredGroup | undefined> {
    return toGroup((await queue.call(['findGroups', [groupId]], LOOKUP))[0]);
  }

  async function credit(accountId: AccountId, entry: CreditEntry): Promise<boolean> {
    if (entry.amountMicro === 0) throw new RangeError('an entry of the ledger must have an amount');
    checkAmount(entry.kind === 'grant' ? entry.amountMicro : Math.abs(entry.amountMicro));
    const credited = await queue.call(['credit', accountId, entry]);
    if (credited !== 'repeated') return credited !== null;
    throw new ApiError('duplicate_request', {
      param: 'reference',
      message: 'The ledger has an entry with this reference already; nothing was added.',
    });
  }

  async function listLedger(accountId: AccountId, query: LedgerQuery): Promise<LedgerPage | undefined> {
    const { limit, beforeSeq = Number.MAX_SAFE_INTEGER } = query;
    const found = await queue.call(['listLedger', accountId, beforeSeq, limit + 1], LOOKUP);
    if (found === null) return undefined;
    const { rows, hasMore } = toPage(found, limit);
    return { entries: rows, hasMore };
  }

  return {
    async createKey(draft) {
      if (draft.creditsMicro !== null) checkAmount(draft.creditsMicro);
      const undo = ['deleteKey', draft.keyId] as const;
      const row = refuseConflict('key', await queue.call(['createKey', toKeyDraftRow(draft)], { undo }));
      const [key] = await toKeys([row]);
      if (key === undefined) throw new Error('a key that was made was not returned');
      return key;
    },
    async findKeyByHash(hash) {
      const found = await queue.call(['findKeyByHash', hash, clock()], LOOKUP);
      if (found === null) return undefined;
      // The next lookup retries it.
      if (found.hash !== hash[0]) void queue.call(['rehashKey', found.hash, hash[0]]).catch(() => undefined);
      return toKey(found.key);
    },
    findKey,
    async listKeys({ limit, after, name, groupId, search }) {
      const filter = { name: name ?? null, groupId: groupId ?? null, search: search?.toLowerCase() ?? null };
      const found = await queue.call(['listKeys', limit + 1, after ?? null, filter], LOOKUP);
      if (found === null) return undefined;
      const { rows, hasMore } = toPage(found, limit);
      return { keys: await toKeys(rows), hasMore };
    },
    async updateKey(keyId, change) {
      return toKey(refuseConflict('key', await queue.call(['updateKey', keyId, change])));
    },
    async rotateKey(keyId, { hash, prefix }, formerUntilMs) {
      return toKey(await queue.call(['rotateKey', keyId, hash[0], prefix, formerUntilMs]));
    },
    deleteKey: (keyId) => queue.call(['deleteKey', keyId]),
    credit: async (keyId, entry) => ((await credit(keyId, entry)) ? findKey(keyId) : undefined),
    listLedger,
    async createGroup(draft) {
      if (draft.creditsMicro !== null) checkAmount(draft.creditsMicro);
      const undo = ['deleteGroup', draft.groupId] as const;
      const row = refuseConflict('group', await queue.call(['createGroup', toGroupDraftRow(draft)], { undo }));
      return toStoredGroup(row, clock());
    },
    findGroup,
    async listGroups({ limit, after, name }) {
      const found = await queue.call(['listGroups', limit + 1, after ?? null, name ?? null], LOOKUP);
      if (found === null) return undefined;
      const { rows, hasMore } = toPage(found, limit);
      const nowMs = clock();
      return { groups: rows.map((row) => toStoredGroup(row, nowMs)), hasMore };
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
    async takeRate(keyId, tokens) {
      checkAmount(tokens);
      const { refused, ofGroup, rates } = await queue.call(['takeRate', keyId, tokens, clock()]);
      return { ...(refused !== null && { refused }), ...(ofGroup && { ofGroup }), ...toRates(rates) };
    },
    async correctRate(accountIds, minute, tokens) {
      checkAmount(Math.abs(tokens));
      await queue.call(['correctRate', accountIds, minute, tokens]);
    },
    async findRate(accountId) {
      return toRates(await queue.call(['findRate', accountId, clock()], LOOKUP)).rates;
    },
    async rememberAccepted(caller, atMs) {
      await queue.call(['rememberAccepted', caller, atMs]);
    },
    listAccepted: () => queue.call(['listAccepted'], LOOKUP),
  };
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

/** Other calls wait for one step, and all callers together have many rows. */
const STEP_HOURS = { all: 24, own: 24 * 31 };

async function listUsage(
  queue: BatchQueue,
  { caller, group, fromMs, untilMs, per }: UsageQuery,
  signal: StopSignal | undefined,
): Promise<readonly UsageRow[]> {
  const known = await queue.call(['findUsageSpan'], LOOKUP);
  const firstHour = Math.max(known.from, Math.floor(fromMs / HOUR_MS));
  const endHour = Math.min(known.until, Math.ceil(untilMs / HOUR_MS));
  const isOwn = caller !== undefined || (group !== undefined && group !== 'any');
  const stepHours = isOwn ? STEP_HOURS.own : STEP_HOURS.all;
  const sums = new Map<string, UsageRow>();
  for (let from = firstHour; from < endHour; from += stepHours) {
    const span = { from, until: Math.min(from + stepHours, endHour) };
    const takeSums =
      group === undefined
        ? (caller ?? [null]).map((name) => () => queue.call(['sumUsage', name, per, span], LIST))
        : [() => queue.call(['sumGroupUsage', group === 'any' ? null : group, per, span], LIST)];
    for (const take of takeSums) {
      signal?.throwIfAborted();
      for (const found of await take()) {
        const row = toUsageRow(found, caller?.[0]);
        const place = JSON.stringify([row.startMs, row.groupId, row.caller, row.model]);
        const sum = sums.get(place);
        sums.set(place, sum === undefined ? row : addSums(sum, row));
      }
    }
  }
  return [...sums.values()].sort((one, other) => one.startMs - other.startMs);
}

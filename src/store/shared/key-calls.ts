import { ApiError } from '../../core/errors.ts';
import type { StopSignal } from '../../core/stop-signal.ts';
import type { AccountStore, StoredKey, UsageQuery, UsageRow } from '../keys.ts';
import { checkAmount } from './funds.ts';
import type { RateStanding } from '../../core/money/rates.ts';
import { HOUR_MS } from '../../core/time.ts';
import { toKeyDraftRow, toStoredKey, type KeyRow } from './key-rows.ts';
import type { CallOptions, BatchQueue } from './batch-queue.ts';
import { toPage } from './pages.ts';
import { addSums, toUsageRow } from './usage-rows.ts';

const LOOKUP: CallOptions = { isLookup: true };
const LIST: CallOptions = { isLookup: true, isList: true };

/** Returns the calls about keys, credits and usage. */
export function createAccountCalls(queue: BatchQueue, clock: () => number): AccountStore {
  const toFound = (row: KeyRow | null): StoredKey | undefined => (row === null ? undefined : toStoredKey(row, clock()));

  return {
    async createKey(draft) {
      if (draft.creditsMicro !== null) checkAmount(draft.creditsMicro);
      const undo = ['deleteKey', draft.keyId] as const;
      return toStoredKey(await queue.call(['createKey', toKeyDraftRow(draft)], { undo }), clock());
    },
    async findKeyByHash(hash) {
      const found = await queue.call(['findKeyByHash', hash, clock()], LOOKUP);
      if (found === null) return undefined;
      // The next lookup retries it.
      if (found.hash !== hash[0]) void queue.call(['rehashKey', found.hash, hash[0]]).catch(() => undefined);
      return toStoredKey(found.key, clock());
    },
    async findKey(keyId) {
      return toFound(await queue.call(['findKey', keyId], LOOKUP));
    },
    async listKeys({ limit, after }) {
      const found = await queue.call(['listKeys', limit + 1, after ?? null], LOOKUP);
      if (found === null) return undefined;
      const { rows, hasMore } = toPage(found, limit);
      const nowMs = clock();
      return { keys: rows.map((row) => toStoredKey(row, nowMs)), hasMore };
    },
    async updateKey(keyId, change) {
      return toFound(await queue.call(['updateKey', keyId, change]));
    },
    async rotateKey(keyId, { hash, prefix }, formerUntilMs) {
      return toFound(await queue.call(['rotateKey', keyId, hash[0], prefix, formerUntilMs]));
    },
    deleteKey: (keyId) => queue.call(['deleteKey', keyId]),
    async credit(keyId, entry) {
      if (entry.amountMicro === 0) throw new RangeError('an entry of the ledger must have an amount');
      checkAmount(entry.kind === 'grant' ? entry.amountMicro : Math.abs(entry.amountMicro));
      const row = await queue.call(['credit', keyId, entry]);
      if (row !== 'repeated') return toFound(row);
      throw new ApiError('duplicate_request', {
        param: 'reference',
        message: 'The key has an entry with this reference already; nothing was added.',
      });
    },
    async listLedger(keyId, { limit, beforeSeq = Number.MAX_SAFE_INTEGER }) {
      const found = await queue.call(['listLedger', keyId, beforeSeq, limit + 1], LOOKUP);
      if (found === null) return undefined;
      const { rows, hasMore } = toPage(found, limit);
      return { entries: rows, hasMore };
    },
    listUsage: (query, signal) => listUsage(queue, query, signal),
    async takeRate(keyId, tokens) {
      checkAmount(tokens);
      const { refused, rates } = await queue.call(['takeRate', keyId, tokens, clock()]);
      return { ...(refused !== null && { refused }), ...toRates(rates) };
    },
    async correctRate(keyId, minute, tokens) {
      checkAmount(Math.abs(tokens));
      await queue.call(['correctRate', keyId, minute, tokens]);
    },
    async findRate(keyId) {
      return toRates(await queue.call(['findRate', keyId, clock()], LOOKUP)).rates;
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

/** Other calls wait for one step, and all callers together have many rows. */
const STEP_HOURS = { all: 24, own: 24 * 31 };

async function listUsage(
  queue: BatchQueue,
  { caller, fromMs, untilMs, per }: UsageQuery,
  signal: StopSignal | undefined,
): Promise<readonly UsageRow[]> {
  const known = await queue.call(['findUsageSpan'], LOOKUP);
  const firstHour = Math.max(known.from, Math.floor(fromMs / HOUR_MS));
  const endHour = Math.min(known.until, Math.ceil(untilMs / HOUR_MS));
  const stepHours = caller === undefined ? STEP_HOURS.all : STEP_HOURS.own;
  const sums = new Map<string, UsageRow>();
  for (let from = firstHour; from < endHour; from += stepHours) {
    const span = { from, until: Math.min(from + stepHours, endHour) };
    for (const name of caller ?? [null]) {
      signal?.throwIfAborted();
      for (const found of await queue.call(['sumUsage', name, per, span], LIST)) {
        const row = toUsageRow(found, caller?.[0]);
        const place = JSON.stringify([row.startMs, row.caller, row.model]);
        const sum = sums.get(place);
        sums.set(place, sum === undefined ? row : addSums(sum, row));
      }
    }
  }
  return [...sums.values()].sort((one, other) => one.startMs - other.startMs);
}

import { formatAmount, parseAmount, parseSignedAmount } from '../core/money/decimal.ts';
import { ApiError } from '../core/errors.ts';
import type { KeyId } from '../contract/ids.ts';
import type { AccountStore, KeyLimits, LedgerEntry, LedgerQuery, StoredKey } from '../store/keys.ts';
import type { Identity } from '../identity/identities.ts';
import type {
  AdminKey,
  IssuedKey,
  KeyDeleted,
  KeyLimitsChange,
  KeyList,
  Ledger,
  LedgerItem,
} from '../contract/types.ts';
import { checkCreateKey, checkCreditKey, checkRotateKey, checkUpdateKey } from './admin-bodies.ts';
import { issueSecret } from './keys.ts';

/** Throws ApiError that names the field of a wrong body, and `not_found` without such a key. */
export interface Administration {
  createKey(body: unknown): Promise<IssuedKey>;
  /** Returns the keys after the key `after`, newest first. */
  listKeys(query: { readonly limit: number; readonly after?: KeyId }): Promise<KeyList>;
  showKey(keyId: KeyId): Promise<AdminKey>;
  updateKey(keyId: KeyId, body: unknown): Promise<AdminKey>;
  /** The former secret stays valid for the grace period of the body. */
  rotateKey(keyId: KeyId, body: unknown): Promise<IssuedKey>;
  deleteKey(keyId: KeyId): Promise<KeyDeleted>;
  /** Throws ApiError `duplicate_request` when the reference is taken. */
  creditKey(keyId: KeyId, body: unknown): Promise<AdminKey>;
  showLedger(keyId: KeyId, query: LedgerQuery): Promise<Ledger>;
}

export interface AdministrationOptions {
  readonly accounts: AccountStore;
  readonly toHash: (secret: string) => Identity;
  readonly newKeyId: () => KeyId;
  readonly nowMs: () => number;
}

/** Returns the functions that manage keys in this store. */
export function createAdministration({ accounts, toHash, newKeyId, nowMs }: AdministrationOptions): Administration {
  const show = (key: StoredKey): AdminKey => toAdminKey(key, nowMs());

  return {
    async createKey(body) {
      const { name, expires_at, models = null, limits = {}, credits = null } = checkCreateKey(body);
      const { text, kept } = issueSecret(toHash);
      const key = await accounts.createKey({
        keyId: newKeyId(),
        groupId: null,
        secret: kept,
        name,
        createdAtMs: nowMs(),
        expiresAtMs: toMs(expires_at ?? null),
        models,
        limits: { ...NO_LIMITS, ...toLimits(limits) },
        creditsMicro: toMicro(credits),
      });
      return { ...show(key), secret: text };
    },
    async listKeys(query) {
      const page = await accounts.listKeys(query);
      if (page === undefined) throw new ApiError('not_found', { param: 'after', message: 'There is no key "after".' });
      return { object: 'list', data: page.keys.map(show), has_more: page.hasMore };
    },
    async showKey(keyId) {
      return show(found(await accounts.findKey(keyId)));
    },
    async updateKey(keyId, body) {
      const { name, disabled, expires_at, models, limits } = checkUpdateKey(body);
      const key = await accounts.updateKey(keyId, {
        ...(name !== undefined && { name }),
        ...(disabled !== undefined && { isDisabled: disabled }),
        ...(expires_at !== undefined && { expiresAtMs: toMs(expires_at) }),
        ...(models !== undefined && { models }),
        ...(limits !== undefined && { limits: toLimits(limits) }),
      });
      return show(found(key));
    },
    async rotateKey(keyId, body) {
      const { grace_seconds: graceS = 0 } = checkRotateKey(body);
      const { text, kept } = issueSecret(toHash);
      const key = await accounts.rotateKey(keyId, kept, nowMs() + graceS * 1000);
      return { ...show(found(key)), secret: text };
    },
    async deleteKey(keyId) {
      if (!(await accounts.deleteKey(keyId))) throw unknownKey();
      return { object: 'key', id: keyId, deleted: true };
    },
    async creditKey(keyId, body) {
      const { kind = 'grant', amount, note = '', reference } = checkCreditKey(body);
      const amountMicro = parseSignedAmount(amount) ?? 0;
      if (kind === 'grant' && amountMicro < 0) {
        throw wrongAmount('amount must be positive in a grant; use an adjustment to take credits away.');
      }
      const entry = { kind, amountMicro, note, createdAtMs: nowMs(), ...(reference !== undefined && { reference }) };
      return show(found(await accounts.credit(keyId, entry).catch(explainRange)));
    },
    async showLedger(keyId, query) {
      const page = found(await accounts.listLedger(keyId, query));
      return { object: 'list', data: page.entries.map(toLedgerItem), has_more: page.hasMore };
    },
  };
}

const NO_LIMITS: KeyLimits = {
  requestsPerMinute: null,
  tokensPerMinute: null,
  spendPerDayMicro: null,
  spendPerMonthMicro: null,
};

function toLimits(limits: KeyLimitsChange): Partial<KeyLimits> {
  const { requests_per_minute, tokens_per_minute, spend_per_day, spend_per_month } = limits;
  return {
    ...(requests_per_minute !== undefined && { requestsPerMinute: requests_per_minute }),
    ...(tokens_per_minute !== undefined && { tokensPerMinute: tokens_per_minute }),
    ...(spend_per_day !== undefined && { spendPerDayMicro: toMicro(spend_per_day) }),
    ...(spend_per_month !== undefined && { spendPerMonthMicro: toMicro(spend_per_month) }),
  };
}

/** The pattern in the schema admits amounts only. */
function toMicro(amount: string | null): number | null {
  return amount === null ? null : (parseAmount(amount) ?? null);
}

function toMs(seconds: number | null): number | null {
  return seconds === null ? null : seconds * 1000;
}

function found<Value>(value: Value | undefined): Value {
  if (value === undefined) throw unknownKey();
  return value;
}

function unknownKey(): ApiError {
  return new ApiError('not_found', { message: 'There is no key with this id.' });
}

function wrongAmount(message: string): ApiError {
  return new ApiError('invalid_request', { param: 'amount', message });
}

function explainRange(error: unknown): never {
  throw error instanceof RangeError ? wrongAmount('amount would make the balance too large.') : error;
}

function toAdminKey(key: StoredKey, nowMs: number): AdminKey {
  const { limits, balanceMicro, formerUntilMs } = key;
  return {
    object: 'key',
    id: key.keyId,
    name: key.name,
    prefix: key.prefix,
    status: statusOf(key, nowMs),
    created_at: toSeconds(key.createdAtMs),
    expires_at: key.expiresAtMs === null ? null : toSeconds(key.expiresAtMs),
    former_secret_until: formerUntilMs === null || formerUntilMs <= nowMs ? null : toSeconds(formerUntilMs),
    models: key.models === null ? null : [...key.models],
    limits: {
      requests_per_minute: limits.requestsPerMinute,
      tokens_per_minute: limits.tokensPerMinute,
      spend_per_day: toAmount(limits.spendPerDayMicro),
      spend_per_month: toAmount(limits.spendPerMonthMicro),
    },
    balance: toAmount(balanceMicro),
    held: formatAmount(key.heldMicro),
    spent_today: formatAmount(key.spentTodayMicro),
    spent_this_month: formatAmount(key.spentThisMonthMicro),
  };
}

function statusOf({ isDisabled, expiresAtMs }: StoredKey, nowMs: number): AdminKey['status'] {
  if (isDisabled) return 'disabled';
  return expiresAtMs !== null && expiresAtMs <= nowMs ? 'expired' : 'active';
}

function toLedgerItem(entry: LedgerEntry): LedgerItem {
  return {
    object: 'ledger_entry',
    id: entry.seq,
    kind: entry.kind,
    amount: formatAmount(entry.amountMicro),
    request_id: entry.requestId,
    note: entry.note,
    reference: entry.reference,
    created_at: toSeconds(entry.createdAtMs),
  };
}

function toAmount(micro: number | null): string | null {
  return micro === null ? null : formatAmount(micro);
}

function toSeconds(ms: number): number {
  return Math.floor(ms / 1000);
}

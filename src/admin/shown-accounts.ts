/** The accounts of schemas/admin.json, and as the store has them. */

import { formatAmount, parseAmount, parseSignedAmount } from '../core/money/decimal.ts';
import { ApiError } from '../core/errors.ts';
import { toMs, toSeconds } from '../core/time.ts';
import { given } from '../core/given.ts';
import { recordOf } from '../core/map-values.ts';
import { LIMITS, RATE_LIMITS, SPEND_WINDOWS, type KeyLimits } from '../core/money/limits.ts';
import type {
  CreateGroup,
  AdminGroup,
  AdminKey,
  KeyLimitsChange,
  Ledger,
  LedgerItem,
  UpdateGroup,
} from '../contract/operator-types.ts';
import type {
  CreditEntry,
  GroupChange,
  LedgerEntry,
  LedgerPage,
  StoredAccount,
  StoredGroup,
  StoredKey,
} from '../core/books/keys.ts';
import { checkCreditKey } from './bodies.ts';

export function draftAccount(
  { name, expires_at, models = null, limits = {}, credits = null }: CreateGroup,
  createdAtMs: number,
) {
  return {
    name,
    createdAtMs,
    expiresAtMs: toMs(expires_at ?? null),
    models,
    limits: { ...NO_LIMITS, ...toLimits(limits) },
    creditsMicro: toMicro(credits),
  };
}

export function toEntry(body: unknown, createdAtMs: number): CreditEntry {
  const { kind = 'grant', amount, note = '', reference } = checkCreditKey(body);
  const amountMicro = parseSignedAmount(amount) ?? 0;
  if (kind === 'grant' && amountMicro < 0) {
    throw wrongAmount('amount must be positive in a grant; use an adjustment to take credits away.');
  }
  return { kind, amountMicro, note, createdAtMs, ...given({ reference }) };
}

export function toChange({ name, disabled, expires_at, models, limits }: UpdateGroup): GroupChange {
  const expiresAtMs = expires_at && toMs(expires_at);
  return given({ name, isDisabled: disabled, expiresAtMs, models, limits: limits && toLimits(limits) });
}

export function toLedger({ entries, hasMore }: LedgerPage): Ledger {
  return { object: 'list', data: entries.map(toLedgerItem), has_more: hasMore };
}

const NO_LIMITS: KeyLimits = recordOf(LIMITS, ({ limit }) => [limit, null]);

function toLimits(limits: KeyLimitsChange): Partial<KeyLimits> {
  return given({
    ...recordOf(RATE_LIMITS, ({ limit, wire }) => [limit, limits[wire]]),
    ...recordOf(SPEND_WINDOWS, ({ limit, wire }) => [limit, toMicro(limits[wire])]),
  });
}

/** The pattern in the schema admits amounts only. */
function toMicro<None extends null | undefined>(amount: string | None): number | null | None {
  return typeof amount === 'string' ? (parseAmount(amount) ?? null) : amount;
}

export function wrongAmount(message: string): ApiError {
  return new ApiError('invalid_request', { param: 'amount', message });
}

export function toAdminKey(key: StoredKey, nowMs: number): AdminKey {
  const { keyId, prefix, formerUntilMs, lastUsedAtMs, isOfPreviousSecret, group } = key;
  return {
    object: 'key',
    id: keyId,
    name: key.name,
    prefix,
    ...describeAccount(key, nowMs),
    group: group === null ? null : { id: group.groupId, name: group.name },
    former_secret_until: formerUntilMs === null || formerUntilMs <= nowMs ? null : toSeconds(formerUntilMs),
    last_used_at: lastUsedAtMs === null ? null : toSeconds(lastUsedAtMs),
    gateway_secret: isOfPreviousSecret ? 'previous' : 'current',
  };
}

export function toAdminGroup(group: StoredGroup, nowMs: number): AdminGroup {
  return {
    object: 'group',
    id: group.groupId,
    name: group.name,
    keys: group.keys,
    ...describeAccount(group, nowMs),
  };
}

function describeAccount(account: StoredAccount, nowMs: number) {
  const { limits, today } = account;
  return {
    status: statusOf(account, nowMs),
    created_at: toSeconds(account.createdAtMs),
    expires_at: account.expiresAtMs === null ? null : toSeconds(account.expiresAtMs),
    models: account.models === null ? null : [...account.models],
    limits: {
      ...recordOf(RATE_LIMITS, ({ limit, wire }) => [wire, limits[limit]]),
      ...recordOf(SPEND_WINDOWS, ({ limit, wire }) => [wire, toAmount(limits[limit])]),
    },
    balance: toAmount(account.balanceMicro),
    held: formatAmount(account.heldMicro),
    ...recordOf(SPEND_WINDOWS, ({ now, spent }) => [`spent_${now}`, formatAmount(account[spent])]),
    ...recordOf(SPEND_WINDOWS, ({ per }) => [`${per}_ends_at`, toSeconds(today[per].endsAtMs)]),
  };
}

function statusOf({ isDisabled, expiresAtMs }: StoredAccount, nowMs: number): AdminKey['status'] {
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

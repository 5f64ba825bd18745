import type { KeyId } from '../../contract/ids.ts';
import { isList, readJson } from '../../core/json.ts';
import type { KeyChange, KeyDraft, KeyLimits, StoredKey } from '../keys.ts';
import { spentAt, type Funds } from './funds.ts';

export interface KeyRow extends KeyLimits, Funds {
  readonly keyId: KeyId;
  readonly prefix: string;
  readonly name: string;
  readonly createdAtMs: number;
  readonly expiresAtMs: number | null;
  readonly isDisabled: 0 | 1;
  /** A list in JSON. */
  readonly models: string | null;
  readonly formerUntilMs: number | null;
}

export const KEY_COLUMNS = `key_id AS "keyId", prefix, name, created_at_ms AS "createdAtMs", expires_at_ms AS "expiresAtMs",
  is_disabled AS "isDisabled", models, requests_per_minute AS "requestsPerMinute",
  tokens_per_minute AS "tokensPerMinute", spend_per_day_micro AS "spendPerDayMicro",
  spend_per_month_micro AS "spendPerMonthMicro", former_until_ms AS "formerUntilMs", balance_micro AS "balanceMicro",
  held_micro AS "heldMicro", day, day_spent_micro AS "daySpentMicro", month, month_spent_micro AS "monthSpentMicro"`;

export interface FoundKeyRow {
  readonly hash: string;
  readonly key: KeyRow;
}

export interface KeyDraftRow extends KeyLimits {
  readonly keyId: KeyId;
  readonly hash: string;
  readonly prefix: string;
  readonly name: string;
  readonly createdAtMs: number;
  readonly expiresAtMs: number | null;
  readonly models: string | null;
  readonly creditsMicro: number | null;
}

export function toKeyDraftRow({ secret, limits, ...draft }: KeyDraft): KeyDraftRow {
  return { ...draft, ...limits, hash: secret.hash[0], prefix: secret.prefix, models: fromModels(draft.models) };
}

function fromModels(models: readonly string[] | null): string | null {
  return models === null ? null : JSON.stringify(models);
}

export const CHANGED_COLUMNS: { readonly [name: string]: (change: KeyChange) => string | number | null | undefined } = {
  name: (change) => change.name,
  is_disabled: (change) => (change.isDisabled === undefined ? undefined : Number(change.isDisabled)),
  expires_at_ms: (change) => change.expiresAtMs,
  models: (change) => (change.models === undefined ? undefined : fromModels(change.models)),
  requests_per_minute: (change) => change.limits?.requestsPerMinute,
  tokens_per_minute: (change) => change.limits?.tokensPerMinute,
  spend_per_day_micro: (change) => change.limits?.spendPerDayMicro,
  spend_per_month_micro: (change) => change.limits?.spendPerMonthMicro,
};

/** Returns the key as it is at this time. */
export function toStoredKey(row: KeyRow, nowMs: number): StoredKey {
  const { requestsPerMinute, tokensPerMinute, spendPerDayMicro, spendPerMonthMicro } = row;
  const spent = spentAt(row, nowMs);
  return {
    keyId: row.keyId,
    prefix: row.prefix,
    name: row.name,
    createdAtMs: row.createdAtMs,
    expiresAtMs: row.expiresAtMs,
    isDisabled: row.isDisabled === 1,
    models: toModels(row.models),
    limits: { requestsPerMinute, tokensPerMinute, spendPerDayMicro, spendPerMonthMicro },
    balanceMicro: row.balanceMicro,
    heldMicro: row.heldMicro,
    spentTodayMicro: spent.dayMicro,
    spentThisMonthMicro: spent.monthMicro,
    formerUntilMs: row.formerUntilMs,
  };
}

/** A damaged list allows nothing. */
function toModels(models: string | null): readonly string[] | null {
  if (models === null) return null;
  const list = readJson(models);
  return isList(list) ? list.filter((name) => typeof name === 'string') : [];
}

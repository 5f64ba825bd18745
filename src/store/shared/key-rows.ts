import type { KeyId, RequestId } from '../../contract/ids.ts';
import { isList, readJson } from '../../core/json.ts';
import type { KeyChange, KeyDraft, LedgerEntry, LedgerKind, StoredKey } from '../keys.ts';
import { spentAt } from './funds.ts';

/** Keys on their way between the threads, as flat lists in the order of the statements, as records are. */
export type KeyRow = readonly [
  keyId: KeyId,
  prefix: string,
  name: string,
  createdAtMs: number,
  expiresAtMs: number | null,
  isDisabled: 0 | 1,
  /** A list in JSON. */
  models: string | null,
  requestsPerMinute: number | null,
  tokensPerMinute: number | null,
  spendPerDayMicro: number | null,
  spendPerMonthMicro: number | null,
  formerUntilMs: number | null,
  balanceMicro: number | null,
  heldMicro: number,
  day: number,
  daySpentMicro: number,
  month: number,
  monthSpentMicro: number,
];

/** The columns of a KeyRow, in its order. */
export const KEY_COLUMNS = `key_id, prefix, name, created_at_ms, expires_at_ms, is_disabled, models, requests_per_minute,
  tokens_per_minute, spend_per_day_micro, spend_per_month_micro, former_until_ms, balance_micro, held_micro, day,
  day_spent_micro, month, month_spent_micro`;

/** A key, and by which of the hashes it was found. */
export type FoundKeyRow = readonly [hash: string, key: KeyRow];

export type LedgerRow = readonly [
  seq: number,
  kind: LedgerKind,
  amountMicro: number,
  requestId: RequestId | null,
  note: string,
  createdAtMs: number,
  reference: string | null,
];

/** How many entries one step of pruning makes one of. */
export const CARRY_STEP = 100;

/** How many keys one step looks at that have nothing to prune. */
export const LOOK_AT_KEYS = 100;

export type KeyDraftRow = readonly [
  keyId: KeyId,
  hash: string,
  prefix: string,
  name: string,
  createdAtMs: number,
  expiresAtMs: number | null,
  models: string | null,
  requestsPerMinute: number | null,
  tokensPerMinute: number | null,
  spendPerDayMicro: number | null,
  spendPerMonthMicro: number | null,
  creditsMicro: number | null,
];

/** A draft as `createKey` takes it, under the present secret alone. */
export function toKeyDraftRow({ secret, limits, ...draft }: KeyDraft): KeyDraftRow {
  return [
    draft.keyId,
    secret.hash[0],
    secret.prefix,
    draft.name,
    draft.createdAtMs,
    draft.expiresAtMs,
    fromModels(draft.models),
    limits.requestsPerMinute,
    limits.tokensPerMinute,
    limits.spendPerDayMicro,
    limits.spendPerMonthMicro,
    draft.creditsMicro,
  ];
}

/** A list of models as the table holds it. */
function fromModels(models: readonly string[] | null): string | null {
  return models === null ? null : JSON.stringify(models);
}

/** The columns that a change may name, and what it says of each; undefined leaves it as it is. */
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
/** A list that is damaged allows nothing. */
function toModels(models: string | null): readonly string[] | null {
  if (models === null) return null;
  const list = readJson(models);
  return isList(list) ? list.filter((name) => typeof name === 'string') : [];
}

/** A row as the rest of the program knows it at that moment. */
export function toStoredKey(row: KeyRow, nowMs: number): StoredKey {
  const [
    keyId,
    prefix,
    name,
    createdAtMs,
    expiresAtMs,
    isDisabled,
    models,
    requestsPerMinute,
    tokensPerMinute,
    spendPerDayMicro,
    spendPerMonthMicro,
    formerUntilMs,
    balanceMicro,
    heldMicro,
    day,
    daySpentMicro,
    month,
    monthSpentMicro,
  ] = row;
  const spent = spentAt({ balanceMicro, heldMicro, day, daySpentMicro, month, monthSpentMicro }, nowMs);
  return {
    keyId,
    prefix,
    name,
    createdAtMs,
    expiresAtMs,
    isDisabled: isDisabled === 1,
    models: toModels(models),
    limits: { requestsPerMinute, tokensPerMinute, spendPerDayMicro, spendPerMonthMicro },
    balanceMicro,
    heldMicro,
    spentTodayMicro: spent.dayMicro,
    spentThisMonthMicro: spent.monthMicro,
    formerUntilMs,
  };
}

/** An entry as the rest of the program knows it. */
export function toEntry([seq, kind, amountMicro, requestId, note, createdAtMs, reference]: LedgerRow): LedgerEntry {
  return { seq, kind, amountMicro, requestId, note, createdAtMs, reference };
}

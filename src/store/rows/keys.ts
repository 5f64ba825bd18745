import type { GroupId, KeyId } from '../../contract/ids.ts';
import { isList, readJson } from '../../core/json.ts';
import type {
  CalendarDay,
  GroupChange,
  GroupDraft,
  KeyChange,
  KeyDraft,
  StoredAccount,
  StoredGroup,
  StoredKey,
} from '../../core/books/keys.ts';
import { WHOLE_GATEWAY } from '../../core/ids.ts';
import { HOUR_MS } from '../../core/time.ts';
import { recordOf } from '../../core/map-values.ts';
import { LIMITS, SPEND_WINDOWS, type KeyLimits } from '../../core/money/limits.ts';
import { columnOf, selected } from './columns.ts';
import { spentAt, type Funds } from '../book/funds.ts';

interface SettingsRow extends KeyLimits {
  readonly name: string;
  readonly createdAtMs: number;
  readonly expiresAtMs: number | null;
  readonly models: string | null;
}

interface AccountRow extends SettingsRow, Funds {
  readonly isDisabled: 0 | 1;
}

export interface KeyRow extends AccountRow {
  readonly keyId: KeyId;
  readonly groupId: GroupId | null;
  readonly prefix: string;
  readonly formerUntilMs: number | null;
  /** From 1970, in which its last request ended; null for none. */
  readonly lastHour: number | null;
  /** Of the secret under which its hash lies; null is not known. */
  readonly mark: string | null;
  readonly isOfPrevious: 0 | 1;
  /** Whether there is a group of all keys. */
  readonly isCapped: 0 | 1;
}

export interface GroupRow extends AccountRow {
  readonly groupId: GroupId;
  readonly keys: number;
}

const DRAFT_FIELDS = ['name', 'createdAtMs', 'expiresAtMs', 'models', ...LIMITS.map(({ limit }) => limit)];
const SPENT_FIELDS = SPEND_WINDOWS.flatMap(({ per, spent }) => [per, spent]);
const ACCOUNT_COLUMNS = selected([...DRAFT_FIELDS, 'isDisabled', 'balanceMicro', 'heldMicro', ...SPENT_FIELDS]);

/** What a new key and a new group have alike, and the values of it. */
export const DRAFT_COLUMNS = `${DRAFT_FIELDS.map(columnOf).join(', ')}, balance_micro, funded_micro, funded_at_ms`;
export const DRAFT_VALUES = `${DRAFT_FIELDS.map((field) => `:${field}`).join(', ')}, :creditsMicro, :creditsMicro, :createdAtMs`;

/** Whether a key is known by another secret than the one of the database. */
export const IS_OF_PREVIOUS = 'coalesce(keys.mark <> (SELECT secret_mark.mark FROM secret_mark), false)';

export const NAMES_OF_PREVIOUS = `SELECT name FROM keys WHERE ${IS_OF_PREVIOUS} ORDER BY seq DESC`;

export const KEY_COLUMNS = `key_id AS "keyId", group_id AS "groupId", prefix, former_until_ms AS "formerUntilMs", mark,
  (SELECT max(usage.hour) FROM usage WHERE usage.caller = keys.key_id) AS "lastHour",
  CASE WHEN ${IS_OF_PREVIOUS} THEN 1 ELSE 0 END AS "isOfPrevious",
  CASE WHEN EXISTS (SELECT 1 FROM groups WHERE groups.group_id = '${WHOLE_GATEWAY}') THEN 1 ELSE 0 END AS "isCapped",
  ${ACCOUNT_COLUMNS}`;

export const GROUP_COLUMNS = `group_id AS "groupId", ${ACCOUNT_COLUMNS},
  (SELECT count(*) FROM keys WHERE keys.group_id = groups.group_id) AS keys`;

export interface FoundKeyRow {
  readonly hash: string;
  readonly key: KeyRow;
}

interface AccountDraftRow extends SettingsRow {
  readonly creditsMicro: number | null;
}

export interface KeyDraftRow extends AccountDraftRow {
  readonly keyId: KeyId;
  readonly groupId: GroupId | null;
  readonly hash: string;
  readonly mark: string | null;
  readonly prefix: string;
}

export interface GroupDraftRow extends AccountDraftRow {
  readonly groupId: GroupId;
}

/** Null selects all. */
export interface GroupFilter {
  readonly name: string | null;
  readonly search: string | null;
}

export interface KeyFilter extends GroupFilter {
  readonly groupId: GroupId | null;
  /** Selects those known by the previous secret alone. */
  readonly isOfPrevious: 0 | 1;
}

export type Conflict = 'name taken' | 'no group';

export function toKeyDraftRow({ secret, limits, ...draft }: KeyDraft): KeyDraftRow {
  return {
    ...draft,
    ...limits,
    hash: secret.hash[0],
    mark: secret.mark ?? null,
    prefix: secret.prefix,
    models: fromModels(draft.models),
  };
}

export function toGroupDraftRow({ limits, ...draft }: GroupDraft): GroupDraftRow {
  return { ...draft, ...limits, models: fromModels(draft.models) };
}

function fromModels(models: readonly string[] | null): string | null {
  return models === null ? null : JSON.stringify(models);
}

export interface Changes<Change> {
  readonly [column: string]: (change: Change) => string | number | null | undefined;
}

export const CHANGED_GROUP_COLUMNS: Changes<GroupChange> = {
  name: (change) => change.name,
  is_disabled: (change) => (change.isDisabled === undefined ? undefined : Number(change.isDisabled)),
  expires_at_ms: (change) => change.expiresAtMs,
  models: (change) => (change.models === undefined ? undefined : fromModels(change.models)),
  ...recordOf(LIMITS, ({ limit }) => [columnOf(limit), (change: GroupChange) => change.limits?.[limit]]),
};

export const CHANGED_COLUMNS: Changes<KeyChange> = { ...CHANGED_GROUP_COLUMNS, group_id: (change) => change.groupId };

/** Returns the key as it is on this day, with its group and the one of all keys from `groups`. */
export function toStoredKey(row: KeyRow, groups: ReadonlyMap<GroupId, GroupRow>, today: CalendarDay): StoredKey {
  const toGroup = (group: GroupRow | undefined) => (group === undefined ? null : toStoredGroup(group, today));
  const { keyId, prefix, formerUntilMs, lastHour, isOfPrevious } = row;
  return {
    keyId,
    prefix,
    ...toStoredAccount(row, today),
    formerUntilMs,
    lastUsedAtMs: lastHour === null ? null : lastHour * HOUR_MS,
    isOfPreviousSecret: isOfPrevious === 1,
    group: row.groupId === null ? null : toGroup(groups.get(row.groupId)),
    gateway: toGroup(groups.get(WHOLE_GATEWAY)),
  };
}

export function toStoredGroup(row: GroupRow, today: CalendarDay): StoredGroup {
  return { groupId: row.groupId, keys: row.keys, ...toStoredAccount(row, today) };
}

function toStoredAccount(row: AccountRow, today: CalendarDay): StoredAccount {
  return {
    name: row.name,
    createdAtMs: row.createdAtMs,
    expiresAtMs: row.expiresAtMs,
    isDisabled: row.isDisabled === 1,
    models: toModels(row.models),
    limits: recordOf(LIMITS, ({ limit }) => [limit, row[limit]]),
    balanceMicro: row.balanceMicro,
    heldMicro: row.heldMicro,
    ...spentAt(row, today),
    today,
  };
}

/** A damaged list allows nothing. */
function toModels(models: string | null): readonly string[] | null {
  if (models === null) return null;
  const list = readJson(models);
  return isList(list) ? list.filter((name) => typeof name === 'string') : [];
}

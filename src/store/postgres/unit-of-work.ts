import type { AccountId } from '../../contract/ids.ts';
import { isGroupId, WHOLE_GATEWAY } from '../../core/ids.ts';
import { HOUR_MS } from '../../core/time.ts';
import {
  COUNTED_FIELDS,
  GROUP_ACCOUNT_COLUMNS,
  KEY_ACCOUNT_COLUMNS,
  openUnitOfWork,
  type Account,
  type OpenUnit,
} from '../book/unit-of-work.ts';
import { columnOf } from '../rows/columns.ts';
import type { Paying } from '../rows/records.ts';
import { SETTLED_HOURS } from '../rows/usage-rollups.ts';
import { countedName, USAGE_SUMS, type UsageSumRow } from '../rows/usage.ts';
import { ROLLUPS_LOCK } from '../sql/dialect.ts';
import { FORGET_ROLLUPS } from '../sql/usage.ts';
import { toJson, type Connection, type Statement } from './pool.ts';
import { toNumbered } from './statements.ts';

export interface LockedUnitOfWork extends OpenUnit {
  /**
   * Locks keys, then groups, each in the order of `seq`, so that transactions do not deadlock. A key
   * that is named by its id brings its group, and any key the group of all.
   */
  load(accounts: AccountsToLoad): Promise<void>;
  /** Locks these accounts alone. */
  loadAlone(ids: readonly AccountId[]): Promise<void>;
  /** Usage of hours that are long over at this time needs `nowMs`. */
  flush(nowMs?: number): readonly Promise<unknown>[];
}

export interface AccountsToLoad {
  readonly records?: readonly Paying[];
  readonly accountIds?: readonly AccountId[];
}

/** Rates are counted by the clock of the database. */
export type LockedAccount = Account & { readonly clockMs: number; readonly isCapped?: boolean };

export const CLOCK_MS = 'floor(extract(epoch FROM clock_timestamp()) * 1000) AS "clockMs"';

const LOCK_KEYS: Statement = {
  name: 'lock_keys',
  text: `SELECT ${KEY_ACCOUNT_COLUMNS}, ${CLOCK_MS}, EXISTS (SELECT FROM groups WHERE group_id = '${WHOLE_GATEWAY}') AS "isCapped"
    FROM keys WHERE seq = ANY($1::bigint[]) OR key_id = ANY($2::text[])
    ORDER BY seq FOR NO KEY UPDATE`,
};

const LOCK_GROUPS: Statement = {
  name: 'lock_groups',
  text: `SELECT ${GROUP_ACCOUNT_COLUMNS}, ${CLOCK_MS} FROM groups WHERE group_id = ANY($1::text[])
    ORDER BY groups.seq FOR NO KEY UPDATE`,
};

const FUNDS = `${COUNTED_FIELDS.map((field) => `${columnOf(field)} = (f->>'${field}')::bigint`).join(', ')}
    FROM jsonb_array_elements($1::jsonb) AS f`;

const WRITE_FUNDS: Statement = {
  name: 'write_funds',
  text: `UPDATE keys SET ${FUNDS} WHERE seq = (f->>'seq')::bigint`,
};

const WRITE_GROUP_FUNDS: Statement = {
  name: 'write_group_funds',
  text: `UPDATE groups SET ${FUNDS} WHERE seq = -(f->>'seq')::bigint`,
};

const WRITE_ENTRIES: Statement = {
  name: 'write_entries',
  text: `
    INSERT INTO ledger (key, kind, amount_micro, request_id, note, created_at_ms, reference)
    SELECT (e->>'key')::bigint, e->>'kind', (e->>'amountMicro')::bigint, e->>'requestId', e->>'note',
      (e->>'createdAtMs')::bigint, e->>'reference'
    FROM jsonb_array_elements($1::jsonb) WITH ORDINALITY AS entries (e, ordinal) ORDER BY ordinal`,
};

const addedTo = (table: string) =>
  USAGE_SUMS.map(
    ({ column }) => `${column} = least(${table}.${column} + excluded.${column}, ${Number.MAX_SAFE_INTEGER})`,
  ).join(', ');
const USAGE_COLUMNS = USAGE_SUMS.map(({ column }) => column).join(', ');
/** Several models can have one name, and a statement writes a row once. */
const USAGE_VALUES = USAGE_SUMS.map(
  ({ name }) => `least(sum((u->>'${name}')::bigint), ${Number.MAX_SAFE_INTEGER})::bigint`,
).join(', ');

const USAGE_KEYS = `u->>'groupId' AS group_id, (u->>'startHour')::bigint AS hour, u->>'caller' AS caller`;
const HOUR_OF_CALLER = `hour = (u->>'startHour')::bigint AND caller = u->>'caller'`;

/**
 * The rows are locked in their order, and those of the models that have no row of their own after all others, so that
 * transactions do not deadlock.
 */
const writeSums = (table: string, columns: string, whose: string): Statement => ({
  name: `write_${table}`,
  text: `
    INSERT INTO ${table} (${columns}, model, ${USAGE_COLUMNS})
    SELECT ${columns}, name, ${USAGE_VALUES}
    FROM (
      SELECT u, ordinal, ${USAGE_KEYS}, ${countedName(table, whose, `u->>'model'`)} AS name
      FROM jsonb_array_elements($1::jsonb) WITH ORDINALITY AS sums (u, ordinal)
    ) AS named
    GROUP BY ${columns}, name ORDER BY bool_and(name <> u->>'model'), min(ordinal)
    ON CONFLICT (${columns}, model) DO UPDATE SET ${addedTo(table)}`,
});

const WRITE_USAGE = writeSums('usage', 'hour, caller', HOUR_OF_CALLER);
const WRITE_GROUP_USAGE = writeSums(
  'group_usage',
  'group_id, hour, caller',
  `group_id = u->>'groupId' AND ${HOUR_OF_CALLER}`,
);

/** Opens the unit of work of one transaction. Nothing is loaded yet. */
export function openLockedUnit(connection: Connection): LockedUnitOfWork {
  // An account that was not loaded counts as missing.
  const unit = openUnitOfWork({ of: () => undefined, find: () => undefined });

  async function lock(
    statement: Statement,
    values: readonly (readonly unknown[])[],
  ): Promise<readonly LockedAccount[]> {
    if (values.every(({ length }) => length === 0)) return [];
    const accounts = await connection.rows<LockedAccount>(statement, values);
    for (const account of accounts) unit.add(account);
    return accounts;
  }

  async function load({ records = [], accountIds = [] }: AccountsToLoad): Promise<void> {
    const keys = records.flatMap(({ key }) => key ?? []);
    const groupIds = records.flatMap(({ groupId }) => groupId ?? []);
    const [namedGroups, keyIds] = [accountIds.filter(isGroupId), accountIds.filter((id) => !isGroupId(id))];
    const locked = await lock(LOCK_KEYS, [[...new Set(keys)], [...new Set(keyIds)]]);
    const named = new Set<AccountId>(keyIds);
    const brought = locked.flatMap(({ id, groupId }) => (groupId !== null && named.has(id) ? groupId : []));
    const found = new Set(locked.map(({ seq }) => seq));
    // A key that was deleted meanwhile cannot say it.
    const isCapped = locked.some((account) => account.isCapped) || keys.some((key) => !found.has(key));
    const whole = isCapped ? [WHOLE_GATEWAY] : [];
    await lock(LOCK_GROUPS, [[...new Set([...groupIds, ...namedGroups, ...brought, ...whole])]]);
  }

  return {
    funding: unit.funding,
    noteUsage: unit.noteUsage,
    takeBackUsage: unit.takeBackUsage,
    load,
    async loadAlone(ids) {
      await lock(LOCK_KEYS, [[], ids.filter((id) => !isGroupId(id))]);
      await lock(LOCK_GROUPS, [ids.filter(isGroupId)]);
    },
    flush(nowMs = 0) {
      const { accounts, entries, sums, groupSums } = unit.flush();
      const keys = accounts.filter(({ seq }) => seq > 0);
      const groups = accounts.filter(({ seq }) => seq < 0);
      return [
        ...(keys.length === 0 ? [] : [connection.changes(WRITE_FUNDS, [toJson(keys)])]),
        ...(groups.length === 0 ? [] : [connection.changes(WRITE_GROUP_FUNDS, [toJson(groups)])]),
        ...(entries.length === 0 ? [] : [connection.changes(WRITE_ENTRIES, [toJson(entries)])]),
        ...forgetLate(connection, sums, nowMs),
        ...(sums.length === 0 ? [] : [connection.changes(WRITE_USAGE, [toJson(sums)])]),
        ...(groupSums.length === 0 ? [] : [connection.changes(WRITE_GROUP_USAGE, [toJson(groupSums)])]),
      ];
    },
  };
}

function forgetLate(connection: Connection, sums: readonly UsageSumRow[], nowMs: number): readonly Promise<unknown>[] {
  const hours = sums.map(({ startHour }) => startHour);
  const from = Math.min(...hours);
  // Rollups wait for twice as long, and for who holds their lock.
  const isLate = from < nowMs / HOUR_MS - SETTLED_HOURS / 2;
  if (!isLate) return [];
  return [connection.rows(SHARE_ROLLUPS), connection.changes(FORGET, { from, until: Math.max(...hours) })];
}

/** Who writes usage of hours that may be rolled up shares this lock. */
const SHARE_ROLLUPS: Statement = {
  name: 'share_rollups',
  text: `SELECT pg_advisory_xact_lock_shared(${ROLLUPS_LOCK})`,
};
const FORGET = toNumbered({ name: 'forget_rollups', text: FORGET_ROLLUPS });

import type { GroupId } from '../../contract/ids.ts';
import type { UsageQuery, UsageSums, UsageTotalBy } from '../../core/books/keys.ts';
import type { Dialect, NamedStatement } from '../sql/dialect.ts';
import { SUM_COLUMNS, type HourSpan } from './usage.ts';

/**
 * How usage is summed up over whole days: by one name, of all callers or of each group. Versions that sum up no cached tokens have
 * their own sums, of other names.
 */
export const ROLLUPS = {
  models: { table: 'usage', group: `''`, name: 'model' },
  keys: { table: 'usage', group: `''`, name: 'caller' },
  group_models: { table: 'group_usage', group: 'group_id', name: 'model' },
  group_keys: { table: 'group_usage', group: 'group_id', name: 'caller' },
} as const;

export type RollupKind = keyof typeof ROLLUPS;

export const ROLLUP_KINDS: readonly RollupKind[] = ['models', 'keys', 'group_models', 'group_keys'];

/** A span of UTC days for which the sums of a kind are kept; `start` is in hours from 1970. */
export interface Rollup {
  readonly kind: RollupKind;
  readonly start: number;
  readonly hours: number;
}

export const DAY_HOURS = 24;
/** A rollup of more than a day is made of four of the size below, so that a year has few of them. */
const PARTS = 4;
const SIZES = [1, 4, 16, 64].map((days) => days * DAY_HOURS);
/** Hours that ended less than this ago may still be written by a transaction that runs. */
export const SETTLED_HOURS = 2;

/** What one call of the engine sums up. */
export interface TotalsStep {
  readonly by: UsageTotalBy | 'all';
  readonly per: UsageQuery['per'];
  readonly caller: string | null;
  readonly groupId: GroupId | null;
  readonly model: string | null;
  readonly span: HourSpan;
  readonly limit: number;
}

/** By time, the name is the hour in which it starts. */
export type TotalRow = UsageSums & WholeSums & { readonly name: string | number };

/** The sums of all names, also of those beyond the limit. */
type WholeSums = { readonly [Name in keyof UsageSums as `whole_${Name}`]: number };

const { cacheWriteTokens: _written, reasoningTokens: _reasoning, ...TOTAL_COLUMNS } = SUM_COLUMNS;
const COLUMNS = Object.values(TOTAL_COLUMNS);
const SELECTED = Object.entries(TOTAL_COLUMNS).flatMap(([name, column]) => [
  `sum(${column}) AS "${name}"`,
  `sum(sum(${column})) OVER () AS "whole_${name}"`,
]);

/** Which rollups serve a step; undefined where its rows are few or its parts are shorter than a day. */
export function rollupsFor(step: TotalsStep): RollupKind | undefined {
  const { by, per, caller, model } = step;
  if (caller !== null || (by === 'key' && model !== null) || (by === 'time' && per === 'hour')) return undefined;
  if (!isOfGroups(step)) return by === 'key' ? 'keys' : 'models';
  return by === 'key' ? 'group_keys' : 'group_models';
}

/** Returns what the usage is limited to, in the order of the placeholders. */
export function filtersOf({ caller, groupId, model }: TotalsStep) {
  const filters = [
    { column: 'caller', rolled: 'name', value: caller },
    { column: 'group_id', rolled: 'group_id', value: groupId },
    { column: 'model', rolled: 'name', value: model },
  ];
  return filters.filter(({ value }) => value !== null);
}

function isOfGroups({ by, groupId }: TotalsStep): boolean {
  return groupId !== null || by === 'group';
}

/** Returns the largest rollups in a span that do not overlap, and the hours between them. */
export function cover(
  span: HourSpan,
  found: readonly Rollup[],
): { readonly rollups: readonly Rollup[]; readonly hours: readonly HourSpan[] } {
  const largest = new Map<number, Rollup>();
  for (const rollup of found) {
    if (rollup.hours > (largest.get(rollup.start)?.hours ?? 0)) largest.set(rollup.start, rollup);
  }
  const rollups: Rollup[] = [];
  const hours: HourSpan[] = [];
  let { from } = span;
  for (const rollup of [...largest.values()].sort((one, other) => one.start - other.start)) {
    if (rollup.start < from) continue;
    if (rollup.start > from) hours.push({ from, until: rollup.start });
    rollups.push(rollup);
    from = rollup.start + rollup.hours;
  }
  if (from < span.until) hours.push({ from, until: span.until });
  return { rollups, hours };
}

/** Returns the rollups that are missing and can be made now, the smaller ones first. */
export function listMissing(known: HourSpan, nowHour: number, made: readonly Rollup[]): readonly Rollup[] {
  const nameOf = ({ kind, start, hours }: Rollup) => `${kind} ${start} ${hours}`;
  const names = new Set(made.map(nameOf));
  const until = Math.min(known.until, nowHour - SETTLED_HOURS);
  return SIZES.flatMap((hours) => {
    const missing: Rollup[] = [];
    for (let start = Math.ceil(known.from / hours) * hours; start + hours <= until; start += hours) {
      for (const kind of ROLLUP_KINDS) {
        const rollup = { kind, start, hours };
        if (!names.has(nameOf(rollup)) && partsOf(rollup).every((part) => names.has(nameOf(part))))
          missing.push(rollup);
      }
    }
    return missing;
  });
}

/** Returns the smaller rollups that one is made of; none for a day, which is made of the usage itself. */
export function partsOf({ kind, start, hours }: Rollup): readonly Rollup[] {
  if (hours === DAY_HOURS) return [];
  const each = hours / PARTS;
  return Array.from({ length: PARTS }, (_, part) => ({ kind, start: start + part * each, hours: each }));
}

/** Returns the statement that makes a rollup, of the values of the rollup. */
export function toRollUp({ kind, hours }: Rollup, { least }: Pick<Dialect, 'least'>): NamedStatement {
  const isDay = hours === DAY_HOURS;
  const { table, group, name } = isDay ? ROLLUPS[kind] : { table: 'usage_sums', group: 'group_id', name: 'name' };
  const sums = COLUMNS.map((column) => `${least}(sum(${column}), ${Number.MAX_SAFE_INTEGER})`);
  const time = isDay ? 'hour' : 'start';
  const of = { kind: 'CAST(:kind AS TEXT)', start: 'CAST(:start AS BIGINT)', hours: 'CAST(:hours AS BIGINT)' };
  const parts = isDay ? '' : `kind = ${of.kind} AND hours = ${of.hours} / ${PARTS} AND`;
  const text = `
    INSERT INTO usage_sums (kind, start, hours, group_id, name, ${COLUMNS.join(', ')})
    SELECT ${of.kind}, ${of.start}, ${of.hours}, ${group}, ${name}, ${sums.join(', ')} FROM ${table}
    WHERE ${parts} ${time} >= ${of.start} AND ${time} < ${of.start} + ${of.hours}
    GROUP BY ${group === `''` ? name : `${group}, ${name}`}`;
  return { name: `roll_up_${kind}_${hours}`, text };
}

export interface TotalsDialect extends Pick<Dialect, 'byBytes' | 'rowsOf' | 'inOrder' | 'groupsFirst'> {
  readonly starts: Readonly<Record<UsageQuery['per'], string>>;
}

/** Returns the statement of a step, with a name that differs between different texts. */
export function toTotals(step: TotalsStep, dialect: TotalsDialect): NamedStatement {
  const { by, per } = step;
  const filters = filtersOf(step);
  const text = (column: string) => `${column}${dialect.byBytes}`;
  const columnsOf = { key: text('u.caller'), group: text('u.group_id'), model: text('u.model') };
  const raw = { ...columnsOf, time: dialect.starts[per], all: `''` }[by];
  const start = dialect.starts[per].replaceAll('hour', 's.start');
  const name = text('s.name');
  const rolled = { key: name, group: text('s.group_id'), model: name, time: start, all: `''` }[by];
  const own = filters.map(({ column }, at) => `u.${column} = :filter${at}`);
  const groups = isOfGroups(step) && step.groupId === null ? dialect.groupsFirst : undefined;
  if (groups !== undefined) own.push(`u.group_id = ${groups.id}`);
  const columns = COLUMNS.join(', ');
  const order = by === 'time' ? 'name DESC' : '"costMicro" DESC, "requests" DESC, name';
  const sql = `
    WITH parts AS (
      SELECT ${raw} AS name, ${columns} FROM ${dialect.rowsOf(':hours', 'h', ['from_hour', 'until_hour'])}${dialect.inOrder} ${groups?.join ?? ''}
        JOIN ${isOfGroups(step) ? 'group_usage' : 'usage'} AS u
        ON ${['u.hour >= h.from_hour', 'u.hour < h.until_hour', ...own].join(' AND ')}
      UNION ALL
      SELECT ${rolled} AS name, ${columns} FROM ${dialect.rowsOf(':rollups', 'r', ['start', 'hours'])}${dialect.inOrder}
        JOIN usage_sums AS s ON s.kind = :kind AND s.start = r.start AND s.hours = r.hours
        ${filters.map(({ rolled: column }, at) => `AND s.${column} = :filter${at}`).join(' ')}
    )
    SELECT name, ${SELECTED.join(', ')} FROM parts GROUP BY name ORDER BY ${order} LIMIT :limit`;
  return { name: ['totals', by, per, ...filters.map(({ column }) => column)].join('_'), text: sql };
}

import type { GroupId, RequestId } from '../../contract/ids.ts';
import type { ErrorCode } from '../../core/errors.ts';
import type { RecordStatus } from '../../core/books/store.ts';
import type { NamedStatement } from '../sql/dialect.ts';
import { RECORD_COLUMNS } from './record-columns.ts';
import type { RecordRow } from './records.ts';

/** Null selects all. Ids grow with time; `from` is included and `before` is not. */
export interface ListStep {
  readonly caller: string | null;
  readonly groupId: GroupId | null;
  readonly status: RecordStatus | null;
  readonly model: string | null;
  readonly errorCode: ErrorCode | null;
  readonly from: string;
  readonly before: string;
  readonly limit: number;
}

export interface ListedRows {
  readonly rows: readonly RecordRow[];
  /** The oldest id that was looked at; null when nothing older can fit. */
  readonly searchedTo: RequestId | null;
}

/** Its name differs between queries with different texts. */
export interface ListQuery extends NamedStatement {
  readonly values: Values;
}

type Values = Readonly<Record<string, unknown>>;

export interface ListQueries {
  readonly rows: ListQuery;
  /** Finds the oldest row that `rows` looks at; null where that has no such bound. */
  readonly floor: ListQuery | null;
}

/**
 * An index leads to the rows that fit one filter, and the other filters look at so many of them. A
 * rare combination would otherwise read all records of a caller in one call.
 */
export const LIST_WINDOW = 2000;

/** A database uses a partial index only for a query that repeats its condition. */
const FILTERS = [
  { of: 'caller', column: 'caller' },
  { of: 'errorCode', column: 'error_code', condition: 'error_code IS NOT NULL' },
  { of: 'status', column: 'status', condition: `status NOT IN ('processing', 'succeeded')` },
  { of: 'groupId', column: 'group_id', condition: 'group_id IS NOT NULL' },
  { of: 'model', column: 'model' },
] as const satisfies readonly Filter[];

interface Filter {
  readonly of: keyof ListStep;
  readonly column: string;
  readonly condition?: string;
}

/** Returns the statements of a step. `collation` is that of the columns in the indexes. */
export function toListQueries(step: ListStep, collation = ''): ListQueries {
  const filters = FILTERS.filter(({ of }) => step[of] !== null);
  if (step.status === 'processing') return { rows: toUnfinishedQuery(step, filters), floor: null };
  const lead = leadOf(step);
  const led = filters.filter(({ of }) => of === 'caller' || of === lead);
  const others = filters.filter((filter) => !led.includes(filter));
  const name = `list_${namesOf(led)}__${namesOf(others)}`;
  const { values, bind } = bindValues();
  const searched = toSearched(step, { led, bind, collation: led.length === 0 ? '' : collation });
  const fits = [`request_id >= ${bind(step.from)}`, ...led.map(toCondition(step, bind))].join(' AND ');
  const isWhole = others.length === 0;
  const floor = {
    name: `${name}_floor`,
    text: `
      WITH searched AS MATERIALIZED (${searched} LIMIT 1 OFFSET ${LIST_WINDOW - 1})
      SELECT request_id AS "requestId" FROM searched WHERE ${fits}`,
    values: { ...values },
  };
  const text = `
    WITH searched AS MATERIALIZED (${searched} LIMIT ${isWhole ? bind(step.limit) : LIST_WINDOW})
    SELECT ${RECORD_COLUMNS} FROM searched WHERE ${[fits, ...others.map(toCondition(step, bind))].join(' AND ')}
    ORDER BY request_id DESC LIMIT ${bind(step.limit)}`;
  return { rows: { name, text, values }, floor: isWhole ? null : floor };
}

/**
 * Selects what comes next in one index, which may be beyond the rows that fit. The bound and the
 * order have every column of the index, so that no other index can serve them, whatever the database
 * believes about the values. A lower bound would not end the search on PostgreSQL.
 */
function toSearched(
  step: ListStep,
  { led, bind, collation }: { readonly led: readonly Filter[]; readonly bind: Bind; readonly collation: string },
): string {
  const columns = [...led.map(({ column }) => column), 'request_id'].map((column) => column + collation);
  const cursor = [...led.map(({ of }) => bind(step[of])), bind(step.before)];
  const bounds = [
    `(${columns.join(', ')}) < (${cursor.join(', ')})`,
    ...led.flatMap(({ condition }) => condition ?? []),
  ];
  return `SELECT * FROM requests WHERE ${bounds.join(' AND ')} ORDER BY ${columns.map((column) => `${column} DESC`).join(', ')}`;
}

/** Unfinished records are few and have an index of their own. */
function toUnfinishedQuery(step: ListStep, filters: readonly Filter[]): ListQuery {
  const { values, bind } = bindValues();
  const bounds = [`request_id < ${bind(step.before)}`, `request_id >= ${bind(step.from)}`];
  const text = `
    WITH unfinished AS MATERIALIZED (SELECT * FROM requests WHERE owner IS NOT NULL)
    SELECT ${RECORD_COLUMNS} FROM unfinished
    WHERE ${[...bounds, ...filters.map(toCondition(step, bind))].join(' AND ')}
    ORDER BY request_id DESC LIMIT ${bind(step.limit)}`;
  return { name: `list_unfinished__${namesOf(filters)}`, text, values };
}

/**
 * Returns the filter that the fewest records fit: failures are fewer than those of a group, and these
 * than those of a model. The group of a caller is hardly a filter, and has no index.
 */
function leadOf({ caller, groupId, errorCode, status, model }: ListStep): keyof ListStep | undefined {
  if (errorCode !== null) return 'errorCode';
  if (status === 'failed' || status === 'cancelled') return 'status';
  if (caller === null && groupId !== null) return 'groupId';
  return model === null ? undefined : 'model';
}

type Bind = (value: unknown) => string;

function bindValues(): { readonly values: Values; readonly bind: Bind } {
  const values: Record<string, unknown> = {};
  function bind(value: unknown): string {
    const name = `value${Object.keys(values).length}`;
    values[name] = value;
    return `:${name}`;
  }
  return { values, bind };
}

function toCondition(step: ListStep, bind: Bind): (filter: Filter) => string {
  return ({ of, column }) => `${column} = ${bind(step[of])}`;
}

function namesOf(filters: readonly Filter[]): string {
  return filters.map(({ column }) => column).join('_');
}

/** Returns what a step found, down to `floor` when it found fewer rows than it wanted. */
export function toListedRows(rows: readonly RecordRow[], limit: number, floor: RequestId | null): ListedRows {
  return { rows, searchedTo: rows.length < limit ? floor : (rows.at(-1)?.requestId ?? null) };
}

import { mapValues } from '../../core/map-values.ts';

/** What differs between the engines in statements that are the same otherwise. */
export interface Dialect {
  readonly contains: (text: string, part: string) => string;
  /** Whether a text is one of a list in JSON. */
  readonly isIn: (text: string, list: string) => string;
  /** The rows of a list in JSON, as a table of this name with these columns of integers. */
  readonly rowsOf: (list: string, name: string, columns: readonly string[]) => string;
  /** Compares texts by their bytes, as the indexes of lists do. */
  readonly byBytes: '' | ' COLLATE "C"';
  readonly least: 'min' | 'least';
  /** The hour in which the month of `hour` begins. */
  readonly startOfMonth: string;
  /** The sums of the counts, in JSON, that a row has and that it is given. */
  readonly sumsOfCounts: string;
  /** Before a join whose order must stay as it is written. */
  readonly inOrder: '' | ' CROSS';
  /** A join with the ids of all groups, for an engine that would not find their rows of some hours by itself. */
  readonly groupsFirst?: { readonly join: string; readonly id: string };
  /** Keeps the number of an account whose ledger is to be dropped, if it could not be found otherwise. */
  readonly noteDeleted: string;
  readonly compileNothing: string;
  /** Find whether there is the table `:name`, and whether keys have marks, in a database of any version. */
  readonly hasTable: string;
  readonly hasKeyMark: string;
  /** These keep off other gateways, which SQLite does not need: the transaction of a batch is its only writer. */
  readonly locks: {
    /** Of rows that several gateways may delete at the same time, each takes those that are free. */
    readonly skipLocked: string;
    readonly forKeyShare: string;
    readonly forUpdate: string;
    readonly forAccount: string;
    /** Two gateways that give one name at the same time wait for each other. */
    readonly names: string;
    /** Nobody takes or settles a hold meanwhile. */
    readonly records: string;
    /** What comes after it sees all that was written before it. */
    readonly rollups: string;
  };
}

export const SQLITE: Dialect = {
  contains: (text, part) => `instr(${text}, ${part}) > 0`,
  isIn: (text, list) => `${text} IN (SELECT value FROM json_each(${list}))`,
  rowsOf: (list, name, columns) =>
    `(SELECT ${columns.map((column) => `value ->> '${column}' AS ${column}`).join(', ')} FROM json_each(${list})) AS ${name}`,
  byBytes: '',
  least: 'min',
  startOfMonth: `unixepoch(hour * 3600, 'unixepoch', 'start of month') / 3600`,
  sumsOfCounts: `
    SELECT json_group_object(key, total) FROM (
      SELECT key, sum(value) AS total FROM (
        SELECT key, value FROM json_each(request_stats.counts)
        UNION ALL SELECT key, value FROM json_each(excluded.counts))
      GROUP BY key)`,
  inOrder: ' CROSS',
  // The primary key begins with the group. By the index of the hours, each row would be a search of its own.
  groupsFirst: {
    join: `
      JOIN (
        WITH RECURSIVE every (id) AS (
          SELECT min(group_id) FROM group_usage
          UNION ALL
          SELECT (SELECT min(group_id) FROM group_usage WHERE group_id > every.id) FROM every WHERE every.id IS NOT NULL)
        SELECT id FROM every WHERE id IS NOT NULL) AS g CROSS`,
    id: 'g.id',
  },
  noteDeleted: '',
  compileNothing: '',
  hasTable: 'SELECT 1 AS found FROM sqlite_schema WHERE name = :name',
  hasKeyMark: `SELECT 1 AS found FROM pragma_table_info('keys') WHERE name = 'mark'`,
  locks: { skipLocked: '', forKeyShare: '', forUpdate: '', forAccount: '', names: '', records: '', rollups: '' },
};

/** "Requ" and "Roll": no other program on the same database uses these for a lock. */
const NAMES_LOCK = 0x52_65_71_75;
export const ROLLUPS_LOCK = 0x52_6f_6c_6c;

export const POSTGRES: Dialect = {
  contains: (text, part) => `strpos(${text}, ${part}) > 0`,
  isIn: (text, list) => `${text} = ANY(ARRAY(SELECT jsonb_array_elements_text(${list}::jsonb)))`,
  rowsOf: (list, name, columns) =>
    `jsonb_to_recordset(${list}::jsonb) AS ${name} (${columns.map((column) => `${column} bigint`).join(', ')})`,
  byBytes: ' COLLATE "C"',
  least: 'least',
  startOfMonth: `(extract(epoch FROM date_trunc('month', to_timestamp(hour * 3600), 'UTC')) / 3600)::bigint`,
  sumsOfCounts: `
    SELECT jsonb_object_agg(key, total)::text FROM (
      SELECT key, sum(value::bigint) AS total FROM (
        SELECT key, value FROM jsonb_each_text(request_stats.counts::jsonb)
        UNION ALL SELECT key, value FROM jsonb_each_text(excluded.counts::jsonb)) AS counted
      GROUP BY key) AS sums`,
  inOrder: '',
  noteDeleted: 'INSERT INTO deleted_keys (key) VALUES (:seq)',
  // The planner expects more rows than there are, and would compile for longer than the statement runs.
  compileNothing: 'SET jit = off',
  hasTable: 'SELECT 1 AS found WHERE to_regclass(:name) IS NOT NULL',
  hasKeyMark: `
    SELECT 1 AS found FROM information_schema.columns
    WHERE table_schema = current_schema() AND table_name = 'keys' AND column_name = 'mark'`,
  locks: {
    skipLocked: ' FOR UPDATE SKIP LOCKED',
    forKeyShare: ' FOR KEY SHARE',
    forUpdate: ' FOR UPDATE',
    // Every writer of entries holds it.
    forAccount: ' FOR NO KEY UPDATE SKIP LOCKED',
    names: `SELECT pg_advisory_xact_lock(${NAMES_LOCK})`,
    records: 'LOCK TABLE requests IN EXCLUSIVE MODE',
    rollups: `SELECT pg_advisory_xact_lock(${ROLLUPS_LOCK})`,
  },
};

/** A statement whose values are named in it, such as `:keyId`. PostgreSQL prepares it by its own name. */
export interface NamedStatement {
  readonly name: string;
  readonly text: string;
}

export function named<Name extends string>(
  room: string,
  texts: Readonly<Record<Name, string>>,
): Readonly<Record<Name, NamedStatement>> {
  return mapValues(texts, (text, name) => ({ name: `${room}_${name}`, text }));
}

/** The name of a value in a text. A cast such as `::bigint` is none. */
export const NAME = /(?<!:):([a-zA-Z]\w*)/g;

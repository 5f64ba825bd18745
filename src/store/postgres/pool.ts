import type { LookupFunction } from 'node:net';
import { Pool, type PoolClient, type PoolConfig, type QueryConfig, type QueryResult, type QueryResultRow } from 'pg';
import { messageOf } from '../../core/errors.ts';
import { isAnswer, isReadOnly, PassingError, UnknownOutcome } from './failures.ts';
import { openSocket } from './socket.ts';

export interface Statement {
  readonly name: string;
  readonly text: string;
  /** Of its values, by their numbers, if they are given as an object. */
  readonly names?: readonly string[];
}

export type Values = readonly unknown[] | Readonly<Record<string, unknown>>;

export interface Connection {
  /** Statements of one turn are sent to the server together. */
  rows<Row extends object>(statement: Statement, values?: Values): Promise<readonly Row[]>;
  changes(statement: Statement, values?: Values): Promise<number>;
}

export interface Connections {
  lookUp<Result>(work: (connection: Connection) => Promise<Result>): Promise<Result>;
  /** Runs one statement as its own transaction. Throws UnknownOutcome when it got no answer. */
  write<Result>(work: (connection: Connection) => Promise<Result>): Promise<Result>;
  /** Commits after `work`. Throws UnknownOutcome when the commit got no answer. */
  transaction<Result>(work: (connection: Connection) => Promise<Committable<Result>>): Promise<Result>;
  close(): Promise<void>;
}

export interface Committable<Result> {
  readonly result: Result;
  /** Statements that are not awaited yet: the commit is sent right after them. */
  readonly last?: readonly Promise<unknown>[];
}

export interface PoolOptions {
  readonly url: string;
  readonly size: number;
  readonly onLost: (message: string) => void;
  /** In the place of that of Node. */
  readonly lookup?: LookupFunction | undefined;
}

const CONNECT_WITHIN_MS = 2000;
/** A time-out that comes this late shows that the process was paused, and not the server. */
const STOOD_STILL_MS = 500;

const STATEMENT_WITHIN_MS = 4000;
const LOCK_WITHIN_MS = 1500;

/** The server ends a transaction whose process is paused, so that its locks are released. */
const IDLE_IN_TRANSACTION_MS = 4000;

/** The other limits are shorter, so that the server can report its reason. */
const ANSWER_WITHIN_MS = 5000;

const IDLE_CONNECTION_MS = 30_000;

/** After so long a connection is made anew, since the address may lead to another server by now. */
const OLDEST_CONNECTION_S = 600;

const CLOSE_WITHIN_MS = 3000;

// Conditions must be evaluated again after a wait for a lock, whatever the server's default is.
const BEGIN = 'BEGIN ISOLATION LEVEL READ COMMITTED';

export function openPool({ url, size, onLost, lookup }: PoolOptions): Connections {
  const pool = new Pool({
    ...toClientConfig(url),
    stream: () => openSocket(lookup),
    query_timeout: 0,
    max: size,
    idleTimeoutMillis: IDLE_CONNECTION_MS,
    maxLifetimeSeconds: OLDEST_CONNECTION_S,
  });
  /** Those that lead to the server of which a write has not been refused. */
  let current = new WeakSet<PoolClient>();
  const used = new WeakSet<PoolClient>();
  pool.on('error', ({ message }) => onLost(message));
  pool.on('connect', (client) => {
    current.add(client);
    // Without a listener the event ends the process. Only 'connect' is early enough, because the last
    // message of the server can arrive with its first.
    client.on('error', ignore);
  });

  async function connect(): Promise<PoolClient> {
    for (;;) {
      const client = await connectOnce();
      if (current.has(client)) return client;
      client.release(true);
    }
  }

  async function connectOnce(): Promise<PoolClient> {
    const startedAtMs = performance.now();
    try {
      return await pool.connect();
    } catch (error) {
      const lateMs = performance.now() - startedAtMs - CONNECT_WITHIN_MS;
      if (lateMs < STOOD_STILL_MS) throw error;
      return pool.connect();
    }
  }

  async function use<Result>(
    work: (client: Querier) => Promise<Result>,
    explain: (error: unknown) => unknown,
  ): Promise<Result> {
    const client = await connect();
    const isNew = !used.has(client);
    used.add(client);
    let isSound = false;
    try {
      const result = await work(withTimeout(client));
      isSound = true;
      return result;
    } catch (error) {
      if (isReadOnly(error)) {
        // All that were made before may lead to a server that was the primary.
        current = new WeakSet();
        throw isNew ? error : new PassingError('the connection led to a read-only server', { cause: error });
      }
      // After any other error the state of the connection is unknown.
      isSound = isOurOwn(error) || isAnswer(error);
      throw isSound || isMistake(error) ? error : explain(error);
    } finally {
      client.release(!isSound);
    }
  }

  return {
    lookUp: (work) => use((client) => work(toConnection(client)), toPassing),
    write: (work) => use((client) => work(toConnection(client)), toUnknown),
    transaction: (work) => use((client) => runTransaction(client, work), toPassing),
    async close() {
      await Promise.race([pool.end(), new Promise((resolve) => setTimeout(resolve, CLOSE_WITHIN_MS).unref())]);
    },
  };
}

const SLOW_WITHIN_MS = 10 * 60_000;

const CONNECT_AT_START_WITHIN_MS = 10_000;

export function toSlowClientConfig(url: string): PoolConfig {
  return {
    ...toClientConfig(url),
    connectionTimeoutMillis: CONNECT_AT_START_WITHIN_MS,
    statement_timeout: SLOW_WITHIN_MS,
    lock_timeout: SLOW_WITHIN_MS,
    query_timeout: SLOW_WITHIN_MS,
  };
}

export function toClientConfig(url: string): PoolConfig {
  return {
    connectionString: url,
    application_name: 'responses-gateway',
    connectionTimeoutMillis: CONNECT_WITHIN_MS,
    statement_timeout: STATEMENT_WITHIN_MS,
    lock_timeout: LOCK_WITHIN_MS,
    idle_in_transaction_session_timeout: IDLE_IN_TRANSACTION_MS,
    query_timeout: ANSWER_WITHIN_MS,
    keepAlive: true,
    pipeline: true,
    types: { getTypeParser: toParser },
  };
}

interface Querier {
  query<Row extends QueryResultRow>(query: string | QueryConfig): Promise<QueryResult<Row>>;
}

/**
 * Ends a connection that does not answer in time. What has arrived is read first, which the time-out
 * of the driver does not do: the process may have stood still, and not the server.
 */
function withTimeout(client: PoolClient): Querier {
  return {
    async query<Row extends QueryResultRow>(query: string | QueryConfig) {
      let isAnswered = false;
      const giveUp = (): void => {
        if (!isAnswered) client.connection.stream.destroy(new Error('the server did not answer in time'));
      };
      const timer = setTimeout(() => setImmediate(giveUp), ANSWER_WITHIN_MS);
      try {
        return await client.query<Row>(query);
      } finally {
        isAnswered = true;
        clearTimeout(timer);
      }
    },
  };
}

async function runTransaction<Result>(
  client: Querier,
  work: (connection: Connection) => Promise<Committable<Result>>,
): Promise<Result> {
  // It is sent together with the first statement, which fails if it fails.
  client.query(BEGIN).catch(ignore);
  let done: Committable<Result>;
  try {
    done = await work(toConnection(client));
  } catch (error) {
    if (isOurOwn(error) || isAnswer(error)) await client.query('ROLLBACK');
    throw error;
  }
  return commit(client, done);
}

/**
 * The commit is sent before the statements are answered: after a failed statement it is a rollback.
 */
async function commit<Result>(client: Querier, { result, last = [] }: Committable<Result>): Promise<Result> {
  const committed = client.query('COMMIT');
  const outcomes = await Promise.allSettled([...last, committed]);
  const failures = outcomes.flatMap((outcome) => (outcome.status === 'rejected' ? [outcome.reason as unknown] : []));
  const answer = failures.find(isAnswer);
  if (answer !== undefined) throw answer;
  if (failures.length > 0) throw toUnknown(failures[0]);
  return result;
}

export function toConnection(client: Querier): Connection {
  const query = <Row extends object>({ name, text, names = [] }: Statement, values: Values = []) => {
    const list = isValueList(values) ? values : names.map((each) => values[each]);
    return client.query<Row>({ name, text, values: list.map(toStorable) });
  };
  return {
    async rows<Row extends object>(statement: Statement, values?: Values) {
      return (await query<Row>(statement, values)).rows;
    },
    async changes(statement, values) {
      return (await query(statement, values)).rowCount ?? 0;
    },
  };
}

function isValueList(values: Values): values is readonly unknown[] {
  return Array.isArray(values);
}

/** Returns rows as one JSON parameter, from which the statement reads them. */
export function toJson(rows: readonly unknown[]): string {
  const text = JSON.stringify(rows);
  // PostgreSQL stores no NUL and no lone surrogate. This quick test has few false positives.
  return /\\u(?:0000|d[89a-f])/.test(text) ? JSON.stringify(rows, (_key, value: unknown) => toStorable(value)) : text;
}

/** Returns text without NUL and lone surrogates, which PostgreSQL does not take. */
export function toStorable(value: unknown): unknown {
  return typeof value === 'string' ? value.toWellFormed().replaceAll('\0', '\uFFFD') : value;
}

const BOOLEAN = 16;
/** int8, int2, int4 and numeric. Checks of the tables keep them within the safe integers. */
const NUMBERS: ReadonlySet<number> = new Set([20, 21, 23, 1700]);

function toParser(oid: number): (text: string) => unknown {
  if (NUMBERS.has(oid)) return Number;
  return oid === BOOLEAN ? (text) => text === 't' : (text) => text;
}

function isOurOwn(error: unknown): boolean {
  return error instanceof PassingError || error instanceof RangeError;
}

function isMistake(error: unknown): boolean {
  return error instanceof TypeError;
}

function toPassing(error: unknown): Error {
  if (error instanceof UnknownOutcome) return error;
  return new PassingError(`the connection was lost: ${messageOf(error)}`, { cause: error });
}

function toUnknown(error: unknown): Error {
  return new UnknownOutcome(`the connection was lost during a commit: ${messageOf(error)}`, { cause: error });
}

function ignore(): void {
  // The query that waits reports the error.
}

import { Pool, type ClientBase, type PoolClient, type PoolConfig } from 'pg';
import { isAnswer, PassingError, UnknownOutcome } from './failures.ts';

/** A statement which each connection prepares once, under its name. */
export interface Statement {
  readonly name: string;
  readonly text: string;
}

/** A connection for as long as a piece of work has it. */
export interface Connection {
  /** Returns the rows. Statements of one turn go to the server together. */
  rows<Row extends object>(statement: Statement, values?: readonly unknown[]): Promise<readonly Row[]>;
  /** How many rows were changed. */
  changes(statement: Statement, values?: readonly unknown[]): Promise<number>;
}

export interface Connections {
  /** Runs statements which change nothing, without a transaction. */
  lookUp<Result>(work: (connection: Connection) => Promise<Result>): Promise<Result>;
  /** Runs one statement, which is a transaction by itself. Throws UnknownOutcome when it got no answer. */
  write<Result>(work: (connection: Connection) => Promise<Result>): Promise<Result>;
  /** Runs everything of `work` in one transaction and commits it. Throws UnknownOutcome when the commit got no answer. */
  transaction<Result>(work: (connection: Connection) => Promise<Committable<Result>>): Promise<Result>;
  close(): Promise<void>;
}

export interface Committable<Result> {
  readonly result: Result;
  /** Statements which nobody has waited for yet: the commit is sent behind them at once. */
  readonly last?: readonly Promise<unknown>[];
}

export interface PoolOptions {
  readonly url: string;
  readonly size: number;
  readonly onLost: (message: string) => void;
}

/** An unreachable server is noticed after this time, and a call that finds all connections busy waits no longer. */
const CONNECT_WITHIN_MS = 2000;

/** What the server ends by itself: no statement and no lock of ours may hold others up for longer. */
const STATEMENT_WITHIN_MS = 4000;
const LOCK_WITHIN_MS = 1500;

/** A process that is paused in the middle of a transaction must not keep its locks: the server ends the transaction. */
const IDLE_IN_TRANSACTION_MS = 4000;

/** When not even the server answers, the connection is given up. A little longer, so that the server can say why. */
const ANSWER_WITHIN_MS = 5000;

const IDLE_CONNECTION_MS = 30_000;

/** How long `close` waits for connections that are still in use. */
const CLOSE_WITHIN_MS = 3000;

// Fixed, whatever the server's own default is: conditions are looked at again after a wait for a lock.
const BEGIN = 'BEGIN ISOLATION LEVEL READ COMMITTED';

/** Makes a pool, without connecting yet. */
export function openPool({ url, size, onLost }: PoolOptions): Connections {
  const pool = new Pool({ ...toClientConfig(url), max: size, idleTimeoutMillis: IDLE_CONNECTION_MS });
  // Of an idle connection; the pool has put it away, and the next call takes or makes another one.
  pool.on('error', ({ message }) => onLost(message));
  // Of one in use, whose end is told to whoever waits for an answer. Without a listener it would end the process as well, and
  // none of ours would be in time: the server's last word can arrive together with its first.
  pool.on('connect', (client) => client.on('error', ignore));

  /** `explain` says what an error means that is no answer of the server. */
  async function use<Result>(
    work: (client: PoolClient) => Promise<Result>,
    explain: (error: unknown) => unknown,
  ): Promise<Result> {
    const client = await pool.connect();
    let isSound = false;
    try {
      const result = await work(client);
      isSound = true;
      return result;
    } catch (error) {
      // After anything else nobody knows what the connection is in the middle of.
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

/** What a migration or a check of the whole database may take, and how long it may wait for a gateway that migrates. */
const SLOW_WITHIN_MS = 10 * 60_000;

/** Nobody waits for an answer yet, and a process that has just begun on a busy machine is late by itself. */
const CONNECT_AT_START_WITHIN_MS = 10_000;

/** How the connection of a migration or a check is made. */
export function toSlowClientConfig(url: string): PoolConfig {
  return {
    ...toClientConfig(url),
    connectionTimeoutMillis: CONNECT_AT_START_WITHIN_MS,
    statement_timeout: SLOW_WITHIN_MS,
    lock_timeout: SLOW_WITHIN_MS,
    query_timeout: SLOW_WITHIN_MS,
  };
}

/** How each connection is made. */
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
    // What is sent in one turn takes one way to the server and back together.
    pipeline: true,
    types: { getTypeParser: toParser },
  };
}

async function runTransaction<Result>(
  client: PoolClient,
  work: (connection: Connection) => Promise<Committable<Result>>,
): Promise<Result> {
  // Sent together with the first statement; if it fails, so does that one.
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

/** A commit of a transaction in which a statement has failed is a rollback, so that it can be sent before they are answered. */
async function commit<Result>(client: ClientBase, { result, last = [] }: Committable<Result>): Promise<Result> {
  const committed = client.query('COMMIT');
  const outcomes = await Promise.allSettled([...last, committed]);
  const failures = outcomes.flatMap((outcome) => (outcome.status === 'rejected' ? [outcome.reason as unknown] : []));
  const answer = failures.find(isAnswer);
  if (answer !== undefined) throw answer;
  if (failures.length > 0) throw toUnknown(failures[0]);
  return result;
}

export function toConnection(client: ClientBase): Connection {
  const query = <Row extends object>({ name, text }: Statement, values: readonly unknown[] = []) =>
    client.query<Row>({ name, text, values: values.map(toStorable) });
  return {
    async rows<Row extends object>(statement: Statement, values?: readonly unknown[]) {
      return (await query<Row>(statement, values)).rows;
    },
    async changes(statement, values) {
      return (await query(statement, values)).rowCount ?? 0;
    },
  };
}

/** Lists of rows as one parameter, which the statement takes apart. */
export function toJson(rows: readonly unknown[]): string {
  const text = JSON.stringify(rows);
  // What no text of the database can hold, escaped; seldom enough to look again at what only seems so.
  return /\\u(?:0000|d[89a-f])/.test(text) ? JSON.stringify(rows, (_key, value: unknown) => toStorable(value)) : text;
}

/** Names of models come from callers; the database takes no NUL and no half of a surrogate pair. */
export function toStorable(value: unknown): unknown {
  return typeof value === 'string' ? value.toWellFormed().replaceAll('\0', '\uFFFD') : value;
}

const BOOLEAN = 16;
/** int8, int2, int4 and numeric: what is stored cannot leave the safe integers by its checks, nor do the sums of it. */
const NUMBERS: ReadonlySet<number> = new Set([20, 21, 23, 1700]);

/** How the text of a column of this type becomes a value. All other types of ours are texts. */
function toParser(oid: number): (text: string) => unknown {
  if (NUMBERS.has(oid)) return Number;
  return oid === BOOLEAN ? (text) => text === 't' : (text) => text;
}

/** Thrown by the work itself, which has not lost the connection. */
function isOurOwn(error: unknown): boolean {
  return error instanceof PassingError || error instanceof RangeError;
}

function isMistake(error: unknown): boolean {
  return error instanceof TypeError;
}

/** A connection that ended before anything was committed. */
function toPassing(error: unknown): Error {
  if (error instanceof UnknownOutcome) return error;
  return new PassingError(`the connection was lost: ${toMessage(error)}`, { cause: error });
}

function toUnknown(error: unknown): Error {
  return new UnknownOutcome(`the connection was lost during a commit: ${toMessage(error)}`, { cause: error });
}

function toMessage(error: unknown): string {
  return error instanceof Error ? error.message : 'unknown';
}

function ignore(): void {
  // Said elsewhere.
}

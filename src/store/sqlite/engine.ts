import type { Failure } from '../engine/failures.ts';
import type { Mode, Operation, Reply } from '../engine/operations.ts';
import { StoreOpenError } from '../store.ts';
import { openDatabase } from './database.ts';
import { toFailureReason } from './failures.ts';
import { prepareOperations, type SqliteOperations } from './operations.ts';
import { ownersBeside, type Owners } from './owner-lock.ts';

export type EngineOptions = {
  /** This process. */
  readonly owner: string;
} & (
  | { readonly file: string }
  /** In memory. */
  | { readonly file: undefined; readonly owners: Owners }
);

/** The database and its statements, on the thread that calls. `write` runs a batch in one transaction, `read` each operation by itself. */
export interface Engine {
  run(mode: Mode, batch: readonly Operation[]): Reply;
  close(): void;
}

/** How long a start waits for a lock of another process; afterwards the lanes do the waiting. */
const OPEN_WITHIN_MS = 5000;

/** Throws StoreOpenError when the database cannot be opened now. */
export function openEngine(options: EngineOptions): Engine {
  let connection: Connection | undefined = connect(options, OPEN_WITHIN_MS);
  return {
    run(mode, batch) {
      try {
        connection ??= connect(options, 0);
        return { results: connection[mode](batch) };
      } catch (error) {
        const failure = toFailure(error);
        // The file, or the disk under it, may have been replaced by a sound one: the next batch opens it anew.
        const isSuspect = failure.reason === 'io_error' || failure.reason === 'corrupt';
        if (isSuspect && options.file !== undefined) {
          connection?.close();
          connection = undefined;
        }
        return { failure };
      }
    },
    close: () => connection?.close(),
  };
}

type Connection = Record<Mode, (batch: readonly Operation[]) => readonly unknown[]> & { close(): void };

function connect(options: EngineOptions, openWithinMs: number): Connection {
  const database = openDatabase({ file: options.file ?? ':memory:', openWithinMs });
  const owners = options.file === undefined ? options.owners : ownersBeside(options.file);
  const operations = prepareOperations(database, { own: options.owner, owners });
  const begin = database.prepare('BEGIN IMMEDIATE');
  const commit = database.prepare('COMMIT');
  const rollback = database.prepare('ROLLBACK');
  const read = (batch: readonly Operation[]) => {
    operations.actFor(options.owner);
    return batch.map((operation) => attempt(operations, operation));
  };
  return {
    read,
    write(batch) {
      begin.run();
      try {
        const results = read(batch);
        commit.run();
        return results;
      } finally {
        // After some failures, such as a full disk, SQLite has rolled back by itself.
        if (database.inTransaction) rollback.run();
      }
    },
    close: () => database.close(),
  };
}

/**
 * What the operation returns, or the Error of one that broke a rule of the tables: a mistake of ours, for which the others of
 * its batch must not pay. Each operation writes by one statement, so it leaves nothing of itself behind; one that needs two
 * has to put them into a `database.transaction`, which is a savepoint inside the batch. Throws what the database could not do.
 */
function attempt(operations: SqliteOperations, [name, ...parameters]: Operation): unknown {
  try {
    // Each list was checked against its own operation where it was made; here they are all alike.
    const result: unknown = Reflect.apply(operations[name], undefined, parameters);
    return result;
  } catch (error) {
    if (toFailureReason(error) !== undefined || !(error instanceof Error)) throw error;
    return error;
  }
}

function toFailure(error: unknown): Failure {
  const cause = error instanceof StoreOpenError && error.cause !== undefined ? error.cause : error;
  const message = error instanceof Error ? error.message : 'unknown';
  return { reason: toFailureReason(cause) ?? 'io_error', message };
}

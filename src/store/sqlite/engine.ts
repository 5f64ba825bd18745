import type { Failure } from '../shared/failures.ts';
import type { Mode, Operation, Reply } from '../shared/operations.ts';
import { StoreOpenError } from '../store.ts';
import { openDatabase } from './database.ts';
import { toFailureReason } from './failures.ts';
import { prepareRunner } from './operations.ts';
import { ownersInFiles, type Owners } from './owner-lock.ts';

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
  const owners = options.file === undefined ? options.owners : ownersInFiles(options.file);
  const { run, unit } = prepareRunner(database, { own: options.owner, owners });
  const asSelf: Operation = ['asOwner', options.owner];

  const together = database.transaction((batch: readonly Operation[]) => {
    run(asSelf);
    const results = batch.map(run);
    unit.flush();
    return results;
  });

  // Inside another transaction this one is a savepoint.
  const one = database.transaction((operation: Operation) => {
    const result = run(operation);
    unit.flush();
    return result;
  });
  const oneByOne = database.transaction((batch: readonly Operation[]) => {
    run(asSelf);
    return batch.map((operation) => attempt(one, operation));
  });

  /** What the operation returns, or the Error of one that broke a rule of the tables. Throws what the database could not do. */
  function attempt(work: (operation: Operation) => unknown, operation: Operation): unknown {
    try {
      return work(operation);
    } catch (error) {
      unit.discard();
      if (!isMistake(error)) throw error;
      return error;
    }
  }

  return {
    read(batch) {
      run(asSelf);
      return batch.map((operation) => attempt(run, operation));
    },
    write(batch) {
      try {
        return together.immediate(batch);
      } catch (error) {
        unit.discard();
        if (!isMistake(error)) throw error;
        // The others of its batch must not pay for it, and nothing of it is to stay behind.
        return oneByOne.immediate(batch);
      }
    },
    close: () => database.close(),
  };
}

/** Whether it is a mistake of ours, or of who called, and not of the database. */
function isMistake(error: unknown): error is Error {
  return error instanceof Error && toFailureReason(error) === undefined;
}

function toFailure(error: unknown): Failure {
  const cause = error instanceof StoreOpenError && error.cause !== undefined ? error.cause : error;
  const message = error instanceof Error ? error.message : 'unknown';
  return { reason: toFailureReason(cause) ?? 'io_error', message };
}

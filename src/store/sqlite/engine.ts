import type { Failure } from '../shared/failures.ts';
import type { Mode, Operation, Reply } from '../shared/operations.ts';
import { StoreOpenError } from '../store.ts';
import { openDatabase } from './database.ts';
import { toFailureReason } from './failures.ts';
import { prepareRunner } from './operations.ts';
import { ownersInFiles, type Owners } from './owner-lock.ts';

export type EngineOptions = {
  readonly owner: string;
} & ({ readonly file: string } | { readonly file: undefined; readonly owners: Owners });

/** `write` runs a batch in one transaction, `read` runs each operation by itself. */
export interface Engine {
  run(mode: Mode, batch: readonly Operation[]): Reply;
  close(): void;
}

const OPEN_WITHIN_MS = 5000;

/** Throws StoreOpenError when the database cannot be opened. */
export function openEngine(options: EngineOptions): Engine {
  let connection: Connection | undefined = connect(options, OPEN_WITHIN_MS);
  return {
    run(mode, batch) {
      try {
        connection ??= connect(options, 0);
        return { results: connection[mode](batch) };
      } catch (error) {
        const failure = toFailure(error);
        // The file or the disk may have been replaced, so the next batch opens the database again.
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

  // Inside another transaction it is a savepoint.
  const one = database.transaction((operation: Operation) => {
    const result = run(operation);
    unit.flush();
    return result;
  });
  const oneByOne = database.transaction((batch: readonly Operation[]) => {
    run(asSelf);
    return batch.map((operation) => attempt(one, operation));
  });

  /** Returns the Error of an operation that broke a rule. Throws failures of the database. */
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
        // The other operations of the batch run again without it, after all of it was rolled back.
        return oneByOne.immediate(batch);
      }
    },
    close: () => database.close(),
  };
}

function isMistake(error: unknown): error is Error {
  return error instanceof Error && toFailureReason(error) === undefined;
}

function toFailure(error: unknown): Failure {
  const cause = error instanceof StoreOpenError && error.cause !== undefined ? error.cause : error;
  const message = error instanceof Error ? error.message : 'unknown';
  return { reason: toFailureReason(cause) ?? 'io_error', message };
}

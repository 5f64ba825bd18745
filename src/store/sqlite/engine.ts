import type { Database } from 'better-sqlite3';
import { messageOf } from '../../core/errors.ts';
import type { Failure } from '../queue/failures.ts';
import type { Mode, Operation, Reply } from '../queue/operations.ts';
import { createCalendar } from '../calendar.ts';
import { StoreOpenError } from '../../core/books/store.ts';
import { openDatabase } from './database.ts';
import { toFailureReason } from './failures.ts';
import { MovedFile, refuseOtherFile, watchFile, type FileId } from './open-file.ts';
import { prepareRunner } from './operations.ts';
import { ownersInFiles, type Owners } from './owner-lock.ts';

export type EngineOptions = {
  readonly owner: string;
  /** That of the days and months of spend limits. */
  readonly timeZone: string;
} & ({ readonly file: string; readonly fileId: FileId } | { readonly file: undefined; readonly owners: Owners });

/** `write` runs a batch in one transaction, `read` runs each operation by itself. */
export interface Engine {
  run(mode: Mode, batch: readonly Operation[]): Reply;
  close(): void;
}

const OPEN_WITHIN_MS = 5000;

/** Of a transaction, which is committed then. */
interface Work {
  isDone: boolean;
}

/**
 * What the disk has taken of a commit before it failed may be whole. SQLite rolls that back, and
 * finds it again when another connection reads the log anew.
 */
class FailedCommit extends Error {
  override readonly name = 'FailedCommit';
}

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
        // The disk may have been replaced, so the next batch opens the database again.
        const isSuspect = failure.reason === 'io_error' || failure.reason === 'corrupt';
        if (isSuspect && options.file !== undefined) {
          connection?.close();
          connection = undefined;
        }
        const isUncertain = error instanceof FailedCommit && failure.reason === 'io_error';
        return { failure: isUncertain ? { ...failure, reason: 'lost' } : failure };
      }
    },
    close() {
      try {
        connection?.leave();
      } catch {
        // The next recovery removes the lock file.
      }
      connection?.close();
    },
  };
}

type Connection = Record<Mode, (batch: readonly Operation[]) => readonly unknown[]> & {
  /** Removes the lock file of an owner that has left nothing unfinished. */
  leave(): void;
  close(): void;
};

function connect(options: EngineOptions, openWithinMs: number): Connection {
  const { database, checkFile } = open(options, openWithinMs);
  const owners = options.file === undefined ? options.owners : ownersInFiles(options.file);
  const { run, unit } = prepareRunner(database, {
    own: options.owner,
    owners,
    calendar: createCalendar(options.timeZone),
  });
  const asSelf: Operation = ['asOwner', options.owner];
  const selectUnfinished = database.prepare<[string]>('SELECT 1 FROM requests WHERE owner = ? LIMIT 1');

  const together = database.transaction((batch: readonly Operation[], work: Work) => {
    run([asSelf]);
    const results = run(batch);
    unit.flush();
    work.isDone = true;
    return results;
  });

  // Inside another transaction it is a savepoint.
  const one = database.transaction((operation: Operation) => {
    const [result] = run([operation]);
    unit.flush();
    return result;
  });
  const oneByOne = database.transaction((batch: readonly Operation[], work: Work) => {
    run([asSelf]);
    const results = batch.map((operation) => attempt(one, operation));
    work.isDone = true;
    return results;
  });

  function writeAll(batch: readonly Operation[], work: Work): readonly unknown[] {
    try {
      return together.immediate(batch, work);
    } catch (error) {
      unit.discard();
      if (!isMistake(error)) throw error;
      // The other operations of the batch run again without it, after all of it was rolled back.
      return oneByOne.immediate(batch, work);
    }
  }

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
      checkFile();
      run([asSelf]);
      return batch.map((operation) => attempt((each) => run([each])[0], operation));
    },
    write(batch) {
      checkFile();
      const work: Work = { isDone: false };
      try {
        return writeAll(batch, work);
      } catch (error) {
        throw work.isDone ? new FailedCommit(messageOf(error), { cause: error }) : error;
      }
    },
    leave() {
      checkFile();
      if (selectUnfinished.get(options.owner) === undefined) owners.forget(options.owner);
    },
    close: () => database.close(),
  };
}

function isMistake(error: unknown): error is Error {
  return error instanceof Error && toFailureReason(error) === undefined;
}

function open(options: EngineOptions, openWithinMs: number): { database: Database; checkFile: () => void } {
  if (options.file === undefined) {
    return { database: openDatabase({ file: ':memory:', openWithinMs }), checkFile: () => undefined };
  }
  const { file, fileId } = options;
  // A thread that was started again must not take another file for the one of its predecessor.
  refuseOtherFile(file, fileId);
  const database = openDatabase({ file, openWithinMs });
  const checkFile = watchFile(file, fileId);
  try {
    checkFile();
    return { database, checkFile };
  } catch (error) {
    database.close();
    throw error;
  }
}

function toFailure(error: unknown): Failure {
  if (error instanceof MovedFile) return { reason: 'moved', message: error.message };
  const hasCause = error instanceof StoreOpenError || error instanceof FailedCommit;
  const cause = hasCause && error.cause !== undefined ? error.cause : error;
  const message = messageOf(error);
  return { reason: toFailureReason(cause) ?? 'io_error', message };
}

import type { Database } from 'better-sqlite3';
import { prepareLifecycle } from './lifecycle.ts';
import { prepareLists } from './lists.ts';
import { prepareRecovery } from './recovery.ts';
import { prepareRetention } from './retention.ts';

export type Operations = ReturnType<typeof prepareOperations>;
export type OperationName = keyof Operations;

/** One call on its way to the database, as a flat list: the name of the operation and what it takes. */
export type OperationOf<Name extends OperationName> = readonly [Name, ...Parameters<Operations[Name]>];
/** Any of them, in a batch where all kinds are mixed. */
export type Operation = readonly [OperationName, ...unknown[]];
export type ResultOf<Name extends OperationName> = ReturnType<Operations[Name]>;

/** Everything that can be asked of an open database, with its statements prepared. */
export function prepareOperations(database: Database, context: { file: string | undefined; owner: string }) {
  return {
    ...prepareLifecycle(database, context.owner),
    ...prepareLists(database),
    ...prepareRecovery(database, context),
    ...prepareRetention(database),
    ...prepareChecks(database),
  };
}

function prepareChecks(database: Database) {
  const insertProbe = database.prepare('INSERT INTO write_probes (filler) VALUES (zeroblob(4096))');
  const deleteProbes = database.prepare('DELETE FROM write_probes');

  /** Writes as an `accept` would: it needs a new page, so that a full disk is noticed, and leaves nothing behind. */
  function probeWrite(): null {
    insertProbe.run();
    deleteProbes.run();
    return null;
  }

  /** For the operator's commands, and for tests that show or break the state of the connection. */
  function pragma(source: string): unknown {
    return database.pragma(source, { simple: true });
  }

  return { probeWrite, pragma };
}

import { StoreOpenError } from '../../core/books/store.ts';

export interface Migration {
  /** Recorded in the database, so it never changes. */
  readonly name: string;
  readonly sql: string;
  /**
   * The newest migration of the oldest program that may run on the migrated database, for a step
   * that only adds (expand) or removes what this program does not use (contract). Without it,
   * programs that do not know the step are refused.
   */
  readonly runsBeside?: string;
}

/** Returns these steps with `oldest` as what programs must know that run on a database which has them. */
export function runningBeside<Step extends Migration>(oldest: string, steps: readonly Step[]): readonly Step[] {
  return steps.map((step) => ({ ...step, runsBeside: oldest }));
}

export interface AppliedMigration {
  readonly name: string;
  readonly runsBeside: string | null;
}

/** Returns the newest migration that this program must know and does not, if there is one. */
export function findUnknown(
  applied: readonly AppliedMigration[],
  migrations: readonly Migration[],
): string | undefined {
  const known = new Set(migrations.map(({ name }) => name));
  const isRefusing = ({ name, runsBeside }: AppliedMigration) =>
    !known.has(name) && (runsBeside === null || !known.has(runsBeside));
  return applied.findLast(isRefusing)?.name;
}

/** Throws StoreOpenError if the database has a migration that this program must know and does not. */
export function refuseNewer(database: string, applied: readonly AppliedMigration[], known: readonly Migration[]): void {
  const unknown = findUnknown(applied, known);
  if (unknown === undefined) return;
  throw new StoreOpenError(
    `The database ${database} was written by a newer version of this program (it has ${JSON.stringify(unknown)}).`,
  );
}

/** Throws StoreOpenError if the database lacks a migration of this program. */
export function refuseOlder(database: string, applied: readonly AppliedMigration[], known: readonly Migration[]): void {
  const names = new Set(applied.map(({ name }) => name));
  if (known.every(({ name }) => names.has(name))) return;
  throw new StoreOpenError(`The database ${database} is of an older version; db migrate brings it up to this one.`);
}

export interface Upgrade {
  readonly migrations: readonly string[];
  /** Only those that this call ran. */
  readonly applied: readonly string[];
}

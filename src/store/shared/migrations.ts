/** A step of the schema of an engine. */
export interface Migration {
  /** Recorded in the database, so it never changes. */
  readonly name: string;
  readonly sql: string;
  /**
   * The newest migration of the oldest program that may run on the migrated database. For a step
   * that only adds (expand), or that removes what this program no longer uses (contract). Without
   * it, programs that do not know the step are refused.
   */
  readonly runsBeside?: string;
}

export interface AppliedMigration {
  readonly name: string;
  readonly runsBeside: string | null;
}

/**
 * Returns the newest migration of the database that this program must know and does not. Undefined
 * when the program may use the database.
 */
export function findUnknown(
  applied: readonly AppliedMigration[],
  migrations: readonly Migration[],
): string | undefined {
  const known = new Set(migrations.map(({ name }) => name));
  const isRefusing = ({ name, runsBeside }: AppliedMigration) =>
    !known.has(name) && (runsBeside === null || !known.has(runsBeside));
  return applied.findLast(isRefusing)?.name;
}

export interface Upgrade {
  /** The names of all migrations of the database, in order. */
  readonly migrations: readonly string[];
  /** The names of those that this call ran. */
  readonly applied: readonly string[];
}

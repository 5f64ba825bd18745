/** A step of the schema of an engine. */
export interface Migration {
  /** Recorded in the database, so it never changes. */
  readonly name: string;
  readonly sql: string;
  /**
   * The newest migration of the oldest program that may run beside this one, for a step which only adds (expand) or which
   * takes away what that program uses no more (contract). Without it every program must know this step, and older ones are
   * refused.
   */
  readonly runsBeside?: string;
}

/** A step as the database knows it. */
export interface AppliedMigration {
  readonly name: string;
  readonly runsBeside: string | null;
}

/**
 * The newest step that has run on the database, is not known to this program, and does not allow it to run beside. Undefined
 * when the program may go on.
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
  /** The names of all migrations that the database has had by now, in their order. */
  readonly migrations: readonly string[];
  /** Those of them that ran just now. */
  readonly applied: readonly string[];
}

import { showDatabase } from '../database-url.ts';
import type { LedgerSums, SourceTable, TransferSource, TransferTarget } from './plan.ts';
import { withIdleSource, withSourceAsItIs } from './sqlite-source.ts';

export interface TransferOptions {
  readonly file: string;
  /** Includes the password. */
  readonly url: string;
  readonly signal: AbortSignal;
  readonly onProgress: (progress: TransferProgress) => void;
  readonly clock: () => number;
}

export interface TransferProgress {
  readonly step: 'copy' | 'compare';
  readonly rows: number;
  readonly ofRows: number;
}

export interface TransferReport {
  /** How many requests of dead gateways had to be closed before. */
  readonly closed: number;
  readonly tables: readonly { readonly name: string; readonly rows: number }[];
  readonly sums: LedgerSums;
}

export interface TransferPlan {
  readonly unfinished: number;
  readonly tables: TransferReport['tables'];
}

export class TransferMismatch extends Error {
  override readonly name = 'TransferMismatch';
}

/**
 * Copies all tables and reads every row back to compare it, in one transaction: all of it comes, or nothing. Throws
 * StoreOpenError when it cannot begin or go on, TransferMismatch when a table differs, and the reason of the signal.
 */
export async function transferDatabase(options: TransferOptions): Promise<TransferReport> {
  const { openTarget } = await import('./postgres-target.ts');
  return withIdleSource(options.file, options.clock, async (source, closed) => {
    const target = await openTarget({ url: options.url, tables: source.tables });
    try {
      await copy(source, target, options);
      await target.settle();
      const problems = [...(await compare(source, target, options)), ...(await compareSums(source, target))];
      if (problems.length > 0) throw new TransferMismatch(describeMismatch(problems, options));
      await target.commit();
      return { closed, tables: source.tables.map(toCount), sums: source.sums() };
    } finally {
      await target.close();
    }
  });
}

/** Returns what `transferDatabase` would do. Throws StoreOpenError when it could not begin. */
export async function planTransfer({
  file,
  url,
}: {
  readonly file: string;
  readonly url: string;
}): Promise<TransferPlan> {
  const { checkTarget } = await import('./postgres-target.ts');
  return withSourceAsItIs(file, async ({ tables }, unfinished) => {
    await checkTarget({ url, tables });
    return { unfinished, tables: tables.map(toCount) };
  });
}

async function copy(source: TransferSource, target: TransferTarget, options: TransferOptions): Promise<void> {
  const { signal, onProgress } = options;
  const ofRows = countAll(source);
  let rows = 0;
  onProgress({ step: 'copy', rows, ofRows });
  for (const table of source.tables) {
    for (const batch of source.read(table)) {
      signal.throwIfAborted();
      await target.write(table, batch);
      rows += batch.length;
      onProgress({ step: 'copy', rows, ofRows });
    }
  }
}

async function compare(
  source: TransferSource,
  target: TransferTarget,
  { signal, onProgress }: TransferOptions,
): Promise<readonly string[]> {
  const ofRows = countAll(source);
  const problems: string[] = [];
  let rows = 0;
  for (const table of source.tables) {
    let differing = 0;
    for (const batch of source.read(table)) {
      signal.throwIfAborted();
      differing += batch.length - (await target.countEqual(table, batch));
      rows += batch.length;
      onProgress({ step: 'compare', rows, ofRows });
    }
    const count = await target.count(table);
    if (differing > 0) problems.push(`${table.name}: ${differing} rows are missing or differ.`);
    if (count !== table.rows) problems.push(`${table.name}: ${count} rows, where the source has ${table.rows}.`);
  }
  return problems;
}

async function compareSums(source: TransferSource, target: TransferTarget): Promise<readonly string[]> {
  const [expected, found] = [source.sums(), await target.sums()];
  const names = ['ledger', 'balances', 'held'] as const;
  const wrongSums = names
    .filter((name) => expected[name] !== found[name])
    .map((name) => `The sum of ${name} is ${found[name]} millionths, where the source has ${expected[name]}.`);
  return [...wrongSums, ...(await target.findLedgerProblems())];
}

function describeMismatch(problems: readonly string[], { url }: TransferOptions): string {
  return [`${showDatabase(url)} would not be what the source is, so nothing was kept:`, ...problems].join('\n');
}

function toCount({ name, rows }: SourceTable): { name: string; rows: number } {
  return { name, rows };
}

function countAll({ tables }: TransferSource): number {
  return tables.reduce((sum, { rows }) => sum + rows, 0);
}

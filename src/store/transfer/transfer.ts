import { showDatabase } from '../database-url.ts';
import type { Batch, LedgerSums, SourceTable, TransferSource, TransferState, TransferTarget } from './plan.ts';
import { withIdleSource, withSourceAsItIs } from './sqlite-source.ts';

export interface TransferOptions {
  readonly file: string;
  /** Includes the password. */
  readonly url: string;
  readonly restart: boolean;
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
  /** False when an earlier run had finished. */
  readonly isNew: boolean;
  readonly resumedAtRows: number;
  readonly closed: number;
  readonly tables: readonly { readonly name: string; readonly rows: number }[];
  readonly sums: LedgerSums;
}

export type TransferPlan = Pick<TransferReport, 'tables' | 'sums'> & {
  readonly unfinished: number;
  readonly state: TransferState;
};

export class TransferMismatch extends Error {
  override readonly name = 'TransferMismatch';
}

/**
 * Copies all tables, reads every row back to compare it, and only then lets gateways use the
 * target. Continues an interrupted run. Throws StoreOpenError when it cannot begin or continue,
 * TransferMismatch when a table differs, and the reason of the signal.
 */
export async function transferDatabase(options: TransferOptions): Promise<TransferReport> {
  const { openTarget } = await import('./postgres-target.ts');
  return withIdleSource(options.file, options.clock, async (source, closed) => {
    const target = await openTarget({ url: options.url, tables: source.tables });
    try {
      return { ...(await transfer(source, target, options)), closed };
    } finally {
      await target.close();
    }
  });
}

/** Returns what `transferDatabase` would do. Throws StoreOpenError when it could not begin. */
export async function planTransfer({ file, url }: Pick<TransferOptions, 'file' | 'url'>): Promise<TransferPlan> {
  const { checkTarget } = await import('./postgres-target.ts');
  return withSourceAsItIs(file, async (source, unfinished) => {
    const state = await checkTarget({ url, tables: source.tables });
    return { state, unfinished, tables: source.tables.map(toCount), sums: source.sums() };
  });
}

async function transfer(
  source: TransferSource,
  target: TransferTarget,
  options: TransferOptions,
): Promise<Omit<TransferReport, 'closed'>> {
  const report = { tables: source.tables.map(toCount), sums: source.sums() };
  const state = await target.begin(options);
  if (state === 'finished') return { ...report, isNew: false, resumedAtRows: 0 };
  const resumedAtRows = await copy(source, target, options);
  await target.settle();
  const problems = [...(await compare(source, target, options)), ...(await compareSums(source, target))];
  if (problems.length > 0) throw new TransferMismatch(describeMismatch(problems, options));
  await target.finish();
  return { ...report, isNew: true, resumedAtRows };
}

async function copy(
  source: TransferSource,
  target: TransferTarget,
  { signal, onProgress }: TransferOptions,
): Promise<number> {
  const ofRows = countAll(source);
  let arrived = 0;
  for (const table of source.tables) arrived += await target.countArrived(table);
  const resumedAtRows = arrived;
  onProgress({ step: 'copy', rows: arrived, ofRows });
  for (const table of source.tables) {
    for (;;) {
      signal.throwIfAborted();
      const taken = await target.take(table, (position) => source.read(table, position));
      if (taken === 0) break;
      arrived += taken;
      onProgress({ step: 'copy', rows: arrived, ofRows });
    }
  }
  return resumedAtRows;
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
    for (const batch of readAll(source, table)) {
      signal.throwIfAborted();
      differing += batch.rows.length - (await target.countEqual(table, batch));
      rows += batch.rows.length;
      onProgress({ step: 'compare', rows, ofRows });
    }
    const count = await target.count(table);
    if (differing > 0) problems.push(`${table.name}: ${differing} rows are missing or differ.`);
    if (count !== table.rows) problems.push(`${table.name}: ${count} rows, where the source has ${table.rows}.`);
  }
  return problems;
}

function* readAll(source: TransferSource, table: SourceTable): Generator<Batch> {
  let batch = source.read(table, null);
  while (batch !== undefined) {
    yield batch;
    batch = source.read(table, batch.position);
  }
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
  const what = `${showDatabase(url)} is not what the source is, and no gateway may use it:`;
  return [what, ...problems, 'Run it again with --restart to begin anew.'].join('\n');
}

function toCount({ name, rows }: SourceTable): { name: string; rows: number } {
  return { name, rows };
}

function countAll({ tables }: TransferSource): number {
  return tables.reduce((sum, { rows }) => sum + rows, 0);
}

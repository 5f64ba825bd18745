/** Values are exact: integers are bigints. */
export type Value = bigint | string | null;

export interface SourceTable {
  readonly name: string;
  readonly columns: readonly string[];
  /** The primary key. */
  readonly key: readonly string[];
  readonly rows: number;
  /** The highest number that a row ever had. New rows must get higher ones. */
  readonly highestNumber: bigint;
}

export type Batch = readonly (readonly Value[])[];

export interface TransferSource {
  readonly tables: readonly SourceTable[];
  read(table: SourceTable): Iterable<Batch>;
  sums(): LedgerSums;
}

/** In millionths, as text, because the sums are exact. */
export interface LedgerSums {
  readonly ledger: string;
  readonly balances: string;
  readonly held: string;
}

/** Nobody sees any of it before `commit`. */
export interface TransferTarget {
  write(table: SourceTable, batch: Batch): Promise<void>;
  /** Updates the statistics of the planner. */
  settle(): Promise<void>;
  countEqual(table: SourceTable, batch: Batch): Promise<number>;
  count(table: SourceTable): Promise<number>;
  sums(): Promise<LedgerSums>;
  findLedgerProblems(): Promise<readonly string[]>;
  commit(): Promise<void>;
  /** Drops what was not committed. */
  close(): Promise<void>;
}

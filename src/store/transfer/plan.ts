/** Values are exact: integers are bigints. */
export type Value = bigint | string | null;

export interface SourceTable {
  readonly name: string;
  readonly columns: readonly string[];
  /** The primary key. Rows are transferred in its order. */
  readonly key: readonly string[];
  readonly rows: number;
  readonly lastPosition: string | null;
  /** The highest number that a row ever had. New rows must get higher ones. */
  readonly highestNumber: bigint;
}

export interface Batch {
  readonly rows: readonly (readonly Value[])[];
  readonly position: string;
}

export interface TransferSource {
  readonly tables: readonly SourceTable[];
  /** Null reads from the beginning. Undefined is the end. */
  read(table: SourceTable, position: string | null): Batch | undefined;
  sums(): LedgerSums;
}

/** In millionths, as text, because the sums are exact. */
export interface LedgerSums {
  readonly ledger: string;
  readonly balances: string;
  readonly held: string;
}

export type TransferState = 'new' | 'unfinished' | 'finished';

export interface TransferTarget {
  /** Marks the target. Throws when it cannot be used. */
  begin(options: { readonly restart: boolean }): Promise<TransferState>;
  countArrived(table: SourceTable): Promise<number>;
  /** Writes the rows that `read` returns, and returns how many, 0 at the end. */
  take(table: SourceTable, read: (position: string | null) => Batch | undefined): Promise<number>;
  /** Updates the statistics of the planner. */
  settle(): Promise<void>;
  countEqual(table: SourceTable, batch: Batch): Promise<number>;
  count(table: SourceTable): Promise<number>;
  sums(): Promise<LedgerSums>;
  findLedgerProblems(): Promise<readonly string[]>;
  /** Lets gateways use the target. */
  finish(): Promise<void>;
  close(): Promise<void>;
}

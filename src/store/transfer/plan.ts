/**
 * The interface between the two ends of a transfer of a whole database. Values are exact: integers
 * are bigints.
 */

export type Value = bigint | string | null;

/** A table of the source at the moment of the transfer. */
export interface SourceTable {
  readonly name: string;
  readonly columns: readonly string[];
  /** The columns of its primary key. Rows are transferred in its order. */
  readonly key: readonly string[];
  readonly rows: number;
  /** The key of the last row, as text; null for an empty table. */
  readonly lastPosition: string | null;
  /**
   * The highest number that a row ever had, where rows are numbered. New rows must get higher ones.
   */
  readonly highestNumber: bigint;
}

/** Consecutive rows, and the position after them. */
export interface Batch {
  /** Values in the order of the columns. */
  readonly rows: readonly (readonly Value[])[];
  readonly position: string;
}

export interface TransferSource {
  readonly tables: readonly SourceTable[];
  /** Returns the rows after this position, or from the beginning for null; undefined at the end. */
  read(table: SourceTable, position: string | null): Batch | undefined;
  sums(): LedgerSums;
}

/** In millionths, as text, because the sums are exact. */
export interface LedgerSums {
  readonly ledger: string;
  readonly balances: string;
  readonly held: string;
}

/** `unfinished`: this run continues an interrupted one. `finished`: there is nothing left to do. */
export type TransferState = 'new' | 'unfinished' | 'finished';

export interface TransferTarget {
  /**
   * Marks the target. `restart` deletes what an unfinished transfer has copied. Throws when the
   * target cannot be used.
   */
  begin(options: { readonly restart: boolean }): Promise<TransferState>;
  /** Returns how many rows of the table have arrived, in this run or an earlier one. */
  countArrived(table: SourceTable): Promise<number>;
  /**
   * Writes the rows that `read` returns for the position of the target; returns how many, 0 at the
   * end.
   */
  take(table: SourceTable, read: (position: string | null) => Batch | undefined): Promise<number>;
  /** Updates the statistics of the planner. */
  settle(): Promise<void>;
  /** Returns how many of these rows the target has unchanged. */
  countEqual(table: SourceTable, batch: Batch): Promise<number>;
  count(table: SourceTable): Promise<number>;
  sums(): Promise<LedgerSums>;
  /** Returns a sentence for each key whose ledger does not add up. */
  findLedgerProblems(): Promise<readonly string[]>;
  /** Lets gateways use the target. */
  finish(): Promise<void>;
  close(): Promise<void>;
}

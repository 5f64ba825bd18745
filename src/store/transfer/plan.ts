/** What the two ends of a transfer of a whole database tell each other. Values are exact: integers are bigints. */

export type Value = bigint | string | null;

/** A table as the source has it, at the moment of which the transfer is. */
export interface SourceTable {
  readonly name: string;
  readonly columns: readonly string[];
  /** The columns of its primary key, in whose order rows are handed over. */
  readonly key: readonly string[];
  readonly rows: number;
  /** The key of its last row, as text; null when it is empty. */
  readonly lastPosition: string | null;
  /** The highest number that was ever given to a row, where rows are numbered: later ones must be above it. */
  readonly highestNumber: bigint;
}

/** Some rows that follow each other, and the place behind them. */
export interface Batch {
  /** Each in the order of the columns. */
  readonly rows: readonly (readonly Value[])[];
  readonly position: string;
}

export interface TransferSource {
  readonly tables: readonly SourceTable[];
  /** The rows behind this place, from the beginning for null; undefined when there are no more. */
  read(table: SourceTable, position: string | null): Batch | undefined;
  sums(): LedgerSums;
}

/** In millionths, as text: sums of exact numbers. */
export interface LedgerSums {
  readonly ledger: string;
  readonly balances: string;
  readonly held: string;
}

/** `unfinished`: an earlier run was interrupted, and this one goes on. `finished`: there is nothing left to do. */
export type TransferState = 'new' | 'unfinished' | 'finished';

export interface TransferTarget {
  /** Marks what is to come. `restart` throws away what an unfinished transfer has brought. Throws when anything is in the way. */
  begin(options: { readonly restart: boolean }): Promise<TransferState>;
  /** How many rows of the table have arrived by now, in this run or an earlier one. */
  countArrived(table: SourceTable): Promise<number>;
  /** Takes the rows that `read` gives for the place which the target has reached; returns how many, and 0 at the end. */
  take(table: SourceTable, read: (position: string | null) => Batch | undefined): Promise<number>;
  /** Makes it quick to find rows again. */
  settle(): Promise<void>;
  /** How many of these rows the target has exactly so. */
  countEqual(table: SourceTable, batch: Batch): Promise<number>;
  count(table: SourceTable): Promise<number>;
  sums(): Promise<LedgerSums>;
  /** A sentence for each key whose books do not add up. */
  findLedgerProblems(): Promise<readonly string[]>;
  /** From now on gateways may use the target. */
  finish(): Promise<void>;
  close(): Promise<void>;
}

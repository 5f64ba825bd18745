/** The calls between the first process and its workers. */
import type { Config } from '../../config/config.ts';
import type { MetricSnapshot } from '../../telemetry/metrics.ts';
import type { StoreClient } from '../../store/sqlite/sqlite-store.ts';
import type { PriceTable } from '../../contract/types.ts';

/** The functions that the first process serves to a worker. */
export type PrimaryService = {
  /** Runs a batch in the engine of the store, where the first process has it. */
  readonly run: StoreClient['run'];
  /** Returns the metrics of all processes. */
  readonly showMetrics: () => Promise<string>;
};

/** The functions that a worker serves to the first process. */
export type WorkerService = {
  /** Opens a gateway, and resolves when it listens. Throws with one line for the operator. */
  readonly start: (start: WorkerStart) => Promise<Address>;
  readonly probe: () => Promise<string | undefined>;
  readonly ping: () => void;
  readonly snapshotMetrics: () => Promise<MetricSnapshot>;
  /** Another worker has received the request for a cancel. */
  readonly hearCancel: () => void;
  readonly changePrices: (table: PriceTable) => void;
  /**
   * Ends the worker after its running requests; `close` does not wait for them. Neither is
   * answered.
   */
  readonly drain: () => Promise<void>;
  readonly close: () => Promise<void>;
};

/** Where a gateway listens. */
export interface Address {
  readonly url: string;
  readonly metricsUrl?: string;
}

/** A worker that is started later gets the same, so that a file that has changed holds for none. */
export interface WorkerStart {
  /** Counts from 1. A worker that replaces a dead one has its number. */
  readonly number: number;
  readonly config: Omit<Config, 'prices'>;
  readonly priceTable: PriceTable | null;
  readonly demoBaseUrl: string | null;
  /**
   * Whether the first process has the store; otherwise each worker has its own connections to
   * PostgreSQL.
   */
  readonly isStoreClient: boolean;
}

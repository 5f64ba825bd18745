/** What the first process and its workers ask of each other. */
import type { Config } from '../../config/config.ts';
import type { MetricSnapshot } from '../../telemetry/metrics.ts';
import type { StoreClient } from '../../store/sqlite/sqlite-store.ts';
import type { PriceTable } from '../../contract/types.ts';

/** What a worker asks of the first process. */
export type PrimaryService = {
  /** Of the engine of the records, where they are kept by the first process. */
  readonly run: StoreClient['run'];
  /** The metrics of all of them. */
  readonly showMetrics: () => Promise<string>;
};

/** What the first process asks of a worker. */
export type WorkerService = {
  /** Opens a gateway, and resolves when it listens. Fails with one line for the operator. */
  readonly start: (start: WorkerStart) => Promise<Address>;
  readonly probe: () => Promise<string | undefined>;
  /** Answers when it is not stuck. */
  readonly ping: () => void;
  readonly snapshotMetrics: () => Promise<MetricSnapshot>;
  /** Somebody has asked another worker for a cancel. */
  readonly hearCancel: () => void;
  readonly changePrices: (table: PriceTable) => void;
  /** Lets what runs end, and ends the worker; `close` does not wait for what runs. Neither is answered. */
  readonly drain: () => Promise<void>;
  readonly close: () => Promise<void>;
};

/** Where a gateway listens. */
export interface Address {
  readonly url: string;
  readonly metricsUrl?: string;
}

/** With what each worker begins, also one that comes later: files that have been changed meanwhile hold for none of them. */
export interface WorkerStart {
  /** From 1. The one that takes the place of a dead one has its number. */
  readonly number: number;
  readonly config: Omit<Config, 'prices'>;
  readonly priceTable: PriceTable | null;
  readonly demoBaseUrl: string | null;
  /** Whether the first process keeps the records; otherwise each worker has its own connections to their server. */
  readonly isStoreClient: boolean;
}

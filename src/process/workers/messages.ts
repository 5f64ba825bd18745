import type { BackendTable } from '../../config/backends-file.ts';
import type { Config } from '../../config/config.ts';
import type { Addresses } from '../../config/banner.ts';
import type { MetricSnapshot } from '../../telemetry/metrics.ts';
import type { StoreClient } from '../../store/sqlite/sqlite-store.ts';
import type { ModelTable, PriceTable } from '../../contract/settings-types.ts';
import type { AdminBackend, AdminLimit } from '../../contract/operator-types.ts';

export type PrimaryService = {
  readonly run: StoreClient['run'];
  readonly showMetrics: () => Promise<string>;
  readonly listBackends: () => Promise<readonly AdminBackend[]>;
  readonly listLimits: () => Promise<readonly AdminLimit[]>;
};

export type WorkerService = {
  /** Resolves when the gateway listens. Throws with one line for the operator. */
  readonly start: (start: WorkerStart) => Promise<Addresses>;
  readonly probe: () => Promise<string | undefined>;
  readonly ping: () => void;
  readonly snapshotMetrics: () => Promise<MetricSnapshot>;
  readonly listBackends: () => readonly AdminBackend[];
  readonly listLimits: () => readonly AdminLimit[];
  readonly hearCancel: () => void;
  readonly changeTables: (tables: Tables) => void;
  /** `drain` waits for the running requests, `close` does not. Neither is answered. */
  readonly drain: () => Promise<void>;
  readonly close: () => Promise<void>;
};

export interface Tables {
  readonly apiKeys: readonly string[];
  readonly prices: PriceTable | null;
  readonly models: ModelTable | null;
  readonly backends: BackendTable | null;
}

export interface WorkerStart {
  /** Counts from 1. A worker that replaces a dead one has its number. */
  readonly number: number;
  /** Without the tables, whose functions cannot be sent. */
  readonly config: Config;
  readonly tables: Tables;
  readonly demoBaseUrl: string | null;
  /** Is false when each worker has its own connections to PostgreSQL. */
  readonly isStoreClient: boolean;
}

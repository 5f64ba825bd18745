import type { RequestHandler } from 'express';
import type { RateLimits } from '../accounts/rates.ts';
import type { KnownRefusals } from '../backend/refused-fields.ts';
import type { AdminBackend, AdminLimit } from '../contract/types.ts';
import type { Config } from '../config/config.ts';
import type { CurrentFiles } from '../config/current-files.ts';
import type { NewUniquePart } from '../core/ids.ts';
import type { Identity } from '../identity/identities.ts';
import type { Preparation } from '../requests/preparation/preparation.ts';
import type { RelayServices } from '../requests/relay.ts';
import type { RespondServices } from '../requests/respond.ts';
import type { AccountStore } from '../store/keys.ts';
import type { Metrics } from '../telemetry/metrics.ts';
import type { ObserveRequestsOptions } from '../telemetry/observe.ts';
import type { StatsObserver } from '../telemetry/request-stats.ts';
import type { Tokenizer } from '../tokenizer/tokenizer.ts';
import type { Authenticator } from './access/authenticate.ts';
import type { Load } from './access/load.ts';
import type { Backends, RoutedInputCounter } from '../backend/backends.ts';
import type { Proxies } from './passthrough/proxies.ts';

export interface Services
  extends Omit<Config, 'prices' | 'models' | 'backends'>, RespondServices, RelayServices, ObserveRequestsOptions {
  readonly demo: boolean;
  readonly marks: Identity;
  readonly accounts: AccountStore;
  readonly rateLimits: RateLimits | undefined;
  readonly prices: CurrentFiles['prices'];
  readonly models: CurrentFiles['models'];
  readonly authenticator: Authenticator;
  readonly load: Load;
  readonly refusals: KnownRefusals;
  readonly backends: Backends;
  /** What the operator sees of them, of all processes. */
  readonly listBackends: () => Promise<readonly AdminBackend[]>;
  readonly listLimits: () => Promise<readonly AdminLimit[]>;
  readonly inputCounter: RoutedInputCounter;
  readonly proxies: Proxies;
  readonly tokenizer: Tokenizer;
  readonly preparation: Preparation;
  readonly stats: Pick<StatsObserver, 'flush'>;
  readonly metrics: Pick<Metrics, 'show' | 'contentType'> | undefined;
  readonly newUniquePart: NewUniquePart;
  /** A client that takes no bytes for this long is disconnected. */
  readonly clientStallMs: number;
  readonly loadWebSocket: () => Promise<RequestHandler>;
}

import type { RequestHandler } from 'express';
import type { Logger } from 'pino';
import type { Admission } from '../accounts/admission.ts';
import type { KnownRefusals } from '../backend/refused-fields.ts';
import type { AdminBackend } from '../contract/operator-types.ts';
import type { Config } from '../config/config.ts';
import type { CurrentFiles } from '../config/current-files.ts';
import type { Identity, NewUniquePart } from '../core/ids.ts';
import type { Identities } from '../identity/identities.ts';
import type { AccountStore } from '../core/books/keys.ts';
import type { AccessServices } from '../access/services.ts';
import type { RequestServices } from '../requests/open.ts';
import type { Store } from '../core/books/store.ts';
import type { ShownMetrics } from '../telemetry/metrics.ts';
import type { Observe } from '../telemetry/observe.ts';
import type { StatsObserver } from '../telemetry/request-stats.ts';
import type { Tokenizer } from '../tokenizer/tokenizer.ts';
import type { Backends, RoutedInputCounter } from '../backend/backends.ts';
import type { RoutedForward } from '../backend/failover.ts';

/** What the gateway has opened, in groups. A route takes the groups that it needs. */
export interface Services {
  readonly settings: Config;
  readonly requests: RequestServices;
  readonly access: AccessServices;
  readonly books: BookServices;
  readonly backends: BackendServices;
  readonly telemetry: TelemetryServices;
  readonly tokenizer: Tokenizer;
  readonly loadWebSocket: () => Promise<RequestHandler>;
}

/** Keys, money and records. */
export interface BookServices {
  readonly store: Store;
  readonly accounts: AccountStore;
  readonly admission: Admission;
  readonly identities: Identities;
  readonly marks: Identity;
  readonly prices: CurrentFiles['prices'];
  readonly models: CurrentFiles['models'];
  readonly nowMs: () => number;
}

export interface BackendServices {
  readonly demo: boolean;
  readonly backends: Backends;
  readonly inputCounter: RoutedInputCounter;
  readonly failover: RoutedForward;
  readonly refusals: KnownRefusals;
  /** What the operator sees of them, of all processes. */
  readonly listBackends: () => Promise<readonly AdminBackend[]>;
}

export interface TelemetryServices {
  readonly log: Logger;
  readonly observe: Observe;
  readonly newUniquePart: NewUniquePart;
  readonly stats: StatsObserver;
  readonly metrics: ShownMetrics | undefined;
}

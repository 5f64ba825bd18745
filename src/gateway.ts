import { setTimeout as delay } from 'node:timers/promises';
import type { Logger } from 'pino';
import { ADMIT_ALL, createAdmission } from './accounts/admission.ts';
import { rememberKeys } from './accounts/keys.ts';
import { createRateLimits } from './accounts/rates.ts';
import { createChatBackend, type ChatBackend } from './backend/chat.ts';
import { startDemoBackend } from './backend/demo/demo.ts';
import { probeKeys } from './backend/probe.ts';
import { COMMAND_LINE, describeStart } from './config/banner.ts';
import { wantsMetrics, type Config } from './config/config.ts';
import { createCurrentPrices, type CurrentPrices } from './config/current-prices.ts';
import { loadSecret, openWithSecret } from './config/gateway-secret.ts';
import { watchPrices } from './config/price-watch.ts';
import { toRequestId, type NewUniquePart } from './core/ids.ts';
import { createTokenEstimator } from './core/tokens/estimate.ts';
import { createAuthenticator } from './http/access/authenticate.ts';
import { createLoad } from './http/access/load.ts';
import { createApp, createMetricsApp } from './http/app.ts';
import { serverClassesOf } from './http/express-prototypes.ts';
import { createProxy } from './http/passthrough/relay.ts';
import { closeServer, createHttpServer, listen } from './http/server.ts';
import type { Services } from './http/services.ts';
import { createIdentities, createMark } from './identity/identities.ts';
import { createSealer } from './identity/seal.ts';
import { newUniquePartAt } from './identity/unique-part.ts';
import { watchCancels } from './requests/cancel-watch.ts';
import { createItemMemory } from './requests/item-memory.ts';
import { createRunningRequests } from './requests/running.ts';
import type { AccountStore } from './store/keys.ts';
import { openStore } from './store/open.ts';
import type { Store } from './store/store.ts';
import { timeStore } from './store/timed-store.ts';
import { toProviderName } from './telemetry/gen-ai.ts';
import { createLogger, openLogOutput, requestLines } from './telemetry/log.ts';
import type { Metrics, MetricsOptions } from './telemetry/metrics.ts';
import { createObserve } from './telemetry/observe.ts';
import { createTracing } from './telemetry/traces.ts';
import { createTokenizer } from './tokenizer/tokenizer.ts';
import { createSockets, isHandshake } from './web-socket/sockets.ts';

export { readConfig, ConfigError, type Config } from './config/config.ts';

export interface Gateway {
  /** Begins to listen on `HOST` and `PORT`, and on `METRICS_PORT` if there is one. Returns where, without a slash at the end. Throws when the port is taken. */
  listen(): Promise<{ readonly url: string; readonly metricsUrl?: string }>;
  /** Accepts nothing new, lets what runs end within `DRAIN_TIMEOUT_MS`, ends the rest by its failure path, and closes. */
  drain(): Promise<void>;
  /** Ends what runs by its failure path at once, and closes. */
  close(): Promise<void>;
  /**
   * Looks for what the operator has probably not meant: a backend that takes any key, which lets callers with the same key
   * share their records, or a gateway that issues keys and has none. Returns a sentence for the operator, or undefined when
   * all is well or nothing is to be tried. Takes 3 s at most.
   */
  probe(): Promise<string | undefined>;
  /** Reads `PRICES_FILE` again, for the requests that come from now on, and logs what came of it. Does not throw. */
  reload(): void;
  /** What a person reads at the start, line by line. */
  readonly banner: readonly string[];
}

/** What a test or a program that embeds the gateway may put in place of its own parts. */
export interface GatewayOverrides {
  readonly store?: Store;
  readonly backend?: ChatBackend;
  readonly log?: Logger;
  /** Unix time in milliseconds. */
  readonly nowMs?: () => number;
  readonly newUniquePart?: NewUniquePart;
  readonly shared?: SharedParts;
}

/** What the processes that share a port have in common (`WORKERS`). */
export interface SharedParts {
  /** Where their embedded demo backend answers, `/v1` included; null when there is a real one. */
  readonly demoBaseUrl: string | null;
  readonly prices: CurrentPrices;
  /** Is told of the metrics of this process; returns those of all together. */
  readonly joinMetrics: (metrics: Metrics) => Pick<Metrics, 'show' | 'contentType'>;
}

/** How long a request may take to reach its end after it has been told to. */
const INTERRUPT_MS = 2000;

/**
 * Puts the parts together. Nothing listens yet, but the store is open and, without `UPSTREAM_BASE_URL`, the demo backend
 * runs; `close` ends both. Throws when the store cannot be opened, and ConfigError when its database knows another secret.
 */
export async function createGateway(config: Config, overrides: GatewayOverrides = {}): Promise<Gateway> {
  const nowMs = overrides.nowMs ?? Date.now;
  const newUniquePart = overrides.newUniquePart ?? (() => newUniquePartAt(nowMs()));
  const log = overrides.log ?? createLogger(config.logLevel, await openLogOutput(config.logFormat));
  const isManaged = config.authMode === 'managed';
  const keyOwner = config.authMode === 'passthrough' ? 'caller' : 'gateway';
  const { shared } = overrides;

  const { store: records, secret } = await openRecords(config, overrides, { clock: nowMs, log });
  const identities = createIdentities(secret, config.gatewaySecretPrevious);
  const sealers = {
    reasoning: createSealer('reasoning', secret, config.gatewaySecretPrevious),
    compaction: createSealer('compaction', secret, config.gatewaySecretPrevious),
  };

  const isDemo = config.upstreamBaseUrl === null;
  const demo = isDemo && shared === undefined ? await startDemoBackend() : undefined;
  const baseUrl = config.upstreamBaseUrl ?? demo?.baseUrl ?? shared?.demoBaseUrl ?? '';
  const towardsBackend = {
    ...config,
    baseUrl,
    keyOwner,
    hidesLimits: isManaged,
    onOperatorProblem: (problem: string) => log.error({ problem }, 'the backend needs the operator'),
  } as const;
  const upstream = createChatBackend({ ...towardsBackend, streamOptions: config.dialect.streamOptions });
  const backend = overrides.backend ?? upstream;
  const proxy = createProxy(towardsBackend);

  const providerName = toProviderName(config.upstreamDialect);
  const sockets = createSockets(config);
  const counted = { providerName, backend: upstream, relay: proxy, webSockets: sockets };
  const metrics = wantsMetrics(config) ? await createMetrics(counted) : undefined;
  const store = metrics === undefined ? records : timeStore(records, (...took) => metrics.storeTook(...took));
  const observe = createObserve({
    observers: metrics === undefined ? [requestLines] : [requestLines, metrics],
    startTrace: createTracing({ baseUrl, providerName }),
  });

  const prices = shared?.prices ?? createCurrentPrices({ ...config, log });
  const accounts = rememberKeys(store, nowMs);
  const rateLimits = isManaged ? createRateLimits({ accounts, nowMs }) : undefined;
  const admission =
    rateLimits === undefined ? ADMIT_ALL : createAdmission({ ...config, accounts, rateLimits, prices, nowMs });

  const running = createRunningRequests();
  const stopWatching = watchCancels(store, running);
  const stopComparing = isManaged ? watchPrices({ store, prices, log }) : () => undefined;
  const tokenizer = createTokenizer({
    timeLimitMs: config.tokenCountTimeoutMs,
    onDeath: (problem) => log.error({ problem }, 'the thread of the tokenizer ended'),
  });

  const services: Services = {
    ...config,
    demo: isDemo,
    nowMs,
    newUniquePart,
    log,
    keyOwner,
    identities,
    marks: createMark(secret, config.gatewaySecretPrevious),
    sealers,
    store,
    accounts,
    rateLimits,
    admission,
    prices,
    backend,
    relay: upstream,
    proxy,
    running,
    estimator: createTokenEstimator(),
    itemMemory: createItemMemory({ ...config, nowMs }),
    tokenizer,
    observe,
    metrics: metrics && (shared?.joinMetrics(metrics) ?? metrics),
    authenticator: createAuthenticator({ ...config, accounts, identities, nowMs }),
    load: createLoad(config),
    // As long as a silent backend is waited for.
    clientStallMs: config.idleTimeoutMs,
    async loadWebSocket() {
      const { openWebSocket } = await import('./web-socket/handshake.ts');
      return openWebSocket({ ...services, sockets });
    },
  };

  const app = createApp(services);
  const newRequestId = () => toRequestId(newUniquePart());
  const server = createHttpServer(app, newRequestId, {
    ...config,
    classes: serverClassesOf(app),
    upgrades: isHandshake,
  });
  const metricsServer =
    config.metricsPort === null ? undefined : createHttpServer(createMetricsApp(services), newRequestId);
  let url = '';
  let metricsUrl: string | undefined;
  let closed: Promise<void> | undefined;

  return {
    async listen() {
      url = await listen(server, config);
      if (metricsServer !== undefined) {
        metricsUrl = await listen(metricsServer, { host: config.metricsHost, port: config.metricsPort ?? 0 });
      }
      for (const warning of config.warnings) log.warn(warning);
      return { url, ...(metricsUrl !== undefined && { metricsUrl }) };
    },
    async drain() {
      running.drain();
      sockets.leave();
      const late = new AbortController();
      await Promise.race([
        running.whenIdle(),
        delay(config.drainTimeoutMs, undefined, { signal: late.signal, ref: false }).catch(() => undefined),
      ]);
      late.abort();
      await close();
    },
    close,
    async probe() {
      if (config.authMode === 'managed') return findMissingKeys(accounts);
      const asksBackend = config.authMode === 'passthrough' && config.upstreamBaseUrl !== null;
      return asksBackend ? probeKeys(config.upstreamBaseUrl) : undefined;
    },
    reload: () => prices.reload(),
    get banner() {
      return describeStart({ config, url, metricsUrl, demo: isDemo });
    },
  };

  function close(): Promise<void> {
    closed ??= closeAll();
    return closed;
  }

  async function closeAll(): Promise<void> {
    running.drain();
    stopWatching();
    stopComparing();
    running.interrupt();
    await Promise.race([running.whenIdle(), delay(INTERRUPT_MS, undefined, { ref: false })]);
    await sockets.close();
    await closeServer(server);
    // The last of all: a scrape may still want to know how the requests have ended.
    if (metricsServer !== undefined) await closeServer(metricsServer);
    proxy.close();
    await tokenizer.close();
    await Promise.all([...new Set([backend, upstream])].map((each) => each.close()));
    await demo?.close();
    await store.close();
  }
}

/** Loaded only where somebody looks, since a start is over sooner without it. */
async function createMetrics(options: MetricsOptions): Promise<Metrics> {
  const { createMetrics } = await import('./telemetry/metrics.ts');
  return createMetrics(options);
}

/**
 * Opens the records. A store that is handed in, or a primary process before this one, has its own answer to whose secret it is.
 */
async function openRecords(
  config: Config,
  { store, shared }: GatewayOverrides,
  { clock, log }: { readonly clock: () => number; readonly log: Logger },
): Promise<{ readonly store: Store; readonly secret: string }> {
  if (store !== undefined) return { store, secret: loadSecret(config) };
  const opening = openStore({ ...config, clock, log });
  return shared === undefined ? openWithSecret(config, opening) : { store: await opening, secret: loadSecret(config) };
}

async function findMissingKeys(accounts: Pick<AccountStore, 'listKeys'>): Promise<string | undefined> {
  // A store that cannot say it now says so in its own way.
  const page = await accounts.listKeys({ limit: 1 }).catch(() => undefined);
  if (page === undefined || page.keys.length > 0) return undefined;
  return `There is no API key yet, so nobody can use the gateway: make one with \`${COMMAND_LINE} keys create --name <name>\` or the admin API.`;
}

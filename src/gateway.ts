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
  /** Returns the URLs without a trailing slash. Throws if a port is taken. */
  listen(): Promise<{ readonly url: string; readonly metricsUrl?: string }>;
  /** Refuses new requests, lets running ones end within `DRAIN_TIMEOUT_MS`, and closes. */
  drain(): Promise<void>;
  /** Ends all requests with `gateway_interrupted`, and closes. */
  close(): Promise<void>;
  /**
   * Returns a warning about a backend that accepts any key, so that callers with the same key share
   * their records, or about `managed` mode without a key. Takes at most 3 s.
   */
  probe(): Promise<string | undefined>;
  /** Reads `PRICES_FILE` again for later requests, and logs the result. Does not throw. */
  reload(): void;
  readonly banner: readonly string[];
}

export interface GatewayOverrides {
  readonly store?: Store;
  readonly backend?: ChatBackend;
  readonly log?: Logger;
  readonly nowMs?: () => number;
  readonly newUniquePart?: NewUniquePart;
  readonly shared?: SharedParts;
}

export interface SharedParts {
  readonly demoBaseUrl: string | null;
  readonly prices: CurrentPrices;
  readonly joinMetrics: (metrics: Metrics) => Pick<Metrics, 'show' | 'contentType'>;
}

const INTERRUPT_MS = 2000;

/**
 * Opens the store, and starts the demo backend if it is needed; `close` ends both. Throws if the
 * store cannot be opened, and ConfigError if its database belongs to another secret.
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
    // A silent client has the same time as a silent backend.
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
    // The metrics close last, so that a scrape can still count the last requests.
    if (metricsServer !== undefined) await closeServer(metricsServer);
    proxy.close();
    await tokenizer.close();
    await Promise.all([...new Set([backend, upstream])].map((each) => each.close()));
    await demo?.close();
    await store.close();
  }
}

/** The module is loaded only if it is used, which makes a start faster. */
async function createMetrics(options: MetricsOptions): Promise<Metrics> {
  const { createMetrics } = await import('./telemetry/metrics.ts');
  return createMetrics(options);
}

/** The secret is compared unless the store was passed in, or a primary process has compared it. */
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
  // A store that fails reports that itself.
  const page = await accounts.listKeys({ limit: 1 }).catch(() => undefined);
  if (page === undefined || page.keys.length > 0) return undefined;
  return `There is no API key yet. Create one with \`${COMMAND_LINE} keys create --name <name>\` or the admin API.`;
}

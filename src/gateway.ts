import { setTimeout as delay } from 'node:timers/promises';
import type { Logger } from 'pino';
import { createAdministration } from './accounts/administration.ts';
import { ADMIT_ALL, createAdmission } from './accounts/admission.ts';
import { rememberKeys } from './accounts/keys.ts';
import { createRateLimits } from './accounts/rates.ts';
import { createChatBackend, type ChatBackend } from './backend/chat.ts';
import { startDemoBackend } from './backend/demo/demo.ts';
import { probeKeys } from './backend/probe.ts';
import { describeStart } from './config/banner.ts';
import { COMMAND_LINE } from './config/command-line.ts';
import { wantsMetrics, type Config } from './config/config.ts';
import { createTokenEstimator } from './core/tokens/estimate.ts';
import { toKeyId, toRequestId, type NewUniquePart } from './core/ids.ts';
import { createCurrentPrices, type CurrentPrices } from './config/current-prices.ts';
import { createAcceptance } from './requests/accept.ts';
import { createAdminApi } from './http/admin.ts';
import { createApp, createMetricsApp, type ScrapedParts } from './http/app.ts';
import { authenticate, createDoor } from './http/access/authenticate.ts';
import { allowOrigins } from './http/access/cors.ts';
import { watchCancels } from './requests/cancel-watch.ts';
import { createConsole } from './http/pages/console.ts';
import { createChatCompletion } from './http/chat/chat.ts';
import { countInputTokens } from './http/responses/count-input-tokens.ts';
import { createResponses } from './requests/respond.ts';
import { postCompaction } from './http/responses/post-compaction.ts';
import { postResponse } from './http/responses/post-response.ts';
import { notFound } from './http/error-handler.ts';
import { createItemMemory } from './requests/item-memory.ts';
import { toProviderName } from './telemetry/gen-ai.ts';
import { showKey } from './http/records/key.ts';
import { showLanding } from './http/pages/landing.ts';
import { lazyRoute } from './http/lazy-route.ts';
import { createLoad, limitLoad } from './http/access/load.ts';
import { createLogger, openLogOutput, requestLines } from './telemetry/log.ts';
import type { Metrics, MetricsOptions } from './telemetry/metrics.ts';
import { createObserve, observeRequests } from './telemetry/observe.ts';
import { showHealth, showReadiness } from './http/operate.ts';
import { createPassthrough } from './http/passthrough/passthrough.ts';
import { createRelay } from './http/passthrough/relay.ts';
import { createRequestRoutes } from './http/records/requests.ts';
import { createRunningRequests } from './requests/running.ts';
import { refuseMetrics, showMetrics } from './http/pages/metrics.ts';
import { messagesOf } from './http/express-prototypes.ts';
import { closeServer, createHttpServer, listen } from './http/server.ts';
import { createTracing } from './telemetry/traces.ts';
import { showUsage, showUsageOfAll } from './http/records/usage.ts';
import { isHandshake } from './web-socket/is-handshake.ts';
import { createSockets } from './web-socket/sockets.ts';
import { loadSecret, openWithSecret } from './config/gateway-secret.ts';
import { createIdentities, createMark, type Identities } from './identity/identities.ts';
import { watchPrices } from './config/price-watch.ts';
import { createSealer } from './identity/seal.ts';
import type { AccountStore } from './store/keys.ts';
import { openStore } from './store/open.ts';
import type { Store } from './store/store.ts';
import { timeStore } from './store/timed-store.ts';
import { createTokenizer } from './tokenizer/tokenizer.ts';
import { newUniquePartAt } from './identity/unique-part.ts';

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
  const keyOwner = config.authMode === 'passthrough' ? 'caller' : 'gateway';

  const { store: records, secret } = await openRecords(config, overrides, { clock: nowMs, log });
  const identities = createIdentities(secret, config.gatewaySecretPrevious);
  const { shared } = overrides;
  const isDemo = config.upstreamBaseUrl === null;
  const demo = isDemo && shared === undefined ? await startDemoBackend() : undefined;
  const upstreamBaseUrl = config.upstreamBaseUrl ?? demo?.baseUrl ?? shared?.demoBaseUrl ?? '';
  const onOperatorProblem = (problem: string) => log.error({ problem }, 'the backend needs the operator');
  const towardsBackend = {
    ...config,
    baseUrl: upstreamBaseUrl,
    keyOwner,
    hidesLimits: config.authMode === 'managed',
    onOperatorProblem,
  } as const;
  const upstream = createChatBackend({ ...towardsBackend, streamOptions: config.dialect.streamOptions });
  const backend = overrides.backend ?? upstream;
  const relay = createRelay(towardsBackend);
  const providerName = toProviderName(config.upstreamDialect);
  const sockets = createSockets(config);
  const metrics = wantsMetrics(config)
    ? await createMetrics({ providerName, backend: upstream, relay, webSockets: sockets })
    : undefined;
  const store = metrics === undefined ? records : timeStore(records, (...took) => metrics.storeTook(...took));
  const running = createRunningRequests();
  const stopWatching = watchCancels(store, running);
  const prices = shared?.prices ?? createCurrentPrices({ ...config, log });
  const accounts = rememberKeys(store, nowMs);
  const rateLimits = config.authMode === 'managed' ? createRateLimits({ accounts, nowMs }) : undefined;
  const admission =
    rateLimits === undefined ? ADMIT_ALL : createAdmission({ ...config, accounts, rateLimits, prices, nowMs });
  const estimator = createTokenEstimator();
  const stopComparing = config.authMode === 'managed' ? watchPrices({ store, prices, log }) : () => undefined;
  const serveAccepted = createAcceptance({
    ...config,
    store,
    admission,
    running,
    identities,
    estimator,
    keyOwner,
    nowMs,
  });

  const sealers = {
    reasoning: createSealer('reasoning', secret, config.gatewaySecretPrevious),
    compaction: createSealer('compaction', secret, config.gatewaySecretPrevious),
  };
  const itemMemory = createItemMemory({ ...config, nowMs });
  const serveResponse = createResponses({ ...config, backend, serveAccepted, sealers, estimator, itemMemory, nowMs });
  const tokenizer = createTokenizer({
    timeLimitMs: config.tokenCountTimeoutMs,
    onDeath: (problem) => log.error({ problem }, 'the thread of the tokenizer ended'),
  });

  // A client that takes nothing for as long as a silent backend is waited for is gone.
  const clientStallMs = config.idleTimeoutMs;

  const observe = createObserve({
    observers: metrics === undefined ? [requestLines] : [requestLines, metrics],
    startTrace: createTracing({ baseUrl: upstreamBaseUrl, providerName }),
  });
  const scraped: ScrapedParts = {
    demo: isDemo,
    observe: observeRequests({ ...config, observe, newUniquePart, log }),
    showMetrics:
      metrics === undefined ? refuseMetrics : showMetrics(shared?.joinMetrics(metrics) ?? metrics, config.metricsToken),
  };
  const door = createDoor({ ...config, mode: config.authMode, accounts, identities, nowMs });
  const load = createLoad(config);
  const app = createApp({
    ...scraped,
    showMetrics: config.metricsPort === null ? scraped.showMetrics : refuseMetrics,
    trustProxy: config.trustProxy,
    cors: config.corsOrigins.length === 0 ? undefined : allowOrigins(config.corsOrigins),
    authenticate: authenticate(door),
    limitLoad: limitLoad(load),
    postResponse: postResponse({ ...config, serveResponse, clientStallMs }),
    openWebSocket: lazyRoute(async () => {
      const { openWebSocket } = await import('./web-socket/handshake.ts');
      const parts = { sockets, running, door, load, observe, newUniquePart, serveResponse, clientStallMs };
      return openWebSocket({ ...config, ...parts });
    }),
    countInputTokens: countInputTokens({ ...config, tokenizer, estimator, admission, sealers, itemMemory }),
    postCompaction: postCompaction({ ...config, serveResponse, estimator, clientStallMs }),
    createChatCompletion:
      config.authMode === 'managed'
        ? createChatCompletion({ ...config, relay: upstream, serveAccepted, clientStallMs })
        : undefined,
    requests: createRequestRoutes({ store, running, identities, publicBaseUrl: config.publicBaseUrl }),
    showUsage: showUsage({ store, nowMs }),
    showKey: showKey({ accounts, rateLimits, prices, nowMs }),
    passthrough: createPassthrough({ ...config, relay, admission }),
    admin: createAdmin(config, { store, accounts, identities, newUniquePart, nowMs }),
    console: createConsole({ ...config, demo: isDemo }),
    running,
    showLanding: showLanding({ ...config, demo: isDemo }),
    showDocs: lazyRoute(async () => {
      const { showDocs } = await import('./http/pages/docs.ts');
      return showDocs(await describeApi(config), config);
    }),
    showOpenApi: lazyRoute(async () => {
      const { showOpenApi } = await import('./http/pages/openapi.ts');
      return showOpenApi(await describeApi(config));
    }),
    showHealth,
    showReadiness: showReadiness({ store, running, marks: createMark(secret, config.gatewaySecretPrevious), log }),
  });
  const newRequestId = () => toRequestId(newUniquePart());
  const server = createHttpServer(app, newRequestId, { ...config, messages: messagesOf(app), upgrades: isHandshake });
  const metricsServer =
    config.metricsPort === null ? undefined : createHttpServer(createMetricsApp(scraped), newRequestId);
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
    relay.close();
    await tokenizer.close();
    await Promise.all([...new Set([backend, upstream])].map((each) => each.close()));
    await demo?.close();
    await store.close();
  }
}

/**
 * A store that is handed in, or a primary process before this one, has its own answer to whose
 * secret it is.
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

/** Whether the metrics are on the port of the API. */
function servesMetrics({ metricsToken, metricsPort }: Config): boolean {
  return metricsToken !== null && metricsPort === null;
}

async function describeApi(config: Config) {
  const { createOpenApi } = await import('./http/pages/openapi.ts');
  return createOpenApi({ ...config, hasAdmin: config.adminToken !== null, hasMetrics: servesMetrics(config) });
}

/** Loaded only where somebody looks, since a start is over sooner without it. */
async function createMetrics(options: MetricsOptions): Promise<Metrics> {
  const { createMetrics } = await import('./telemetry/metrics.ts');
  return createMetrics(options);
}

interface AdminParts {
  readonly store: Store;
  readonly accounts: AccountStore;
  readonly identities: Identities;
  readonly newUniquePart: NewUniquePart;
  readonly nowMs: () => number;
}

/** What is below `/admin/v1`: without a token, nothing. */
function createAdmin(config: Config, { store, accounts, identities, newUniquePart, nowMs }: AdminParts) {
  const { adminToken, authMode } = config;
  if (adminToken === null) return notFound;
  return createAdminApi({
    authenticate: authenticate(
      createDoor({ ...config, mode: 'static', apiKeys: [adminToken], accounts, identities, nowMs }),
    ),
    administration: createAdministration({
      accounts,
      toHash: identities.keySecret,
      newKeyId: () => toKeyId(newUniquePart()),
      nowMs,
    }),
    showUsageOfAll: showUsageOfAll({ store, nowMs }),
    mode: authMode,
  });
}

async function findMissingKeys(accounts: Pick<AccountStore, 'listKeys'>): Promise<string | undefined> {
  // A store that cannot say it now says so in its own way.
  const page = await accounts.listKeys({ limit: 1 }).catch(() => undefined);
  if (page === undefined || page.keys.length > 0) return undefined;
  return `There is no API key yet, so nobody can use the gateway: make one with \`${COMMAND_LINE} keys create --name <name>\` or the admin API.`;
}

import type { LookupFunction } from 'node:net';
import type { Logger } from 'pino';
import { createAdmin } from './admin/admin.ts';
import { createPages } from './pages/pages.ts';
import type { AcceptedCallers } from './accounts/accepted-callers.ts';
import { hasNoKeys } from './accounts/keys.ts';
import { openAccounts } from './accounts/open.ts';
import type { ChatBackend } from './backend/chat.ts';
import { onlyBackend, openBackends } from './backend/open.ts';
import { openAlerts } from './alerts/alerts.ts';
import { startDemoBackend } from './backend/demo/demo.ts';
import type { KeyOwner } from './backend/request-headers.ts';
import { lookUp } from './backend/lookup.ts';
import { probeKeys } from './backend/probe.ts';
import { describeStart, NO_KEY_YET, type Addresses } from './config/banner.ts';
import { isDemo as isDemoOf, wantsMetrics, type Config } from './config/config.ts';
import type { AdminBackend, AdminLimit } from './contract/operator-types.ts';
import { DEFAULT_POLICY } from './config/backends-file.ts';
import { createCurrentFiles, type CurrentFiles } from './config/current-files.ts';
import { loadSecret, openWithSecret } from './config/gateway-secret.ts';
import type { Environment } from './config/settings.ts';
import { watchPrices } from './config/price-watch.ts';
import { readKeyFile } from './config/value-file.ts';
import type { NewUniquePart } from './core/ids.ts';
import { createAuthenticator } from './access/authenticate.ts';
import { describeBackends } from './admin/backends.ts';
import { describeLimits } from './admin/limits.ts';
import { createLoad } from './access/load.ts';
import { createServers } from './http/servers.ts';
import type { Services } from './http/services.ts';
import { createIdentities, createMark } from './identity/identities.ts';
import { newUniquePartAt } from './identity/unique-part.ts';
import { openRequests } from './requests/open.ts';
import type { PromptTurns } from './requests/prompt-turns.ts';
import { openStore } from './store/open.ts';
import type { Store } from './core/books/store.ts';
import { timeStore } from './store/timed-store.ts';
import { createLogger, openLogOutput } from './telemetry/log.ts';
import type { Metrics, ShownMetrics } from './telemetry/metrics.ts';
import { createStatsObserver } from './telemetry/request-stats.ts';
import { openTelemetry } from './telemetry/telemetry.ts';
import { createTokenizer } from './tokenizer/tokenizer.ts';
import { createSockets } from './web-socket/sockets.ts';

export { readConfig, ConfigError, type Config } from './config/config.ts';

export interface Gateway {
  /** Throws if a port is taken. */
  listen(): Promise<Addresses>;
  /**
   * Takes requests for `DRAIN_DELAY_MS` more while readiness fails, then refuses new ones, lets
   * running ones end within `DRAIN_TIMEOUT_MS`, and closes.
   */
  drain(): Promise<void>;
  /** Ends all requests with `gateway_interrupted`, and closes. */
  close(): Promise<void>;
  /**
   * Returns a warning about a backend that accepts any key, so that callers with the same key share
   * their records, or about `managed` mode without a key. Takes at most 3 s.
   */
  probe(): Promise<string | undefined>;
  /**
   * Reads `API_KEYS_FILE`, `BACKENDS_FILE`, `PRICES_FILE` and `MODELS_FILE` again for later requests, and logs the
   * result. The environment names the file of keys, and has the keys of the backends. Does not throw.
   */
  reload(env: Environment): void;
  readonly banner: readonly string[];
}

/** `lookup` finds the addresses of backends. */
export interface GatewayOverrides {
  readonly lookup?: LookupFunction;
  readonly store?: Store;
  readonly backend?: ChatBackend;
  readonly acceptedCallers?: AcceptedCallers;
  readonly log?: Logger;
  readonly nowMs?: () => number;
  readonly newUniquePart?: NewUniquePart;
  readonly promptTurns?: PromptTurns;
  readonly shared?: SharedParts;
}

export type ListBackends = () => readonly AdminBackend[];
export type ListLimits = () => readonly AdminLimit[];

export interface SharedParts {
  readonly demoBaseUrl: string | null;
  readonly files: CurrentFiles;
  readonly joinMetrics: (metrics: Metrics) => ShownMetrics;
  /** Returns what lists those of all processes. */
  readonly joinBackends: (listOwn: ListBackends) => () => Promise<readonly AdminBackend[]>;
  readonly joinLimits: (listOwn: ListLimits) => () => Promise<readonly AdminLimit[]>;
}

/**
 * Opens the store, and starts the demo backend if it is needed; `close` ends both. Throws if the
 * store cannot be opened, and ConfigError if its database belongs to another secret.
 */
export async function createGateway(config: Config, overrides: GatewayOverrides = {}): Promise<Gateway> {
  const { nowMs = Date.now, newUniquePart = () => newUniquePartAt(nowMs()), shared } = overrides;
  const log = overrides.log ?? createLogger(config.logLevel, await openLogOutput(config.logFormat));
  const isManaged = config.authMode === 'managed';

  const { store: records, secret } =
    overrides.store === undefined
      ? await openWithSecret(config, openStore({ ...config, clock: nowMs, log, lookup: lookUp }), {
          isCompared: shared !== undefined,
        })
      : { store: overrides.store, secret: loadSecret(config) };
  const identities = createIdentities(secret, config.gatewaySecretPrevious);
  // Who sets the time of day also says how it passes.
  const steadyMs = overrides.nowMs ?? (() => performance.now());
  const files = shared?.files ?? createCurrentFiles({ ...config, log });
  const alerts = openAlerts({
    store: records,
    storeKind: config.databaseUrl.startsWith('postgres') ? 'postgres' : 'sqlite',
    isManaged,
    webhook: config.alertWebhook,
    isCounted: wantsMetrics(config),
    currency: () => files.prices.present?.currency ?? null,
    nowMs,
    log,
    lookup: lookUp,
  });
  const policy = () => files.backends.present?.policy ?? DEFAULT_POLICY;
  const isDemo = isDemoOf(config);
  const demo = isDemo && shared === undefined ? await startDemoBackend() : undefined;
  const keyOwner: KeyOwner = config.authMode === 'passthrough' ? 'caller' : 'gateway';
  const { backends, failover } = openBackends({
    ...config,
    specs: files.backends.present?.backends ?? [
      onlyBackend({
        ...config,
        baseUrl: config.upstreamBaseUrl ?? demo?.baseUrl ?? shared?.demoBaseUrl ?? '',
        apiKey: config.upstreamApiKey,
        apiKeyFile: config.upstreamApiKeyFile,
      }),
    ],
    ...(overrides.lookup !== undefined && { lookup: overrides.lookup }),
    readKeyFile,
    keyOwner,
    policy,
    hidesLimits: isManaged,
    nowMs: steadyMs,
    log,
    onRest: (change) => void alerts.noteRest(change),
  });
  files.backends.onReplace((table) => {
    if (table !== null) backends.replace(table.backends);
  });

  const listOwn = (): readonly AdminBackend[] => describeBackends(backends.states(), nowMs());

  const sockets = createSockets();
  const load = createLoad(config);
  const listOwnLimits = (): readonly AdminLimit[] => describeLimits(load);
  const stats = createStatsObserver({ write: (counted) => records.addRequestStats(counted), nowMs });
  const { observe, metrics } = await openTelemetry({
    backends,
    stats,
    counted: wantsMetrics(config)
      ? { backend: backends, relay: backends.forwards, webSockets: sockets, store: records, alerts }
      : null,
  });
  const store = metrics === undefined ? records : timeStore(records, (...took) => metrics.storeTook(...took));

  const { prices, models } = files;
  const { accounts, admission, rateLimits, acceptedCallers, ...opened } = await openAccounts({
    ...config,
    store,
    prices,
    nowMs,
    onShort: alerts.noteRefusal,
  });

  const stopComparing = isManaged ? watchPrices({ store, prices, log }) : () => undefined;
  const tokenizer = createTokenizer({
    timeLimitMs: config.tokenCountTimeoutMs,
    onDeath: (problem) => log.error({ problem }, 'the thread of the tokenizer ended'),
  });

  const books = {
    store,
    accounts,
    admission,
    identities,
    marks: createMark(secret, config.gatewaySecretPrevious),
    prices,
    models,
    nowMs,
  };
  const { requests, ...story } = openRequests({
    ...config,
    secret,
    backends,
    models,
    log,
    ...(overrides.promptTurns && { promptTurns: overrides.promptTurns }),
    services: {
      ...books,
      steadyMs,
      keyOwner,
      backend: overrides.backend ?? failover,
      relay: failover,
      reasoningOutput: config.reasoningOutput,
      duplicateStatus: config.duplicateStatus,
      policy,
    },
  });
  const access = {
    authenticator: createAuthenticator({
      ...config,
      apiKeys: files.apiKeys.present ?? [],
      onNewKeys: (listener) => files.apiKeys.onReplace(listener),
      accounts,
      acceptedCallers: overrides.acceptedCallers ?? acceptedCallers,
      identities,
      nowMs,
    }),
    load,
    rateLimits,
    listLimits: shared?.joinLimits(listOwnLimits) ?? (async () => listOwnLimits()),
    // A silent client has the same time as a silent backend.
    clientStallMs: config.idleTimeoutMs,
  };
  const telemetry = {
    log,
    observe,
    newUniquePart,
    stats,
    metrics: metrics && (shared?.joinMetrics(metrics) ?? metrics),
  };
  const services: Services = {
    settings: config,
    books,
    requests,
    access,
    telemetry,
    backends: {
      demo: isDemo,
      backends,
      inputCounter: backends,
      failover,
      refusals: backends.refusals,
      listBackends: shared?.joinBackends(listOwn) ?? (async () => listOwn()),
    },
    tokenizer,
    async loadWebSocket() {
      const { openWebSocket } = await import('./web-socket/handshake.ts');
      return openWebSocket({ ...config, ...requests, ...access, ...telemetry, sockets });
    },
  };

  const operator = { admin: createAdmin(services), ...createPages(services) };
  const servers = createServers(services, operator, sockets);
  let addresses: Addresses = { url: '' };
  let closed: Promise<void> | undefined;

  return {
    async listen() {
      addresses = await servers.listen();
      for (const warning of config.warnings) log.warn(warning);
      return addresses;
    },
    async drain() {
      log.info('draining: running requests may end, and new ones are refused');
      await servers.drain();
      await close();
      log.info('stopped');
    },
    close,
    async probe() {
      if (isManaged) return (await hasNoKeys(accounts)) ? NO_KEY_YET : undefined;
      if (keyOwner !== 'caller' || isDemo) return undefined;
      const warnings = await Promise.all(backends.specs.map((spec) => probeKeys(spec)));
      return warnings.find((warning) => warning !== undefined);
    },
    reload: (env) => files.reload(env),
    get banner() {
      return describeStart({ config, ...addresses, demo: isDemo });
    },
  };

  function close(): Promise<void> {
    closed ??= closeAll();
    return closed;
  }

  async function closeAll(): Promise<void> {
    opened.close();
    stopComparing();
    await servers.close();
    await tokenizer.close();
    await story.close();
    await Promise.all([backends.close(), overrides.backend?.close()]);
    await demo?.close();
    await alerts.close();
    await stats.close();
    await store.close();
  }
}

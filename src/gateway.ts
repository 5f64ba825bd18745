import type { Logger } from 'pino';
import { createAdmin } from './admin/admin.ts';
import { createPages } from './pages/pages.ts';
import { createAlerts, type Alerts } from './alerts/alerts.ts';
import { openWebhook } from './alerts/webhook.ts';
import { loadAcceptedCallers, NO_CALLERS, watchAccepted, type AcceptedCallers } from './accounts/accepted-callers.ts';
import { ADMIT_ALL, createAdmission } from './accounts/admission.ts';
import { hasNoKeys, rememberKeys } from './accounts/keys.ts';
import { createRateLimits } from './accounts/rates.ts';
import { createBackends, type BackendChange, type SingleBackend } from './backend/backends.ts';
import { createFailover } from './backend/failover.ts';
import { createChatBackend, type ChatBackend } from './backend/chat.ts';
import { startDemoBackend } from './backend/demo/demo.ts';
import { createInputCounter } from './backend/input-counter.ts';
import { lookUp } from './backend/lookup.ts';
import { probeKeys } from './backend/probe.ts';
import { createReuse } from './backend/reuse.ts';
import { describeStart, NO_KEY_YET } from './config/banner.ts';
import { isDemo as isDemoOf, wantsMetrics, type Config } from './config/config.ts';
import type { AdminBackend, AdminLimit } from './contract/types.ts';
import { DEFAULT_POLICY } from './config/backends-file.ts';
import { createCurrentFiles, type CurrentFiles } from './config/current-files.ts';
import { loadSecret, openWithSecret } from './config/gateway-secret.ts';
import type { Environment } from './config/settings.ts';
import { watchPrices } from './config/price-watch.ts';
import type { NewUniquePart } from './core/ids.ts';
import { rememberUsedFields } from './core/request/used-fields.ts';
import type { BackendPolicy, BackendSpec } from './core/routes.ts';
import { createTokenEstimator } from './core/tokens/estimate.ts';
import { createAuthenticator } from './access/authenticate.ts';
import { describeBackends } from './admin/backends.ts';
import { describeLimits } from './admin/limits.ts';
import { createLoad } from './access/load.ts';
import { createProxies } from './http/passthrough/proxies.ts';
import { createProxy, type Proxy } from './http/passthrough/relay.ts';
import { createServers, type Addresses } from './http/servers.ts';
import type { Services } from './http/services.ts';
import { createIdentities, createMark } from './identity/identities.ts';
import { createSealers } from './identity/seal.ts';
import { newUniquePartAt } from './identity/unique-part.ts';
import { watchCancels } from './requests/cancel-watch.ts';
import { createItemMemory } from './requests/item-memory.ts';
import { openPreparation } from './requests/preparation/preparation.ts';
import { createRunningRequests } from './requests/running.ts';
import { openStore } from './store/open.ts';
import type { Store } from './store/store.ts';
import { timeStore } from './store/timed-store.ts';
import { createLogger, openLogOutput } from './telemetry/log.ts';
import type { Metrics } from './telemetry/metrics.ts';
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
   * Reads `BACKENDS_FILE`, `PRICES_FILE` and `MODELS_FILE` again for later requests, and logs the
   * result. The environment has the keys of the backends. Does not throw.
   */
  reload(env: Environment): void;
  readonly banner: readonly string[];
}

export interface GatewayOverrides {
  readonly store?: Store;
  readonly backend?: ChatBackend;
  readonly acceptedCallers?: AcceptedCallers;
  readonly log?: Logger;
  readonly nowMs?: () => number;
  readonly newUniquePart?: NewUniquePart;
  readonly shared?: SharedParts;
}

export type ListBackends = () => readonly AdminBackend[];
export type ListLimits = () => readonly AdminLimit[];

export interface SharedParts {
  readonly demoBaseUrl: string | null;
  readonly files: CurrentFiles;
  readonly joinMetrics: (metrics: Metrics) => Pick<Metrics, 'show' | 'contentType'>;
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
  const alerts = openAlerts(config, { store: records, files, nowMs, log });
  const policy = () => files.backends.present?.policy ?? DEFAULT_POLICY;
  const opened = await openBackends(config, { ...overrides, policy, files, steadyMs, alerts }, log);
  const { isDemo, keyOwner, backends, failover, proxies } = opened;

  const listOwn = (): readonly AdminBackend[] => describeBackends(backends.states(), nowMs());

  const sockets = createSockets();
  const load = createLoad(config);
  const listOwnLimits = (): readonly AdminLimit[] => describeLimits(load);
  const stats = createStatsObserver({ write: (counted) => records.addRequestStats(counted), nowMs });
  const { observe, metrics } = await openTelemetry({
    backends,
    stats,
    counted: wantsMetrics(config)
      ? { backend: backends, relay: opened.relayed, webSockets: sockets, store: records, alerts }
      : null,
  });
  const store = metrics === undefined ? records : timeStore(records, (...took) => metrics.storeTook(...took));

  const { prices, models } = files;
  const accounts = rememberKeys(store, nowMs);
  const loaded = keyOwner === 'caller' ? await loadAcceptedCallers({ accounts, nowMs }) : undefined;
  const acceptedCallers = overrides.acceptedCallers ?? loaded ?? NO_CALLERS;
  const rateLimits = isManaged ? createRateLimits({ accounts, nowMs }) : undefined;
  const admission =
    rateLimits === undefined
      ? ADMIT_ALL
      : createAdmission({
          ...config,
          accounts,
          rateLimits,
          prices,
          nowMs,
          onShort: alerts.noteRefusal,
        });

  const running = createRunningRequests();
  const stopWatching = watchCancels(store, running);
  const stopLooking = loaded === undefined ? () => undefined : watchAccepted(loaded);
  const stopComparing = isManaged ? watchPrices({ store, prices, log }) : () => undefined;
  const tokenizer = createTokenizer({
    timeLimitMs: config.tokenCountTimeoutMs,
    onDeath: (problem) => log.error({ problem }, 'the thread of the tokenizer ended'),
  });

  const estimator = createTokenEstimator();
  const itemMemory = createItemMemory({ ...config, nowMs });
  const sealers = createSealers(secret, config.gatewaySecretPrevious);
  const usedFields = rememberUsedFields();
  const preparation = openPreparation({
    ...config,
    usedFields,
    secret,
    backends,
    models,
    sealers,
    estimator,
    itemMemory,
    onDeath: (problem) => log.error({ problem }, 'the thread of large requests ended'),
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
  const requests = {
    ...books,
    steadyMs,
    running,
    keyOwner,
    backend: overrides.backend ?? failover,
    relay: failover,
    preparation,
    estimator,
    sealers,
    itemMemory,
    usedFields,
    reasoningOutput: config.reasoningOutput,
    duplicateStatus: config.duplicateStatus,
    policy,
  };
  const access = {
    authenticator: createAuthenticator({ ...config, accounts, acceptedCallers, identities, nowMs }),
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
      proxies,
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
      await servers.drain();
      await close();
    },
    close,
    async probe() {
      if (isManaged) return (await hasNoKeys(accounts)) ? NO_KEY_YET : undefined;
      if (keyOwner !== 'caller' || isDemo) return undefined;
      const warnings = await Promise.all(backends.specs.map((spec) => probeKeys(spec.baseUrl)));
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
    stopWatching();
    stopLooking();
    stopComparing();
    await servers.close();
    await tokenizer.close();
    await preparation.close();
    await opened.close();
    await alerts.close();
    await stats.close();
    await store.close();
  }
}

interface OpenAlertsOptions {
  readonly store: Store;
  readonly files: Pick<CurrentFiles, 'prices'>;
  readonly nowMs: () => number;
  readonly log: Logger;
}

/** Looks at funds only where somebody hears of it. */
function openAlerts(config: Config, { store, files, nowMs, log }: OpenAlertsOptions): Alerts {
  const { alertWebhook, databaseUrl } = config;
  return createAlerts({
    store,
    storeKind: databaseUrl.startsWith('postgres') ? 'postgres' : 'sqlite',
    isManaged: config.authMode === 'managed',
    openWebhook: alertWebhook && ((count) => openWebhook({ ...alertWebhook, nowMs, log, count, lookup: lookUp })),
    currency: () => files.prices.present?.currency ?? null,
    nowMs,
    log,
    ...(alertWebhook === null && !wantsMetrics(config) && { everyMs: 0 }),
  });
}

interface OpenBackendsOptions extends GatewayOverrides {
  readonly files: Pick<CurrentFiles, 'backends'>;
  readonly alerts: Pick<Alerts, 'noteRest'>;
  readonly policy: () => BackendPolicy;
  readonly steadyMs: () => number;
}

/** Opens the chat backends, and the proxies to their other paths. */
async function openBackends(
  config: Config,
  { backend, shared, policy, files, steadyMs, alerts }: OpenBackendsOptions,
  log: Logger,
) {
  const isDemo = isDemoOf(config);
  const demo = isDemo && shared === undefined ? await startDemoBackend() : undefined;
  const baseUrl = config.upstreamBaseUrl ?? demo?.baseUrl ?? shared?.demoBaseUrl ?? '';
  const keyOwner = config.authMode === 'passthrough' ? 'caller' : 'gateway';
  const relays = new Map<SingleBackend, Proxy>();

  const nameOf = ({ name, isOnly }: BackendSpec) => (isOnly ? {} : { backend: name });

  function open(spec: BackendSpec): SingleBackend {
    const { isOnly, baseUrl, dialect, timeouts, apiKeyEnv = 'its api_key_env' } = spec;
    const { streamOptions, inputCounter } = dialect;
    const named = nameOf(spec);
    const options = {
      ...config,
      ...timeouts,
      baseUrl,
      streamOptions,
      keyOwner,
      reuse: createReuse(),
      ...(!isOnly && { settings: { key: apiKeyEnv, address: 'its base_url' } }),
      hidesLimits: config.authMode === 'managed',
      onOperatorProblem: (problem: string) => log.error({ ...named, problem }, 'the backend needs the operator'),
      onRefusedFields: (model: string, fields: readonly string[]) =>
        log.warn({ ...named, model, fields }, 'the backend refuses fields, which are left out for an hour'),
    } as const;
    const chat = createChatBackend(options);
    const proxy = createProxy(options);
    const counter = createInputCounter({ ...options, inputCounter, timeoutMs: config.tokenCountTimeoutMs });
    const single: SingleBackend = {
      ...chat,
      count: (request, asking) => counter.count(request, asking),
      async close() {
        proxy.close();
        relays.delete(single);
        await Promise.all([chat.close(), counter.close()]);
      },
    };
    relays.set(single, proxy);
    return single;
  }

  const backends = createBackends(files.backends.present?.backends ?? [onlyBackend(config, baseUrl)], {
    keyOwner,
    policy,
    nowMs: steadyMs,
    open,
    onChange(change) {
      logChange(change, log);
      if (change.state === 'resting' && change.model === undefined) void alerts.noteRest(change);
    },
    onUnreachable: (spec, why) => log.error({ ...nameOf(spec), ...why }, 'the backend cannot be reached'),
  });
  files.backends.onReplace((table) => {
    if (table !== null) backends.replace(table.backends);
  });
  const failover = createFailover({ ...config, backends, policy, nowMs: steadyMs });
  const proxies = createProxies({ backends, policy, proxyOf });

  function proxyOf(single: SingleBackend): Proxy {
    const proxy = relays.get(single);
    if (proxy === undefined) throw new Error('the backend is closed');
    return proxy;
  }

  function connections() {
    const all = [...relays.values()].map((proxy) => proxy.connections());
    return {
      busy: all.reduce((sum, { busy }) => sum + busy, 0),
      idle: all.reduce((sum, { idle }) => sum + idle, 0),
    };
  }

  async function close(): Promise<void> {
    await Promise.all([backends.close(), backend?.close()]);
    await demo?.close();
  }

  return { isDemo, keyOwner, backends, failover, proxies, relayed: { connections }, close } as const;
}

function onlyBackend({ upstreamApiKey, dialect, upstreamDialect, modelAliases }: Config, baseUrl: string): BackendSpec {
  return {
    name: 'upstream',
    isOnly: true,
    baseUrl,
    apiKey: upstreamApiKey,
    dialect,
    upstreamDialect,
    modelAliases,
    models: null,
    weight: 1,
    maxConcurrent: null,
    timeouts: {},
  };
}

function logChange({ backend, model, state, restMs, reason }: BackendChange, log: Logger): void {
  const who = model === undefined ? { backend } : { backend, model };
  if (state === 'resting') log.warn({ ...who, restMs: Math.ceil(restMs), reason }, 'the backend has failed and rests');
  else if (state === 'up') log.info(who, 'the backend answers again');
}

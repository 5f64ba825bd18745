import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import type { Logger } from 'pino';
import { createChatBackend, type ChatBackend } from './backend/chat.ts';
import { startDemoBackend } from './backend/demo.ts';
import { probeKeys } from './backend/probe.ts';
import { describeStart } from './banner.ts';
import type { Config } from './config.ts';
import { createTokenEstimator } from './core/estimate.ts';
import { toRequestId, toUniquePart, type NewUniquePart } from './core/ids.ts';
import { createApp } from './http/app.ts';
import { authenticate } from './http/authenticate.ts';
import { allowOrigins } from './http/cors.ts';
import { createResponse } from './http/create-response.ts';
import { createItemMemory } from './http/item-memory.ts';
import { createLogger, requestLogging } from './http/logging.ts';
import { showHealth, showReadiness } from './http/operate.ts';
import { createPassthrough } from './http/passthrough.ts';
import { createRequestRoutes } from './http/requests.ts';
import { createRunningRequests } from './http/running.ts';
import { closeServer, createHttpServer, listen } from './http/server.ts';
import { createIdentities, loadSecret } from './identity.ts';
import { createSealer } from './seal.ts';
import { openStore } from './store/open.ts';
import type { Store } from './store/store.ts';

export { readConfig, ConfigError, type Config } from './config.ts';

export interface Gateway {
  /** Begins to listen on `HOST` and `PORT`. Returns where, without a slash at the end. Throws when the port is taken. */
  listen(): Promise<{ readonly url: string }>;
  /** Accepts nothing new, lets what runs end within `DRAIN_TIMEOUT_MS`, ends the rest by its failure path, and closes. */
  drain(): Promise<void>;
  /** Ends what runs by its failure path at once, and closes. */
  close(): Promise<void>;
  /**
   * Tries a random key on the backend, since one that takes any key lets callers with the same key share their records.
   * Returns a sentence for the operator, or undefined when all is well or nothing is to be tried. Takes 3 s at most.
   */
  probe(): Promise<string | undefined>;
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
}

/** How long a request may take to reach its end after it has been told to. */
const INTERRUPT_MS = 2000;

/**
 * Puts the parts together. Nothing listens yet, but the store is open and, without `UPSTREAM_BASE_URL`, the demo backend
 * runs; `close` ends both. Throws when the store cannot be opened.
 */
export async function createGateway(config: Config, overrides: GatewayOverrides = {}): Promise<Gateway> {
  const nowMs = overrides.nowMs ?? Date.now;
  const newUniquePart = overrides.newUniquePart ?? (() => timeOrderedPart(nowMs()));
  const log = overrides.log ?? createLogger(config.logLevel);
  const keyOwner = config.authMode === 'passthrough' ? 'caller' : 'gateway';

  const secret = loadSecret({ databaseUrl: config.databaseUrl, secret: config.gatewaySecret });
  const identities = createIdentities(secret, config.gatewaySecretPrevious);
  const store = overrides.store ?? (await openStore({ ...config, clock: nowMs, log }));
  const demo = config.upstreamBaseUrl === null ? await startDemoBackend() : undefined;
  const upstreamBaseUrl = demo?.baseUrl ?? config.upstreamBaseUrl ?? '';
  const onOperatorProblem = (problem: string) => log.error({ problem }, 'the backend needs the operator');
  const backend =
    overrides.backend ??
    createChatBackend({
      ...config,
      baseUrl: upstreamBaseUrl,
      keyOwner,
      streamOptions: config.dialect.streamOptions,
      onOperatorProblem,
    });
  const passthrough = createPassthrough({ ...config, baseUrl: upstreamBaseUrl, keyOwner, onOperatorProblem });
  const running = createRunningRequests();

  const app = createApp({
    trustProxy: config.trustProxy,
    demo: demo !== undefined,
    newUniquePart,
    logging: requestLogging(log),
    cors: allowOrigins(config.corsOrigins),
    authenticate: authenticate({
      ...config,
      mode: config.authMode,
      toIdentity: (apiKey) => identities.caller(apiKey),
      nowMs,
    }),
    createResponse: createResponse({
      ...config,
      backend,
      store,
      running,
      identities,
      sealer: createSealer(secret, config.gatewaySecretPrevious),
      itemMemory: createItemMemory({ ...config, nowMs }),
      estimator: createTokenEstimator(),
      keyOwner,
      // A client that takes nothing for as long as a silent backend is waited for is gone.
      clientStallMs: config.idleTimeoutMs,
      newUniquePart,
      nowMs,
    }),
    requests: createRequestRoutes({ store, running, identities, publicBaseUrl: config.publicBaseUrl }),
    passthrough: passthrough.router,
    running,
    showHealth,
    showReadiness: showReadiness({ store, running }),
  });
  const server = createHttpServer(app, () => toRequestId(newUniquePart()));
  let url = '';
  let closed: Promise<void> | undefined;

  return {
    async listen() {
      url = await listen(server, config);
      for (const warning of config.warnings) log.warn(warning);
      return { url };
    },
    async drain() {
      running.drain();
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
      const asksBackend = config.authMode === 'passthrough' && config.upstreamBaseUrl !== null;
      return asksBackend ? probeKeys(config.upstreamBaseUrl) : undefined;
    },
    get banner() {
      return describeStart({ config, url, demo: demo !== undefined });
    },
  };

  function close(): Promise<void> {
    closed ??= closeAll();
    return closed;
  }

  async function closeAll(): Promise<void> {
    running.drain();
    running.interrupt();
    await Promise.race([running.whenIdle(), delay(INTERRUPT_MS, undefined, { ref: false })]);
    await closeServer(server);
    passthrough.close();
    await backend.close();
    await demo?.close();
    await store.close();
  }
}

/** 48 bits of time and 74 of chance: unique, and in the order of their making, which keeps the index of the records compact. */
function timeOrderedPart(nowMs: number): ReturnType<NewUniquePart> {
  return toUniquePart(nowMs.toString(16).padStart(12, '0') + randomUUID().replaceAll('-', '').slice(12));
}

import { isIP } from 'node:net';
import type { Dialect } from '../core/dialects.ts';
import type { Models } from '../core/models.ts';
import type { Prices } from '../core/money/pricing.ts';
import { findDialect, readDialectsFile, unknownDialect } from './dialects-file.ts';
import { parametersOf, readBackendsFile, type BackendTable } from './backends-file.ts';
import { CONSTANTS } from './constants.ts';
import { findUrlProblems, toBaseUrl } from './base-url.ts';
import { isLoopback } from './loopback.ts';
import { readModelsFile } from './models-file.ts';
import { findHeaderProblems, toHeaders } from './own-headers.ts';
import { UTC } from '../core/time.ts';
import { readPricesFile } from './prices-file.ts';
import { findProxyVariableProblems, proxyFor } from './proxies.ts';
import type { Proxy } from '../core/routes.ts';
import { fileOf, findMisspelt, readSettings, showValue, type Environment } from './settings.ts';
import { findGone } from './gone-settings.ts';
import type { Settings } from '../contract/settings-types.ts';

/** The checked and frozen settings. `.env.example` describes each of them. */
export type Config = ReturnType<typeof toConfig>;

export interface AlertWebhook {
  readonly url: string;
  readonly secret: string;
  readonly proxy?: Proxy;
}

/** Holds all mistakes in the settings, one line each, without values of secrets. */
export class ConfigError extends Error {
  override readonly name = 'ConfigError';
  readonly problems: readonly string[];

  constructor(problems: readonly string[]) {
    super(`the settings are not valid:\n${problems.map((problem) => `  ${problem}`).join('\n')}`);
    this.problems = problems;
  }
}

/**
 * Reads the settings from an environment, such as `process.env`. Throws ConfigError. A command that asks the backend itself
 * is its caller, so that UPSTREAM_API_KEY may stand beside every AUTH_MODE and BACKENDS_FILE.
 */
export function readConfig(env: Environment, { isCaller = false } = {}): Config {
  const { settings, problems } = readSettings(env);
  const wrong = new Set(problems.flatMap((problem) => problem.names));
  const ruled: Settings = { ...settings };
  if (isCaller) delete ruled.UPSTREAM_API_KEY;
  const broken = RULES.filter(({ about }) => !about.some((name) => wrong.has(name))).flatMap(({ find }) => find(ruled));
  const own = readDialectsFile(settings.DIALECTS_FILE);
  const dialect = findDialect(settings.UPSTREAM_DIALECT, own);
  const prices = readPricesFile(settings.PRICES_FILE);
  const backends = readBackendsFile(
    {
      backendsFile: settings.BACKENDS_FILE ?? null,
      dialectsFile: settings.DIALECTS_FILE ?? null,
      upstreamDialect: settings.UPSTREAM_DIALECT,
      authMode: settings.AUTH_MODE,
      modelAliases: aliasesOf(settings),
    },
    env,
  );
  const { UPSTREAM_BASE_URL: baseUrl = '', ALERT_WEBHOOK_URL: webhookUrl = '' } = settings;
  broken.push(...findProxyVariableProblems([baseUrl, webhookUrl], env));
  const headers = settings.UPSTREAM_HEADERS ?? {};
  broken.push(...findHeaderProblems(headers, env, settings.AUTH_MODE).map((line) => `UPSTREAM_HEADERS: ${line}`));
  if (settings.BACKENDS_FILE !== undefined && Object.keys(headers).length > 0)
    broken.push('UPSTREAM_HEADERS: must not be set with BACKENDS_FILE, where each backend has headers of its own');
  const models = dialect && readModelsFile(settings.MODELS_FILE, parametersOf(dialect, backends.content));
  const files = [own, prices, models, backends].flatMap((file) => file?.problems ?? []);
  const lines = [...problems.map((problem) => problem.line), ...broken, ...files];
  if (dialect === undefined && own.problems.length === 0) {
    const name = settings.UPSTREAM_DIALECT;
    lines.push(`UPSTREAM_DIALECT: ${unknownDialect(own)}${showValue('UPSTREAM_DIALECT', name)}`);
  }
  const misspelt = findMisspelt(env);
  // A misspelt name alone stops nothing, but it may be why another setting is missing.
  if (lines.length > 0 || dialect === undefined) throw new ConfigError([...lines, ...misspelt]);
  const read = {
    dialect,
    prices: prices.content,
    models: models?.content ?? null,
    backends: backends.content,
    upstreamApiKeyFile: fileOf(env, 'UPSTREAM_API_KEY') ?? null,
    upstreamHeaders: toHeaders(headers, env),
    upstreamProxy: proxyFor(baseUrl, env) ?? null,
    alertWebhook: toWebhook(settings, proxyFor(webhookUrl, env)),
  };
  return toConfig(settings, read, [...misspelt, ...findGone(env), ...findDoubtful(settings)]);
}

interface Rule {
  /** The rule is skipped when one of these is wrong already. */
  readonly about: readonly (keyof Settings)[];
  readonly find: (settings: Settings) => readonly string[];
}

const RULES: readonly Rule[] = [
  { about: ['UPSTREAM_BASE_URL'], find: (s) => findUrlProblems('UPSTREAM_BASE_URL', s.UPSTREAM_BASE_URL) },
  { about: ['PUBLIC_BASE_URL'], find: (s) => findUrlProblems('PUBLIC_BASE_URL', s.PUBLIC_BASE_URL) },
  { about: ['TRUST_PROXY'], find: (s) => findProxyProblems(s.TRUST_PROXY) },
  { about: ['MODEL_ALIASES'], find: (s) => findAliasProblems(s.MODEL_ALIASES) },
  { about: ['PASSTHROUGH_PATHS'], find: (s) => findPathProblems(s.PASSTHROUGH_PATHS) },
  { about: ['MAX_BODY_BYTES', 'MAX_BODY_BYTES_IN_FLIGHT'], find: findBodyProblems },
  { about: ['AUTH_MODE', 'UPSTREAM_API_KEY', 'API_KEYS'], find: findAuthProblems },
  { about: ['UPSTREAM_BASE_URL', 'BACKENDS_FILE', 'UPSTREAM_API_KEY'], find: findBackendsProblems },
  { about: ['UPSTREAM_BASE_URL', 'BACKENDS_FILE', 'HOST', 'NODE_ENV'], find: findDemoProblems },
  { about: ['DATABASE_URL', 'GATEWAY_SECRET'], find: findDatabaseProblems },
  { about: ['ALERT_WEBHOOK_URL', 'ALERT_WEBHOOK_SECRET'], find: findWebhookProblems },
  { about: ['WORKERS', 'ITEM_MEMORY_TTL_S'], find: findWorkerProblems },
];

export function isDemo({ upstreamBaseUrl, backendsFile }: Config): boolean {
  return upstreamBaseUrl === null && backendsFile === null;
}

export function wantsMetrics({ metricsToken, metricsPort }: Config): boolean {
  return metricsToken !== null || metricsPort !== null;
}

function findProxyProblems(text: string): readonly string[] {
  const trusted = toTrustProxy(text);
  if (typeof trusted === 'number' || (trusted.length > 0 && trusted.every(isProxyAddress))) return [];
  // `true` would trust the address and the host that any caller writes into the headers.
  const shown = showValue('TRUST_PROXY', text);
  return [`TRUST_PROXY: must be the number of proxies in front, or their addresses and subnets${shown}`];
}

function isProxyAddress(text: string): boolean {
  if (['loopback', 'linklocal', 'uniquelocal'].includes(text)) return true;
  const [address = '', prefix, ...more] = text.split('/');
  const family = isIP(address);
  if (family === 0 || more.length > 0) return false;
  return prefix === undefined || (/^\d{1,3}$/.test(prefix) && Number(prefix) <= (family === 4 ? 32 : 128));
}

function findAliasProblems(aliases: Settings['MODEL_ALIASES']): readonly string[] {
  return Object.entries(aliases)
    .filter(([, model]) => Object.hasOwn(aliases, model))
    .map(([alias, model]) => `MODEL_ALIASES: ${alias} must stand for a model, but ${model} is an alias itself`);
}

function findPathProblems(paths: readonly string[]): readonly string[] {
  return paths
    .filter((path) => /^\/v1\/(?:responses|requests|usage|key)(?:\/|$)/.test(path))
    .map((path) => `PASSTHROUGH_PATHS: must not name ${path}, where the gateway answers itself`);
}

function findBodyProblems({ MAX_BODY_BYTES, MAX_BODY_BYTES_IN_FLIGHT }: Settings): readonly string[] {
  if (MAX_BODY_BYTES_IN_FLIGHT >= MAX_BODY_BYTES) return [];
  return [`MAX_BODY_BYTES_IN_FLIGHT: must be at least MAX_BODY_BYTES, which is ${MAX_BODY_BYTES}`];
}

function findAuthProblems({ AUTH_MODE, API_KEYS, UPSTREAM_API_KEY }: Settings): readonly string[] {
  const hasKeys = API_KEYS.length > 0;
  if (AUTH_MODE === 'static') {
    return hasKeys ? [] : ['API_KEYS: must name at least one key with AUTH_MODE=static'];
  }
  const problems: string[] = [];
  if (AUTH_MODE === 'passthrough' && UPSTREAM_API_KEY !== undefined) {
    problems.push(
      "UPSTREAM_API_KEY: must not be set with AUTH_MODE=passthrough, where the backend gets the caller's own key; " +
        'use AUTH_MODE=static with API_KEYS, or every stranger would spend on this key',
    );
  }
  if (hasKeys) problems.push('API_KEYS: apply only with AUTH_MODE=static; set it, or remove them');
  return problems;
}

function findBackendsProblems({ BACKENDS_FILE, UPSTREAM_BASE_URL, UPSTREAM_API_KEY }: Settings): readonly string[] {
  if (BACKENDS_FILE === undefined) return [];
  const problems: string[] = [];
  if (UPSTREAM_BASE_URL !== undefined)
    problems.push('UPSTREAM_BASE_URL: must not be set with BACKENDS_FILE, which names all backends');
  if (UPSTREAM_API_KEY !== undefined)
    problems.push(
      'UPSTREAM_API_KEY: must not be set with BACKENDS_FILE, where api_key_env names the key of each backend',
    );
  return problems;
}

function findDemoProblems({ UPSTREAM_BASE_URL, BACKENDS_FILE, HOST, NODE_ENV }: Settings): readonly string[] {
  if (UPSTREAM_BASE_URL !== undefined || BACKENDS_FILE !== undefined) return [];
  const refused = 'must be set, since the demo backend that stands in for it';
  const problems: string[] = [];
  if (!isLoopback(HOST)) problems.push(`UPSTREAM_BASE_URL: ${refused} is for a loopback HOST only (HOST is ${HOST})`);
  if (NODE_ENV === 'production') problems.push(`UPSTREAM_BASE_URL: ${refused} is refused with NODE_ENV=production`);
  return problems;
}

function findDatabaseProblems({ DATABASE_URL, GATEWAY_SECRET }: Settings): readonly string[] {
  if (!DATABASE_URL.startsWith('postgres')) return [];
  if (!URL.canParse(DATABASE_URL))
    return ['DATABASE_URL: is not a valid URL; are special characters in its password escaped?'];
  return GATEWAY_SECRET === undefined
    ? ['GATEWAY_SECRET: must be set with PostgreSQL, the same for all gateways that share the database']
    : [];
}

const WEBHOOK_SECRET = /^whsec_[A-Za-z0-9+/]{32,344}={0,2}$/;

function findWebhookProblems(settings: Settings): readonly string[] {
  const { ALERT_WEBHOOK_URL: text, ALERT_WEBHOOK_SECRET } = settings;
  if (text === undefined) return [];
  const problems: string[] = [];
  const url = URL.parse(text);
  if (url === null || url.username !== '' || url.password !== '') {
    problems.push('ALERT_WEBHOOK_URL: must be a URL without user name and password');
  }
  if (!WEBHOOK_SECRET.test(ALERT_WEBHOOK_SECRET ?? '')) {
    problems.push(
      'ALERT_WEBHOOK_SECRET: must be whsec_ followed by at least 24 bytes in base64; it signs what is sent to ' +
        'ALERT_WEBHOOK_URL; make one with echo whsec_$(openssl rand -base64 32)',
    );
  }
  return problems;
}

function findWorkerProblems({ WORKERS, ITEM_MEMORY_TTL_S }: Settings): readonly string[] {
  if (WORKERS === 1 || ITEM_MEMORY_TTL_S === 0) return [];
  return [
    'ITEM_MEMORY_TTL_S: must be 0 with more than one of WORKERS: each remembers what it has answered itself, and the ' +
      'next request of a conversation may come to another',
  ];
}

function findDoubtful(settings: Settings): readonly string[] {
  const { UPSTREAM_BASE_URL: baseUrl, MAX_BODY_BYTES, MAX_BODY_BYTES_IN_FLIGHT, HOST } = settings;
  const warnings: string[] = [];
  if (baseUrl !== undefined && new URL(baseUrl).pathname === '/') {
    warnings.push('UPSTREAM_BASE_URL: has no path; most backends need /v1 at the end');
  }
  if (settings.API_KEYS.some((key) => key.length < 16)) {
    warnings.push('API_KEYS: has a key of fewer than 16 characters, which can be guessed');
  }
  if (settings.METRICS_PORT !== undefined && settings.METRICS_TOKEN === undefined && !isLoopback(HOST)) {
    warnings.push('METRICS_PORT: listens on 127.0.0.1 only, since METRICS_TOKEN is not set');
  }
  if (MAX_BODY_BYTES_IN_FLIGHT < FEWEST_BODIES_IN_FLIGHT * MAX_BODY_BYTES) {
    warnings.push(
      `MAX_BODY_BYTES_IN_FLIGHT: is less than ${FEWEST_BODIES_IN_FLIGHT} times MAX_BODY_BYTES, so a few callers with ` +
        'large bodies can use all of it',
    );
  }
  return warnings;
}

/** With fewer, an eighth, which is the part of a network of strangers, is less than one body. */
const FEWEST_BODIES_IN_FLIGHT = 8;

interface Read {
  readonly dialect: Dialect;
  readonly prices: Prices | null;
  readonly models: Models | null;
  readonly backends: BackendTable | null;
  /** Holds the key, and is read again while the gateway runs. */
  readonly upstreamApiKeyFile: string | null;
  readonly upstreamHeaders: Readonly<Record<string, string>>;
  /** Between the gateway and `upstreamBaseUrl`. */
  readonly upstreamProxy: Proxy | null;
  /** Null sends no alerts. */
  readonly alertWebhook: AlertWebhook | null;
}

function toConfig(settings: Settings, read: Read, warnings: readonly string[]) {
  const metricsHost = settings.METRICS_TOKEN === undefined ? '127.0.0.1' : settings.HOST;
  return Object.freeze({
    ...CONSTANTS,
    ...read,
    host: settings.HOST,
    port: settings.PORT,
    /** Has no slash at its end. */
    publicBaseUrl: toBaseUrl(settings.PUBLIC_BASE_URL),
    /** Whether only programs on this machine can reach the gateway. */
    isLoopback: isLoopback(settings.HOST),
    allowedHosts: Object.freeze(settings.ALLOWED_HOSTS),
    /** The value of `trust proxy` in Express: a number of hops, or addresses and subnets. */
    trustProxy: toTrustProxy(settings.TRUST_PROXY),
    /** Has no slash at its end; null starts the embedded demo backend. */
    upstreamBaseUrl: toBaseUrl(settings.UPSTREAM_BASE_URL),
    /** Names several backends in the place of `upstreamBaseUrl`. */
    backendsFile: settings.BACKENDS_FILE ?? null,
    upstreamApiKey: settings.UPSTREAM_API_KEY ?? null,
    upstreamDialect: settings.UPSTREAM_DIALECT,
    dialect: Object.freeze(read.dialect),
    dialectsFile: settings.DIALECTS_FILE ?? null,
    modelAliases: aliasesOf(settings),
    defaultModelId: settings.DEFAULT_MODEL_ID ?? null,
    passthroughPaths: Object.freeze(settings.PASSTHROUGH_PATHS),
    authMode: settings.AUTH_MODE,
    apiKeys: Object.freeze([...new Set(settings.API_KEYS)]),
    /** Null turns the admin API off. */
    adminToken: settings.ADMIN_TOKEN ?? null,
    corsOrigins: Object.freeze(settings.CORS_ORIGINS),
    /** It may hold a password, so it must not be shown. */
    databaseUrl: settings.DATABASE_URL,
    workers: settings.WORKERS,
    gatewaySecret: settings.GATEWAY_SECRET ?? null,
    gatewaySecretPrevious: settings.GATEWAY_SECRET_PREVIOUS ?? null,
    recordRetentionDays: settings.RECORD_RETENTION_DAYS,
    pricesFile: settings.PRICES_FILE ?? null,
    /** That of the days and months of spend limits. */
    timeZone: read.prices?.timeZone ?? UTC,
    modelsFile: settings.MODELS_FILE ?? null,
    defaultMaxOutputTokens: settings.DEFAULT_MAX_OUTPUT_TOKENS,
    compactionModel: settings.COMPACTION_MODEL ?? null,
    hostedTools: settings.HOSTED_TOOLS,
    history: settings.HISTORY,
    imageUrls: settings.IMAGE_URLS,
    reasoningOutput: settings.REASONING_OUTPUT,
    itemMemoryTtlS: settings.ITEM_MEMORY_TTL_S,
    maxBodyBytes: settings.MAX_BODY_BYTES,
    maxBodyBytesInFlight: settings.MAX_BODY_BYTES_IN_FLIGHT,
    maxConcurrentRequests: settings.MAX_CONCURRENT_REQUESTS,
    /** 100 sets no limit. */
    callerSharePercent: settings.CALLER_SHARE,
    maxWebSockets: settings.MAX_WEBSOCKETS,
    connectTimeoutMs: settings.CONNECT_TIMEOUT_MS,
    firstByteTimeoutMs: settings.FIRST_BYTE_TIMEOUT_MS,
    idleTimeoutMs: settings.IDLE_TIMEOUT_MS,
    drainDelayMs: settings.DRAIN_DELAY_MS,
    duplicateStatus: settings.DUPLICATE_STATUS,
    drainTimeoutMs: settings.DRAIN_TIMEOUT_MS,
    logLevel: settings.LOG_LEVEL,
    // Programs read the log in production, even where it has a terminal.
    logFormat: settings.LOG_FORMAT === 'auto' && settings.NODE_ENV === 'production' ? 'json' : settings.LOG_FORMAT,
    metricsToken: settings.METRICS_TOKEN ?? null,
    metricsPort: settings.METRICS_PORT ?? null,
    /** Where `metricsPort` is opened: only who knows the token reads metrics from another machine. */
    metricsHost,
    isMetricsLoopback: isLoopback(metricsHost),
    warnings: Object.freeze(warnings),
  });
}

function aliasesOf({ MODEL_ALIASES }: Settings): ReadonlyMap<string, string> {
  return new Map(Object.entries(MODEL_ALIASES));
}

function toWebhook(settings: Settings, proxy: Proxy | undefined): AlertWebhook | null {
  const { ALERT_WEBHOOK_URL: url, ALERT_WEBHOOK_SECRET: secret } = settings;
  return url === undefined || secret === undefined
    ? null
    : Object.freeze({ url, secret, ...(proxy !== undefined && { proxy }) });
}

function toTrustProxy(text: string): number | readonly string[] {
  return /^\d{1,2}$/.test(text) ? Number(text) : Object.freeze(text.split(/[\s,]+/).filter((part) => part !== ''));
}

import schema from '../../schemas/backends.json' with { type: 'json' };
import type { AuthMode, BackendList, ListedBackend } from '../contract/settings-types.ts';
import type { Dialect, DialectParameters } from '../core/dialects.ts';
import type { BackendPolicy, BackendSpec } from '../core/routes.ts';
import { given } from '../core/given.ts';
import { findUrlProblems, toBaseUrl } from './base-url.ts';
import { findDialect, readDialectsFile, unknownDialect, type DialectsFile } from './dialects-file.ts';
import { findHeaderProblems, toHeaders } from './own-headers.ts';
import { findProxyVariableProblems, proxyFor } from './proxies.ts';
import type { Environment } from './settings.ts';
import { compileBySize, readTableFile, type TableFile } from './table-file.ts';
import { findTlsProblems } from './tls-files.ts';
import { isKey, readKeyFile } from './value-file.ts';

export interface BackendTable {
  readonly backends: readonly BackendSpec[];
  readonly policy: BackendPolicy;
}

/** Holds where `BACKENDS_FILE` says nothing else. */
export const DEFAULT_POLICY: BackendPolicy = { failover: 'safe', queueTimeoutMs: 2000, exposesUpstream: false };

export interface BackendsFileSettings {
  readonly backendsFile: string | null;
  readonly dialectsFile: string | null;
  /** The dialect of a backend that names none. */
  readonly upstreamDialect: string;
  readonly authMode: AuthMode;
  readonly modelAliases: ReadonlyMap<string, string>;
}

/** Reads and checks the list of backends, and takes their keys from the environment and from files. Does not throw. */
export function readBackendsFile(settings: BackendsFileSettings, env: Environment): TableFile<BackendTable> {
  const { backendsFile } = settings;
  if (backendsFile === null) return { content: null, problems: [] };
  const own = readDialectsFile(settings.dialectsFile ?? undefined);
  return readTableFile({
    setting: 'BACKENDS_FILE',
    path: backendsFile,
    compile: compileBackendList,
    check: ({ backends }) => [
      ...findRepeated(backends),
      ...backends.flatMap((backend) => findProblems(backend, own, settings, env)),
    ],
    create: ({ backends, failover, queue_timeout_ms, expose_upstream }) => ({
      backends: backends.map((backend) => toSpec(backend, own, settings, env)),
      policy: {
        failover: failover ?? DEFAULT_POLICY.failover,
        queueTimeoutMs: queue_timeout_ms ?? DEFAULT_POLICY.queueTimeoutMs,
        exposesUpstream: expose_upstream ?? DEFAULT_POLICY.exposesUpstream,
      },
    }),
  });
}

/** Returns the parameters that at least one of the backends takes as they are. */
export function parametersOf(dialect: Dialect, table: BackendTable | null): DialectParameters {
  if (table === null) return dialect;
  return {
    parameters: table.backends.flatMap((backend) => backend.dialect.parameters),
    unboundedParameters: table.backends.flatMap((backend) => backend.dialect.unboundedParameters),
  };
}

const compileBackendList = compileBySize<BackendList>(schema);

function findRepeated(backends: readonly ListedBackend[]): readonly string[] {
  const names = backends.map(({ name }) => name);
  const repeated = new Set(names.filter((name, index) => names.indexOf(name) !== index));
  return [...repeated].map((name) => `the name ${name} is there more than once`);
}

function findProblems(
  { name, base_url, dialect, api_key_env, api_key_file, headers = {}, tls, aliases = {} }: ListedBackend,
  own: DialectsFile,
  { upstreamDialect, authMode }: BackendsFileSettings,
  env: Environment,
): readonly string[] {
  const problems = findUrlProblems('base_url', base_url).map((line) => line.replace(/^base_url: /, 'base_url '));
  problems.push(...findProxyVariableProblems([base_url], env));
  if (findDialect(dialect ?? upstreamDialect, own) === undefined) problems.push(`dialect ${unknownDialect(own)}`);
  for (const [alias, model] of Object.entries(aliases)) {
    if (Object.hasOwn(aliases, model))
      problems.push(`alias ${alias} must stand for a model, but ${model} is an alias itself`);
  }
  problems.push(...findHeaderProblems(headers, env, authMode).map((problem) => `headers ${problem}`));
  if (tls !== undefined) problems.push(...findTlsProblems({ base_url, tls }));
  const named = Object.keys({ ...(api_key_env && { api_key_env }), ...(api_key_file && { api_key_file }) });
  if (named.length > 0 && authMode === 'passthrough') {
    problems.push(
      `${named.join(' and ')} must not be there with AUTH_MODE=passthrough, where the backend gets the caller's own key`,
    );
  } else if (named.length > 1) {
    problems.push('api_key_file must not be there beside api_key_env');
  } else if (api_key_env !== undefined && !isKey(env[api_key_env] ?? '')) {
    problems.push(`api_key_env names ${api_key_env}, which holds no key`);
  } else if (api_key_file !== undefined && readKeyFile(api_key_file) === undefined) {
    problems.push(`api_key_file names ${api_key_file}, which cannot be read or holds no key`);
  }
  return problems.map((problem) => `${name}: ${problem}`);
}

function toSpec(
  listed: ListedBackend,
  own: DialectsFile,
  settings: BackendsFileSettings,
  env: Environment,
): BackendSpec {
  const { base_url, api_key_env, api_key_file, headers } = listed;
  const { ca_file: ca, cert_file: cert, key_file: key } = listed.tls ?? {};
  const upstreamDialect = listed.dialect ?? settings.upstreamDialect;
  const dialect = findDialect(upstreamDialect, own);
  if (dialect === undefined) throw new Error('the dialect was checked before');
  const proxy = proxyFor(base_url, env);
  return {
    name: listed.name,
    baseUrl: toBaseUrl(base_url) ?? base_url,
    upstreamDialect,
    dialect,
    apiKey: (api_key_file === undefined ? env[api_key_env ?? ''] : readKeyFile(api_key_file)) ?? null,
    ...given({ apiKeyEnv: api_key_env, apiKeyFile: api_key_file, headers: headers && toHeaders(headers, env), proxy }),
    ...((ca ?? cert) !== undefined && {
      tls: { ...given({ ca }), ...(cert !== undefined && key !== undefined && { cert, key }) },
    }),
    models: listed.models ?? null,
    modelAliases: joined(settings.modelAliases, new Map(Object.entries(listed.aliases ?? {}))),
    weight: listed.weight ?? 1,
    maxConcurrent: listed.max_concurrent ?? null,
    timeouts: given({
      connectTimeoutMs: listed.connect_timeout_ms,
      firstByteTimeoutMs: listed.first_byte_timeout_ms,
      idleTimeoutMs: listed.idle_timeout_ms,
    }),
    isOnly: false,
  };
}

/** An alias of the settings may stand for one of the backend. */
function joined(ofAll: ReadonlyMap<string, string>, own: ReadonlyMap<string, string>): ReadonlyMap<string, string> {
  return new Map([...own, ...[...ofAll].map(([alias, model]) => [alias, own.get(model) ?? model] as const)]);
}

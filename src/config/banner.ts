import { showProxy } from './proxies.ts';
import { showDatabase } from '../store/database-url.ts';
import type { Config } from './config.ts';
import type { AuthMode } from '../contract/settings-types.ts';

const IS_CLONE = import.meta.filename.endsWith('.ts');
/** A clone has no `responses-gateway` on its path. */
export const COMMAND_LINE = IS_CLONE ? './gateway' : 'responses-gateway';
export const START_COMMAND = IS_CLONE ? 'npm start' : `${COMMAND_LINE} start`;

export const NO_KEY_YET = `There is no API key yet. Create one with \`${COMMAND_LINE} keys create --name <name>\` or the admin API.`;

export interface Addresses {
  /** Without a slash at its end, like the other. */
  readonly url: string;
  readonly metricsUrl?: string;
}

interface Start extends Addresses {
  readonly config: Config;
  readonly demo: boolean;
  readonly workers?: number;
}

export function describeStart({ config, url, metricsUrl, demo, workers = 1 }: Start): readonly string[] {
  const model = config.defaultModelId ?? (demo ? 'demo' : 'your-model');
  const keys = KEYS[config.authMode];
  const clientUrl = config.publicBaseUrl ?? toLoopback(url);
  return [
    `Responses gateway at ${url}`,
    `  backend   ${describeBackend(config, demo)}`,
    ...describeProxies(config),
    `  keys      ${keys.words(config)}`,
    `  records   ${config.databaseUrl === ':memory:' ? 'in memory, lost when the gateway stops' : showDatabase(config.databaseUrl)}`,
    `  console   ${clientUrl}/console`,
    `  docs      ${clientUrl}/docs`,
    ...(workers === 1 ? [] : [`  workers   ${workers} processes share the port`]),
    ...(metricsUrl === undefined ? [] : [`  metrics   ${metricsUrl}/metrics`]),
    ...config.warnings.map((warning) => `  warning   ${warning}`),
    '',
    'Try it:',
    ...writeFirstRequest({
      url: clientUrl,
      key: demo && config.authMode === 'passthrough' ? 'demo' : keys.example,
      model,
    }),
  ];
}

export function writeFirstRequest({ url, key, model }: Readonly<Record<'url' | 'key' | 'model', string>>): string[] {
  return [
    `  export GATEWAY_API_KEY=${key}`,
    `  curl ${url}/api/v1/responses -H "Authorization: Bearer $GATEWAY_API_KEY" \\`,
    `    -H 'Content-Type: application/json' -d '{"model": ${JSON.stringify(model)}, "input": "Hello!"}'`,
  ];
}

function describeBackend({ upstreamBaseUrl, upstreamDialect, backends }: Config, demo: boolean): string {
  if (demo) return 'the embedded demo backend: no model runs behind it (set UPSTREAM_BASE_URL to use yours)';
  if (backends !== null) return backends.backends.map(({ name }) => name).join(', ');
  return `${upstreamBaseUrl} (${upstreamDialect})`;
}

function describeProxies({ upstreamProxy, backends }: Config): readonly string[] {
  if (backends === null) return upstreamProxy === null ? [] : [`  proxy     ${showProxy(upstreamProxy)}`];
  const behind = Map.groupBy(
    backends.backends.filter(({ proxy }) => proxy !== undefined),
    ({ proxy }) => (proxy === undefined ? '' : showProxy(proxy)),
  );
  return [...behind].map(([proxy, specs]) => `  proxy     ${proxy} for ${specs.map(({ name }) => name).join(', ')}`);
}

/** Browsers refuse to open 0.0.0.0. */
function toLoopback(url: string): string {
  return url.replace('//0.0.0.0:', '//127.0.0.1:').replace('//[::]:', '//[::1]:');
}

/** What a start says of the keys of callers, and the example of one for its first request. */
const KEYS: Readonly<Record<AuthMode, { readonly words: (config: Config) => string; readonly example: string }>> = {
  passthrough: {
    words: () => "passed through: the backend sees each caller's own key",
    example: 'your-key    # of the backend',
  },
  static: {
    words: ({ apiKeys }) => `static: ${apiKeys.length} in API_KEYS`,
    example: 'your-key    # one of API_KEYS',
  },
  managed: {
    words: () => 'managed: issued by this gateway, with models, limits and credits of their own',
    example: `your-key    # from ${COMMAND_LINE} keys create`,
  },
};

import type { Config } from './config.ts';

/** What a person who has just started the gateway wants to know. */
export function describeStart({
  config,
  url,
  demo,
}: {
  readonly config: Config;
  readonly url: string;
  readonly demo: boolean;
}): readonly string[] {
  const model = config.defaultModelId ?? (demo ? 'demo' : 'your-model');
  return [
    `Responses gateway at ${url}`,
    `  backend   ${demo ? 'the embedded demo backend: no model runs behind it (set UPSTREAM_BASE_URL to use yours)' : `${config.upstreamBaseUrl} (${config.upstreamDialect})`}`,
    `  keys      ${config.authMode === 'passthrough' ? "passed through: the backend sees each caller's own key" : `static: ${config.apiKeys.length} in API_KEYS`}`,
    `  records   ${config.databaseUrl === ':memory:' ? 'in memory, lost at the end' : config.databaseUrl}`,
    ...config.warnings.map((warning) => `  warning   ${warning}`),
    '',
    'Try it:',
    `  curl ${url}/api/v1/responses -H 'Authorization: Bearer ${demo ? 'demo' : '<key>'}' \\`,
    `    -H 'Content-Type: application/json' -d '{"model": "${model}", "input": "Hello!"}'`,
  ];
}

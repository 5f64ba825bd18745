/** The first match counts. Records store some of these names. */
const OWN = [
  ['responses.input_tokens', '/v1/responses/input_tokens'],
  ['responses.compact', '/v1/responses/compact'],
  ['responses', '/v1/responses'],
  ['chat.completions', '/v1/chat/completions'],
  ['models', '/v1/models'],
  ['requests', '/v1/requests'],
  ['usage', '/v1/usage'],
  ['key', '/v1/key'],
] as const;

/** It becomes a metric label, so it has a small set of values. */
export type Endpoint = (typeof OWN)[number][0] | 'passthrough' | 'health' | 'other';

export const ENDPOINTS: readonly Endpoint[] = [...OWN.map(([endpoint]) => endpoint), 'passthrough', 'health', 'other'];

export function createEndpointOf(passthroughPaths: readonly string[]): (path: string) => Endpoint {
  const listed: readonly (readonly [Endpoint, string])[] = [
    ...OWN,
    ...passthroughPaths.map((path) => ['passthrough', path.toLowerCase()] as const),
    ...['/healthz', '/readyz', '/metrics'].map((path) => ['health', path] as const),
  ];
  return (path) => {
    const asListed = path.toLowerCase().replace(/^\/api(?=\/v1\/)/, '');
    return listed.find(([, start]) => asListed === start || asListed.startsWith(`${start}/`))?.[0] ?? 'other';
  };
}

/** Returns the path that the endpoint begins with; undefined for paths that are not traced. */
export function routeOf(endpoint: Endpoint): string | undefined {
  return endpoint === 'passthrough' ? '/v1' : OWN.find(([name]) => name === endpoint)?.[1];
}

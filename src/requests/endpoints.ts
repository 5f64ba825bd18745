/**
 * Where the gateway answers itself, with all that is below, as callers write it without `/api`: the first that fits. Records know
 * `responses`, `responses.compact` and `chat.completions` by these names.
 */
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

/** What a request asks for. A small set, whatever the path is. */
export type Endpoint = (typeof OWN)[number][0] | 'passthrough' | 'health' | 'other';

export const ENDPOINTS: readonly Endpoint[] = [...OWN.map(([endpoint]) => endpoint), 'passthrough', 'health', 'other'];

/** `passthroughPaths` are those which the operator has added. */
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

/** What the paths of an endpoint have in common; undefined where that is nothing of interest. */
export function routeOf(endpoint: Endpoint): string | undefined {
  return endpoint === 'passthrough' ? '/v1' : OWN.find(([name]) => name === endpoint)?.[1];
}

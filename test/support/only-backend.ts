/** One backend without a list, as `UPSTREAM_BASE_URL` names it. */

import { createBackends, type Backends } from '../../src/backend/backends.ts';
import { DIALECTS } from '../../src/core/dialects.ts';
import type { BackendSpec } from '../../src/core/routes.ts';

export function onlyBackend(spec: Partial<BackendSpec> = {}): BackendSpec {
  return {
    name: 'upstream',
    isOnly: true,
    baseUrl: 'http://127.0.0.1:1/v1',
    apiKey: null,
    dialect: DIALECTS.generic,
    upstreamDialect: 'generic',
    modelAliases: new Map(),
    models: null,
    weight: 1,
    maxConcurrent: null,
    timeouts: {},
    ...spec,
  };
}

/** For tests that ask it in another way. */
export function openOnlyBackend(spec: Partial<BackendSpec> = {}): Backends {
  const unasked = () => Promise.reject(new Error('it is asked in another way'));
  return createBackends([onlyBackend(spec)], {
    keyOwner: 'caller',
    policy: () => ({ queueTimeoutMs: 1000 }),
    nowMs: () => 0,
    onChange: () => undefined,
    open: () => ({
      ask: unasked,
      relay: unasked,
      refusals: { any: () => false, forModel: () => [] },
      count: () => Promise.resolve(undefined),
      connections: () => ({ busy: 0, idle: 0 }),
      close: () => Promise.resolve(),
    }),
  });
}

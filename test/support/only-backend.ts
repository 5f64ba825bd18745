/** One backend without a list, as `UPSTREAM_BASE_URL` names it. */

import { createBackends, type Backends, type SingleBackend } from '../../src/backend/backends.ts';
import { DIALECTS } from '../../src/core/dialects.ts';
import type { BackendPolicy, BackendSpec } from '../../src/core/routes.ts';

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

export const POLICY: BackendPolicy = { failover: 'safe', queueTimeoutMs: 1000, exposesUpstream: false };

/** For backends to which nothing is forwarded. */
export const NO_FORWARD: Pick<SingleBackend, 'forward' | 'forwards'> = {
  forward: () => Promise.reject(new Error('nothing is forwarded here')),
  forwards: { connections: () => ({ busy: 0, idle: 0 }) },
};

/** For tests that ask it in another way. */
export function openOnlyBackend(spec: Partial<BackendSpec> = {}, chat: Partial<SingleBackend> = {}): Backends {
  const unasked = () => Promise.reject(new Error('it is asked in another way'));
  return createBackends([onlyBackend(spec)], {
    keyOwner: 'caller',
    policy: () => POLICY,
    nowMs: () => 0,
    onChange: () => undefined,
    open: () => ({
      ask: unasked,
      relay: unasked,
      ...NO_FORWARD,
      refusals: { any: () => false, forModel: () => [] },
      count: () => Promise.resolve(undefined),
      connections: () => ({ busy: 0, idle: 0 }),
      close: () => Promise.resolve(),
      ...chat,
    }),
  });
}

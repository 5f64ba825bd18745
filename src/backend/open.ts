import { leadTo, watchAddresses, type AddressesOptions } from './addresses.ts';
import type { BackendPolicy, BackendSpec, BackendTimeouts, Proxy } from '../core/routes.ts';
import { createBackends, type BackendChange, type Backends, type SingleBackend } from './backends.ts';
import { withCurrentKey, type CurrentKeyOptions } from './current-key.ts';
import { createChatBackend } from './chat.ts';
import { createFailover, type Failover } from './failover.ts';
import { ONLY_SETTINGS } from './failures.ts';
import { createForward } from './forward/forward.ts';
import { createInputCounter } from './input-counter.ts';
import { egressOf } from './outbound.ts';
import type { KeyOwner } from './request-headers.ts';
import { createReuse } from './reuse.ts';

export interface OpenBackendsOptions extends AddressesOptions, CurrentKeyOptions, Required<BackendTimeouts> {
  readonly specs: readonly BackendSpec[];
  readonly keyOwner: KeyOwner;
  readonly policy: () => BackendPolicy;
  readonly tokenCountTimeoutMs: number;
  readonly headerHoldMs: number;
  /** Keeps the limits of the backend from callers who have limits of their own. */
  readonly hidesLimits: boolean;
  readonly nowMs: () => number;
  readonly log: BackendsLog;
  readonly onRest: (change: BackendChange) => void;
}

export interface BackendsLog {
  info(fields: Readonly<Record<string, unknown>>, message: string): void;
  warn(fields: Readonly<Record<string, unknown>>, message: string): void;
  error(fields: Readonly<Record<string, unknown>>, message: string): void;
}

/** Opens the backends of a list, and what goes from one to another. */
export function openBackends(options: OpenBackendsOptions): {
  readonly backends: Backends;
  readonly failover: Failover;
} {
  const { specs, log, nowMs } = options;

  function open(spec: BackendSpec): SingleBackend {
    const { isOnly, baseUrl, proxy, dialect, timeouts, apiKeyFile, apiKeyEnv = 'its api_key_env' } = spec;
    const { streamOptions, inputCounter } = dialect;
    const named = nameOf(spec);
    if (proxy !== undefined)
      log.info({ ...named, proxy: new URL(proxy.url).host, variable: proxy.variable }, 'a proxy leads to the backend');
    const own = {
      ...options,
      ...timeouts,
      baseUrl,
      ...egressOf(spec),
      ...(spec.address !== undefined && { lookup: leadTo(spec.address) }),
      streamOptions,
      reuse: createReuse(),
      settings: {
        ...(isOnly ? ONLY_SETTINGS : { key: apiKeyFile ?? apiKeyEnv, address: 'its base_url' }),
        ...(proxy !== undefined && baseUrl.startsWith('http:') && { proxy: proxy.variable }),
      },
      onOperatorProblem: (problem: string) => log.error({ ...named, problem }, 'the backend needs the operator'),
      onRefusedFields: (model: string, fields: readonly string[]) =>
        log.warn({ ...named, model, fields }, 'the backend refuses fields, which are left out for an hour'),
    };
    const chat = createChatBackend(own);
    const forwarder = createForward(own);
    const counter = createInputCounter({ ...own, inputCounter, timeoutMs: options.tokenCountTimeoutMs });
    return {
      ...chat,
      count: (request, asking) => counter.count(request, asking),
      forward: (...asked) => forwarder.forward(...asked),
      forwards: forwarder,
      async close() {
        forwarder.close();
        await Promise.all([chat.close(), counter.close()]);
      },
    };
  }

  const backends = createBackends(specs, {
    ...options,
    addresses: watchAddresses(options),
    withCurrentKey: (spec) => withCurrentKey(spec, options),
    open,
    onChange(change) {
      logChange(change, log);
      const isWhole = backends.states().every(({ spec, state }) => spec.name !== change.backend || state !== 'up');
      if (change.state === 'resting' && change.model === undefined && isWhole) options.onRest(change);
    },
    onUnreachable: (spec, why) =>
      log.error(
        { ...nameOf(spec), ...why, ...(spec.proxy !== undefined && { variable: spec.proxy.variable }) },
        'the backend cannot be reached',
      ),
  });

  return { backends, failover: createFailover({ ...options, backends, nowMs }) };
}

/** The only one has no name of its own. */
function nameOf({ name, isOnly }: BackendSpec): { readonly backend?: string } {
  return isOnly ? {} : { backend: name };
}

function logChange({ backend, address, model, state, restMs, reason }: BackendChange, log: BackendsLog): void {
  const who = { backend, ...(address !== undefined && { address }), ...(model !== undefined && { model }) };
  if (state === 'resting') log.warn({ ...who, restMs: Math.ceil(restMs), reason }, 'the backend has failed and rests');
  else if (state === 'up') log.info(who, 'the backend answers again');
}

/** Returns the backend of `UPSTREAM_BASE_URL`, or the one that stands in for it. */
export function onlyBackend({
  baseUrl,
  apiKey,
  apiKeyFile,
  upstreamHeaders,
  upstreamProxy,
  dialect,
  upstreamDialect,
  modelAliases,
}: Pick<BackendSpec, 'baseUrl' | 'apiKey' | 'dialect' | 'upstreamDialect' | 'modelAliases'> & {
  readonly apiKeyFile: string | null;
  readonly upstreamHeaders: Readonly<Record<string, string>>;
  readonly upstreamProxy: Proxy | null;
}): BackendSpec {
  return {
    name: 'upstream',
    isOnly: true,
    baseUrl,
    apiKey,
    ...(apiKeyFile !== null && { apiKeyFile }),
    headers: upstreamHeaders,
    ...(upstreamProxy !== null && { proxy: upstreamProxy }),
    dialect,
    upstreamDialect,
    modelAliases,
    models: null,
    weight: 1,
    maxConcurrent: null,
    timeouts: {},
  };
}

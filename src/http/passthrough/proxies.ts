import type { Request, Response } from 'express';
import type { Backends, SingleBackend, Try, TryEnd } from '../../backend/backends.ts';
import { MAX_TRIES } from '../../backend/failover.ts';
import { withKey } from '../../backend/key-headers.ts';
import { ApiError } from '../../core/errors.ts';
import type { BackendPolicy, Route } from '../../core/routes.ts';
import { noteUpstream } from '../../requests/facts.ts';
import { replyHeadOf } from '../incoming.ts';
import type { Forwarding, Proxy } from './relay.ts';

export interface RoutedForwarding extends Forwarding {
  /** The bytes of the body are as those that are alike need them. */
  readonly route: Pick<Route, 'alike' | 'model'>;
  readonly caller: string;
}

export interface Proxies {
  /** Resolves when the reply has been sent. Throws ApiError if nothing has been sent yet. */
  forward(req: Request, res: Response, forwarding: RoutedForwarding): Promise<void>;
}

export interface ProxiesOptions {
  readonly backends: Pick<Backends, 'begin'>;
  readonly proxyOf: (backend: SingleBackend) => Proxy;
  readonly policy: () => Pick<BackendPolicy, 'exposesUpstream'>;
}

/** Forwards to the best backend of a route, and to the next where no connection could be made. */
export function createProxies({ backends, proxyOf, policy }: ProxiesOptions): Proxies {
  async function beginFor(
    res: Response,
    { route, caller }: Pick<RoutedForwarding, 'route' | 'caller'>,
    tried: ReadonlySet<string>,
  ): Promise<Try> {
    const gone = new AbortController();
    const leave = (): void => gone.abort(new ApiError('client_disconnected'));
    res.once('close', leave);
    try {
      return await backends.begin({ backends: route.alike, model: route.model, caller, signal: gone.signal }, tried);
    } finally {
      res.off('close', leave);
    }
  }

  return {
    async forward(req, res, { route, caller, ...forwarding }) {
      // Each try adds some listeners.
      res.setMaxListeners(MAX_TRIES * res.getMaxListeners());
      const tried = new Set<string>();
      for (;;) {
        const place = await beginFor(res, { route, caller }, tried);
        const { spec, chat } = place;
        tried.add(spec.name);
        noteUpstream(replyHeadOf(res), spec, policy().exposesUpstream);
        try {
          const backendHeaders = withKey(forwarding.backendHeaders, spec);
          await proxyOf(chat).forward(req, res, { ...forwarding, backendHeaders });
          place.end(endOf(res));
          return;
        } catch (thrown) {
          place.end({ kind: 'failed', thrown });
          // A body that is streamed has been used up.
          const isWhole = forwarding.body !== undefined || req.method === 'GET';
          const hasMore = tried.size < Math.min(MAX_TRIES, route.alike.length);
          const isUnreachable = thrown instanceof ApiError && thrown.code === 'upstream_unreachable';
          if (!isUnreachable || !isWhole || !hasMore) throw place.tell(thrown);
        }
      }
    },
  };
}

/** The reply has the status of the backend. */
function endOf(res: Response): TryEnd {
  if (!res.headersSent) return { kind: 'left' };
  if (res.statusCode !== 429 && res.statusCode < 500) return { kind: 'whole' };
  const retryAfter = res.getHeader('retry-after');
  const headers = typeof retryAfter === 'string' ? { 'retry-after': retryAfter } : {};
  return { kind: 'failed', thrown: new ApiError('upstream_error', { status: res.statusCode, headers }) };
}

import type { RequestHandler } from 'express';
import { lazily } from '../core/lazily.ts';

/** A route which is loaded with the first request that asks for it, so that a start need not wait for it. */
export function lazyRoute(load: () => Promise<RequestHandler>): RequestHandler {
  const loaded = lazily(load);
  return async (req, res, next) => {
    const handle = await loaded();
    await handle(req, res, next);
  };
}

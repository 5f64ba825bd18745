import type { RequestHandler } from 'express';
import { lazily } from '../core/lazily.ts';

/** Loads the code of a route with its first request, so that a start does not wait for it. */
export function lazyRoute(load: () => Promise<RequestHandler>): RequestHandler {
  const loaded = lazily(load);
  return async (req, res, next) => {
    const handle = await loaded();
    await handle(req, res, next);
  };
}

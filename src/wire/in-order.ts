import type { RequestHandler } from 'express';

/**
 * Returns one handler that runs these in their order. None of them may return a promise.
 * The router takes some 3 µs for each handler of its own, of which a refused request would pass a dozen.
 */
export function inOrder(handlers: readonly RequestHandler[]): RequestHandler {
  return handlers.reduceRight(
    (rest, handler) => (req, res, next) =>
      handler(req, res, (failure?: unknown) => (failure === undefined ? rest(req, res, next) : next(failure))),
  );
}

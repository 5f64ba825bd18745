import type { ErrorRequestHandler, RequestHandler } from 'express';
import { ApiError, toApiError } from '../core/errors.ts';
import { discardBody } from './body.ts';

/** Statuses after which the same request may well go through: a client is told not to repeat the others. */
const PASSING = new Set([408, 409, 425, 429]);

/** The one place which turns an error into a reply (contract, section 5). What the gateway did wrong itself is told to the log alone. */
export const errorHandler: ErrorRequestHandler = (thrown, req, res, _next) => {
  const error = toApiError(fromExpress(thrown));
  if (error.code === 'internal_error') res.log.error({ err: error.cause }, 'the gateway failed');
  if (res.headersSent || res.destroyed) {
    res.destroy();
    return;
  }
  if (error.status < 500 && !PASSING.has(error.status)) res.setHeader('x-should-retry', 'false');
  res.status(error.status).set(error.headers).json(error.toBody());
  discardBody(req);
};

export const notFound: RequestHandler = (req) => {
  throw new ApiError('not_found', { message: `There is no ${req.method} ${req.path}.` });
};

/** Ends a path whose other methods have been looked at. `allowed` in upper case. */
export function methodNotAllowed(...allowed: readonly string[]): RequestHandler {
  return (req) => {
    throw new ApiError('method_not_allowed', {
      message: `${req.method} is not allowed on this path; it takes ${allowed.join(' and ')}.`,
      headers: { allow: allowed.join(', ') },
    });
  };
}

/** Express and its parts throw errors with a `status` for what the caller did wrong, such as a path with a broken escape. */
function fromExpress(thrown: unknown): unknown {
  if (thrown instanceof ApiError || !(thrown instanceof Error) || !('status' in thrown)) return thrown;
  const { status } = thrown;
  if (typeof status !== 'number' || status < 400 || status >= 500) return thrown;
  return new ApiError('invalid_request', { message: 'The request could not be read.', cause: thrown });
}

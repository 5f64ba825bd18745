import type { ErrorRequestHandler, RequestHandler, Response } from 'express';
import { isTransient } from '../backend/failures.ts';
import { ApiError, toApiError } from '../core/errors.ts';
import { discardBody } from './body/body.ts';
import { factsOf } from '../telemetry/reply-facts.ts';
import type { RequestFacts } from '../requests/facts.ts';

/** The one place which turns an error into a reply over HTTP (contract, section 5). */
export const errorHandler: ErrorRequestHandler = (thrown, req, res, _next) => {
  const error = noteFailure(fromExpress(thrown), factsOf(res));
  if (res.headersSent || res.destroyed) {
    // Half of a reply must not look like a whole one; a whole one is still on its way to the client.
    if (!res.writableEnded) res.destroy();
    return;
  }
  forgetBody(res);
  res.status(error.status).set(headersOf(error)).json(error.toBody());
  discardBody(req);
};

/** What a request failed with, from now on in its facts. A mistake of our own is in the log, and nowhere else. */
export function noteFailure(thrown: unknown, facts: RequestFacts): ApiError {
  const error = toApiError(thrown);
  facts.errorCode = error.code;
  if (error.code === 'internal_error') facts.log.error({ err: error.cause }, 'the gateway failed');
  return error;
}

/** The headers that go with an error, with a word on whether to try again. */
export function headersOf(error: ApiError): Readonly<Record<string, string>> {
  return isDeterministic(error) ? { 'x-should-retry': 'false', ...error.headers } : error.headers;
}

/** The end of all routes. */
export const notFound: RequestHandler = () => {
  throw new ApiError('not_found', {
    message: 'There is no such path here. The API is at /api/v1, and at /v1. See /docs/api for its paths.',
  });
};

/** Ends a path whose other methods have been looked at. `allowed` in upper case. */
export function methodNotAllowed(...allowed: readonly string[]): RequestHandler {
  return (req) => {
    throw new ApiError('method_not_allowed', {
      message: `${req.method} is not allowed on this path; it takes ${allowed.join(', ')}.`,
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

/** What a route has said of the body which it did not come to send. */
function forgetBody(res: Response): void {
  for (const name of ['content-type', 'content-length', 'content-encoding', 'cache-control', 'etag'])
    res.removeHeader(name);
}

/** The SDKs repeat some of these by themselves, among them every 409: a request that was cancelled would begin again. */
function isDeterministic({ code, status }: ApiError): boolean {
  return code === 'request_cancelled' || code === 'duplicate_request' || !isTransient(status);
}

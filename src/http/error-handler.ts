import type { ErrorRequestHandler, RequestHandler, Response } from 'express';
import { ApiError } from '../core/errors.ts';
import { headersOf, noteFailure } from '../requests/noted-failure.ts';
import { discardBody } from './body/body.ts';
import { factsOf } from '../telemetry/reply-facts.ts';

/** Turns an error into a reply over HTTP, with the body of schemas/error.json. */
export const errorHandler: ErrorRequestHandler = (thrown, req, res, _next) => {
  const error = noteFailure(fromExpress(thrown), factsOf(res));
  if (res.headersSent || res.destroyed) {
    // A reply that is cut off must not look complete. A complete one is still being sent.
    if (!res.writableEnded) res.destroy();
    return;
  }
  forgetBody(res);
  // A refusal takes 33 µs, with `res.json` 39 µs, and a flood of requests is made of them.
  const body = JSON.stringify(error.toBody());
  res
    .writeHead(error.status, {
      ...headersOf(error, res.get('x-should-retry')),
      'content-type': 'application/json; charset=utf-8',
      'content-length': Buffer.byteLength(body),
    })
    .end(body);
  discardBody(req);
};

export const notFound: RequestHandler = (req) => {
  const path = /^(?:\/api)?\/v1(\/[^?]*)/.exec(req.originalUrl)?.[1] ?? '';
  const instead = INSTEAD.find(({ of }) => of.test(path))?.sentence ?? 'The API is at /api/v1 and at /v1.';
  throw new ApiError('not_found', { message: `This path does not exist. ${instead} See /docs/api for its paths.` });
};

/** What is there in the place of paths that clients know from other services. */
const INSTEAD: readonly { readonly of: RegExp; readonly sentence: string }[] = [
  {
    of: /^\/responses\/[^/]/,
    sentence:
      'Responses are not stored. GET /api/v1/requests/{id} shows the record of a request, without its content, and ' +
      'POST /api/v1/requests/{id}/cancel ends it.',
  },
  {
    of: /^\/(?:conversations|threads|assistants|prompts)(?:\/|$)/,
    sentence: 'No conversation is stored. Send the full history in input of POST /api/v1/responses.',
  },
  {
    of: /^\/(?:audio|batches|completions|embeddings|files|images|messages|moderations|rerank|vector_stores)(?:\/|$)/,
    sentence: 'It is not passed on to the backend, unless the operator of the gateway names it in PASSTHROUGH_PATHS.',
  },
];

/** Refuses all other methods of a path. `allowed` is in upper case. */
export function methodNotAllowed(...allowed: readonly string[]): RequestHandler {
  return (req) => {
    throw new ApiError('method_not_allowed', {
      message: `${req.method} is not allowed on this path; it takes ${allowed.join(', ')}.`,
      headers: { allow: allowed.join(', ') },
    });
  };
}

/** Express throws errors with a `status` for mistakes of the caller, such as a broken escape. */
function fromExpress(thrown: unknown): unknown {
  if (thrown instanceof ApiError || !(thrown instanceof Error) || !('status' in thrown)) return thrown;
  const { status } = thrown;
  if (typeof status !== 'number' || status < 400 || status >= 500) return thrown;
  return new ApiError('invalid_request', { message: 'The request could not be read.', cause: thrown });
}

function forgetBody(res: Response): void {
  for (const name of ['content-type', 'content-length', 'content-encoding', 'cache-control', 'etag'])
    res.removeHeader(name);
}

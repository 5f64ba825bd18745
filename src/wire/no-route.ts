import type { RequestHandler } from 'express';
import { ApiError } from '../core/errors.ts';

/** Refuses a path that does not exist, and names what is there in its place. */
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

import type { RequestHandler } from 'express';
import { callerOf } from '../access/authenticate.ts';
import { readJsonBody } from '../body/body.ts';
import { httpClient } from '../client.ts';
import { parseIdempotencyKey } from '../records/idempotency-key.ts';
import type { ServeResponse } from './create-response.ts';
import { createJsonReply, createStreamReply } from './reply.ts';

export interface PostResponseOptions {
  readonly serveResponse: ServeResponse;
  readonly publicBaseUrl: string | null;
  readonly maxBodyBytes: number;
  readonly headerHoldMs: number;
  readonly keepaliveCommentMs: number;
  readonly keepaliveEventMs: number;
  readonly clientStallMs: number;
}

/** `POST /api/v1/responses`: the end of HTTP. */
export function postResponse({ serveResponse, publicBaseUrl, ...options }: PostResponseOptions): RequestHandler {
  const stallMs = options.clientStallMs;
  const timing = {
    headerHoldMs: options.headerHoldMs,
    commentMs: options.keepaliveCommentMs,
    eventMs: options.keepaliveEventMs,
    stallMs,
  };

  return async (req, res) => {
    const idempotencyKey = parseIdempotencyKey(req.headers['idempotency-key']);
    await serveResponse(httpClient(req, res, publicBaseUrl), {
      caller: callerOf(res),
      idempotencyKey,
      body: await readJsonBody(req, { maxBytes: options.maxBodyBytes }),
      openReply: (translator, { stream, signal }) =>
        stream
          ? createStreamReply(res, translator, { ...timing, signal })
          : createJsonReply(res, translator, { stallMs }),
    });
  };
}

import type { RequestHandler } from 'express';
import { callerOf } from '../access/authenticate.ts';
import { readJsonBody } from '../body/body.ts';
import { httpClient } from './client.ts';
import { parseIdempotencyKey } from '../../requests/idempotency-key.ts';
import { validateCreateResponse } from '../../requests/validate.ts';
import type { ServeResponse } from '../../requests/respond.ts';
import type { ResponseEvent } from '../../contract/types.ts';
import { openEventStream } from './event-stream.ts';
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
  const { headerHoldMs, keepaliveCommentMs: commentMs, keepaliveEventMs: eventMs, clientStallMs: stallMs } = options;

  return async (req, res) => {
    const client = httpClient(req, res, publicBaseUrl);
    const idempotencyKey = parseIdempotencyKey(req.headers['idempotency-key']);
    await serveResponse(client, {
      caller: callerOf(res),
      idempotencyKey,
      body: await readJsonBody(req, { maxBytes: options.maxBodyBytes }),
      endpoint: 'responses',
      validate: validateCreateResponse,
      openReply(translator, { submission, signal }) {
        if (!submission.stream) return createJsonReply(res, translator, { stallMs });
        const keepAliveEvents = (): readonly ResponseEvent[] => translator.keepAlive();
        const timing = { commentMs, eventMs, stallMs };
        return createStreamReply(translator, {
          headerHoldMs,
          client,
          open: (headers) =>
            res.destroyed ? undefined : openEventStream(res, { ...timing, signal, headers, keepAliveEvents }),
        });
      },
    });
  };
}

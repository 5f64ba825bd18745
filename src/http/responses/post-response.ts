import type { RequestHandler } from 'express';
import { LARGE_BYTES } from '../../core/json-size.ts';
import { respond, type RespondServices } from '../../requests/respond.ts';
import { validateCreateResponse } from '../../requests/validate.ts';
import { readIncoming } from '../incoming.ts';
import { openEventStream } from './event-stream.ts';
import { createJsonReply, createStreamReply } from './reply.ts';

export interface PostResponseOptions {
  readonly publicBaseUrl: string | null;
  readonly maxBodyBytes: number;
  readonly headerHoldMs: number;
  readonly keepaliveCommentMs: number;
  readonly keepaliveEventMs: number;
  readonly clientStallMs: number;
}

/** `POST /api/v1/responses` */
export function postResponse(services: RespondServices & PostResponseOptions): RequestHandler {
  const { headerHoldMs, keepaliveCommentMs: commentMs, keepaliveEventMs: eventMs, clientStallMs: stallMs } = services;

  return async (req, res) => {
    const incoming = await readIncoming(req, res, { ...services, maxParsedBytes: LARGE_BYTES });
    await respond(
      {
        ...incoming,
        endpoint: 'responses',
        validate: validateCreateResponse,
        openReply(translator, { stream }, { signal, whenDecided }) {
          if (!stream) return createJsonReply(res, translator, { stallMs });
          const timing = { commentMs, eventMs, stallMs };
          return createStreamReply(translator, {
            headerHoldMs,
            whenDecided,
            incoming,
            open: (headers) =>
              res.destroyed
                ? undefined
                : openEventStream(res, { ...timing, signal, headers, keepAliveEvents: () => translator.keepAlive() }),
          });
        },
      },
      services,
    );
  };
}

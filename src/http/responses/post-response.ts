import type { RequestHandler } from 'express';
import { respond } from '../../requests/respond.ts';
import type { IncomingCreate } from '../../requests/incoming.ts';
import { readIncoming } from '../incoming.ts';
import { toCompactionPieces } from './compaction-resource.ts';
import { openEventStream } from './event-stream.ts';
import { createPiecesWriter } from '../../wire/json-pieces.ts';
import { createJsonReply } from './reply.ts';
import type { AccessServices } from '../../access/services.ts';
import type { RequestServices } from '../../requests/open.ts';

export interface PostResponseOptions extends RequestServices, AccessServices {
  readonly publicBaseUrl: string | null;
  readonly maxBodyBytes: number;
  readonly headerHoldMs: number;
  readonly keepaliveCommentMs: number;
  readonly keepaliveEventMs: number;
}

/** `POST /api/v1/responses`, and `POST /api/v1/responses/compact`: a response that is nothing but a compaction. */
export function postResponse(services: PostResponseOptions, endpoint: IncomingCreate['endpoint']): RequestHandler {
  const { headerHoldMs, estimator, preparation } = services;
  const { keepaliveCommentMs: commentMs, keepaliveEventMs: eventMs, clientStallMs: stallMs } = services;

  return async (req, res) => {
    const incoming = await readIncoming(req, res, services);
    await respond(
      {
        ...incoming,
        endpoint,
        prepare: (backend) => preparation.response(incoming, { endpoint }, backend),
        openReply(translator, plan, signal) {
          const { stream, echo } = plan;
          if (endpoint === 'responses.compact') {
            const parts = { plan, caller: incoming.caller.identity, estimator };
            return createJsonReply(res, { toPieces: () => toCompactionPieces(translator, parts) });
          }
          if (!stream)
            return createJsonReply(res, { toPieces: () => createPiecesWriter(echo).response(translator.response) });
          const options = { translator, echo, signal, commentMs, eventMs, stallMs };
          return {
            headerHoldMs,
            open: (headers) => (res.destroyed ? undefined : openEventStream(res, { ...options, headers })),
          };
        },
      },
      services,
    );
  };
}

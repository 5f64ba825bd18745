import type { RequestHandler } from 'express';
import type { Preparation } from '../../requests/preparation/preparation.ts';
import { respond, type RespondServices } from '../../requests/respond.ts';
import { readIncoming } from '../incoming.ts';
import { heldBytesOf, openEventStream } from './event-stream.ts';
import { createPiecesWriter } from './json-pieces.ts';
import { createJsonReply } from './reply.ts';

export interface PostResponseOptions {
  readonly publicBaseUrl: string | null;
  readonly maxBodyBytes: number;
  readonly headerHoldMs: number;
  readonly keepaliveCommentMs: number;
  readonly keepaliveEventMs: number;
  readonly clientStallMs: number;
  readonly preparation: Pick<Preparation, 'response'>;
}

const OPTIONS = { endpoint: 'responses' } as const;

/** `POST /api/v1/responses` */
export function postResponse(services: RespondServices & PostResponseOptions): RequestHandler {
  const { headerHoldMs, keepaliveCommentMs: commentMs, keepaliveEventMs: eventMs, clientStallMs: stallMs } = services;

  return async (req, res) => {
    const incoming = await readIncoming(req, res, services);
    await respond(
      {
        ...incoming,
        ...OPTIONS,
        prepare: (backend) => services.preparation.response(incoming, OPTIONS, backend),
        openReply(translator, { stream, echo }, signal) {
          if (!stream)
            return createJsonReply(res, { toPieces: () => createPiecesWriter(echo).response(translator.response) });
          const timing = { commentMs, eventMs, stallMs };
          const told = {
            keepAliveEvents: () => translator.keepAlive(),
            heldBytes: () => heldBytesOf(translator),
            echo,
          };
          return {
            headerHoldMs,
            open: (headers) =>
              res.destroyed ? undefined : openEventStream(res, { ...timing, ...told, signal, headers }),
          };
        },
      },
      services,
    );
  };
}

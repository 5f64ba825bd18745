import type { IncomingHttpHeaders } from 'node:http';
import type { RequestHandler, Response } from 'express';
import type { RelayedAnswer } from '../../backend/chat.ts';
import type { RelayedRefusal } from '../../backend/refusal.ts';
import { towardsClient } from '../../backend/reply-headers.ts';
import { wishesOf, type KeyOwner } from '../../backend/request-headers.ts';
import { splice } from '../../core/json-bytes.ts';
import type { StopSignal } from '../../core/stop-signal.ts';
import type { ByteSink, Incoming } from '../../requests/incoming.ts';
import type { PreparedChat } from '../../requests/preparation/chat.ts';
import type { ChatPlan } from '../../requests/plan.ts';
import { relayChat } from '../../requests/relay.ts';
import { readIncoming } from '../incoming.ts';
import type { AccessServices } from '../../access/services.ts';
import type { RequestServices } from '../../requests/open.ts';
import { openRelayedReply, openRelayedStream } from './relayed-reply.ts';

export interface ChatCompletionOptions extends RequestServices, AccessServices {
  readonly publicBaseUrl: string | null;
  readonly maxBodyBytes: number;
}

/** `POST /v1/chat/completions` in `managed` mode. */
export function createChatCompletion(services: ChatCompletionOptions): RequestHandler {
  return async (req, res) => {
    const incoming = await readIncoming(req, res, services);
    await relayChat(
      {
        ...incoming,
        prepare: async (backend) => toPlan(await services.preparation.chat(incoming, backend), req.headers, incoming),
        reply: {
          open: (answer, signal) => openRelay(res, answer, { signal, stallMs: services.clientStallMs }),
          refuse: (refusal) => sendRefusal(res, refusal, 'gateway'),
        },
      },
      services,
    );
  };
}

/** Adds to what was prepared how the backend is asked. */
export function toPlan(
  { canAskForUsage, edits, ...plan }: PreparedChat,
  headers: IncomingHttpHeaders,
  { caller, body }: Incoming,
): ChatPlan {
  const { backendModel: model, stream } = plan;
  return {
    ...plan,
    // The bytes move when a thread prepares the request once more for another backend.
    request: { model, stream, canAskForUsage, body: (withUsage) => splice(body.bytes, edits(withUsage)) },
    headers: { ...wishesOf(headers), ...caller.backendHeaders },
  };
}

function openRelay(
  res: Response,
  { status, headers, isEventStream }: RelayedAnswer,
  client: { readonly signal: StopSignal; readonly stallMs: number },
): ByteSink {
  const open = isEventStream ? openRelayedStream : openRelayedReply;
  return open(res, { status, headers: towardsClient(headers, 'gateway'), ...client });
}

/** Sends what a backend says in its own words. */
export function sendRefusal(res: Response, { status, headers, body, error }: RelayedRefusal, keyOwner: KeyOwner): void {
  // What the gateway knows of the record counts more than what the backend says.
  const retry = res.getHeader('x-should-retry') ?? error.headers['x-should-retry'];
  const decided = retry === undefined ? {} : { 'x-should-retry': retry };
  res.writeHead(status, { ...towardsClient(headers, keyOwner), ...decided, 'content-length': body.length }).end(body);
}

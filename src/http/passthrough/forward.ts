import type { Request, Response } from 'express';
import { callerOf } from '../../access/authenticate.ts';
import { closeWhenStalled, countUnreadReply } from '../../access/stalled-client.ts';
import type { RelayedAnswer } from '../../backend/chat.ts';
import type { RoutedForward } from '../../backend/failover.ts';
import type { Forwarding } from '../../backend/forward/forward.ts';
import { towardsClient } from '../../backend/reply-headers.ts';
import type { KeyOwner } from '../../backend/request-headers.ts';
import { ApiError } from '../../core/errors.ts';
import type { ShownPolicy, BackendSpec, RouteToAsk } from '../../core/routes.ts';
import { createStopController } from '../../core/stop-signal.ts';
import { noteBackendCall, noteUpstream } from '../../telemetry/facts.ts';
import { factsOf } from '../../telemetry/reply-facts.ts';
import { watchPace } from '../../wire/pace.ts';
import { onceServed } from '../../wire/until-served.ts';
import { sendRefusal } from '../chat/chat.ts';
import { replyHeadOf } from '../incoming.ts';

export interface ForwardOptions {
  readonly failover: RoutedForward;
  readonly keyOwner: KeyOwner;
  /** Whether replies may name the backends. */
  readonly policy: () => ShownPolicy;
  readonly clientStallMs: number;
}

export interface RoutedForwarding extends Omit<Forwarding, 'req' | 'res'> {
  readonly route: RouteToAsk;
}

/** Forwards a request and sends the reply. Throws ApiError, also when the reply has begun. */
export async function forwardRequest(
  req: Request,
  res: Response,
  { route, ...forwarding }: RoutedForwarding,
  { failover, keyOwner, policy, clientStallMs }: ForwardOptions,
): Promise<void> {
  const facts = factsOf(res);
  const { backendHeaders, holder, noteAccepted } = callerOf(res);
  // Lists of models are often public, so that an answer to a GET says nothing about the key.
  const isPost = req.method === 'POST';
  const stop = createStopController();
  onceServed(res, () => stop.abort(new ApiError('client_disconnected')));
  // Nothing is read of the body before a connection to the backend is there.
  req.once('resume', () => watchPace(req, () => stop.abort(new ApiError('request_timeout'))));

  const asking = {
    signal: stop.signal,
    headers: { ...backendHeaders, ...noteBackendCall(facts) },
    route,
    caller: holder().name,
    note: (spec: BackendSpec) => noteUpstream(replyHeadOf(res), spec, policy().exposesUpstream),
  };
  const refusal = await failover.forward({ req, res, ...forwarding }, asking, {
    stream(answer, body) {
      noteAnswer(answer);
      body.once('data', () => (facts.firstOutputAtMs = performance.now()));
      res.writeHead(answer.status, towardsClient(answer.headers, keyOwner));
      // The client learns at once that the backend has answered, even if the first event takes long.
      res.flushHeaders();
      closeWhenStalled(res, clientStallMs);
      body.pipe(res);
    },
    whole(answer, body) {
      noteAnswer(answer);
      facts.firstOutputAtMs = performance.now();
      const { 'content-length': _length, ...headers } = towardsClient(answer.headers, keyOwner);
      if (Buffer.isBuffer(body)) {
        res.writeHead(answer.status, { ...headers, 'content-length': body.length }).end(body);
      } else {
        for (const name of ['content-type', 'content-encoding', 'etag', 'last-modified']) delete headers[name];
        res.status(200).set(headers).json(body);
      }
      countUnreadReply(res);
    },
  });
  if (refusal === undefined) return;
  sendRefusal(res, refusal, keyOwner);
  countUnreadReply(res);

  function noteAnswer({ status, isEventStream }: RelayedAnswer): void {
    facts.stream = isEventStream;
    if (status >= 300) return;
    facts.backend = 'answered';
    if (isPost) noteAccepted?.();
  }
}

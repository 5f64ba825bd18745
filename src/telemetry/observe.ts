import type { IncomingHttpHeaders, ServerResponse } from 'node:http';
import type { RequestHandler } from 'express';
import type { Logger } from 'pino';
import { ERRORS, type ErrorCode } from '../core/errors.ts';
import { toRequestId, type NewUniquePart } from '../core/ids.ts';
import { createEndpointOf, type Endpoint } from '../requests/endpoints.ts';
import { bindLog } from './log.ts';
import { keepFacts } from './reply-facts.ts';
import type { RequestEnd, RequestFacts, RequestObserver, RequestOutcome, RequestTrace } from '../requests/facts.ts';

export interface TracedRequest {
  readonly endpoint: Endpoint;
  readonly method: string;
  readonly headers: IncomingHttpHeaders;
}

export interface ObserveOptions {
  readonly observers: readonly RequestObserver[];
  readonly startTrace: (request: TracedRequest) => RequestTrace;
}

/** A request that begins now, and the log which its lines go to. */
export type BegunRequest = TracedRequest & Pick<RequestFacts, 'unique' | 'log'>;

/** How a reply ended: with this status, unless nothing was sent before the client went away. */
export type ReplyEnd = Pick<RequestEnd, 'bytes' | 'requestId'> & { readonly status: number | undefined };

export interface Observed {
  readonly facts: RequestFacts;
  /** To be called once, when the reply is over in whatever way. */
  readonly end: (reply: ReplyEnd) => void;
}

/** Begins the facts of a request, which its end is then told by to all observers. */
export type Observe = (request: BegunRequest) => Observed;

/** The one place where requests begin and end for those who keep count of them, whatever the transport is. */
export function createObserve({ observers, startTrace }: ObserveOptions): Observe {
  return (request) => {
    const { unique, endpoint, method, log } = request;
    const facts: RequestFacts = {
      unique,
      endpoint,
      method,
      startedAtMs: performance.now(),
      log,
      trace: startTrace(request),
      model: undefined,
      stream: false,
      keyPrefix: undefined,
      backend: 'not asked',
      firstOutputAtMs: undefined,
      chunks: 0,
      usage: null,
      leftOut: undefined,
      errorCode: undefined,
    };
    for (const observer of observers) observer.begin(facts);
    return {
      facts,
      end(reply) {
        const end = toEnd(facts, reply);
        facts.trace.end(facts, end);
        for (const observer of observers) observer.end(facts, end);
      },
    };
  };
}

function toEnd(facts: RequestFacts, { status: sent, bytes, requestId }: ReplyEnd): RequestEnd {
  const status = sent ?? ERRORS[facts.errorCode ?? 'client_disconnected'].status;
  return {
    outcome: outcomeOf(facts, status),
    status,
    durationMs: performance.now() - facts.startedAtMs,
    bytes,
    requestId,
  };
}

export interface ObserveRequestsOptions {
  readonly observe: Observe;
  readonly newUniquePart: NewUniquePart;
  readonly log: Logger;
  /** The paths, as the caller writes them, which go to the backend beside chat completions and models. */
  readonly passthroughPaths: readonly string[];
}

/**
 * Begins the facts of each HTTP request, and ends them when its reply is over. The reply has an id of its own from here on,
 * unless a route gives it that of a record.
 */
export function observeRequests({
  observe,
  newUniquePart,
  log,
  passthroughPaths,
}: ObserveRequestsOptions): RequestHandler {
  const bind = bindLog(log);
  const endpointOf = createEndpointOf(passthroughPaths);

  return (req, res, next) => {
    const unique = newUniquePart();
    res.setHeader('x-request-id', toRequestId(unique));
    bind(req, res);
    const { method, headers } = req;
    const bytesBefore = req.socket.bytesWritten;
    const { facts, end } = observe({ unique, endpoint: endpointOf(req.path), method, headers, log: res.log });
    keepFacts(res, facts);
    const tell = (status: number | undefined): void =>
      end({
        status,
        bytes: req.socket.bytesWritten - bytesBefore,
        requestId: String(res.getHeader('x-request-id')),
      });
    res.once('close', () => {
      if (!res.writableFinished) facts.errorCode ??= 'client_disconnected';
      tell(res.headersSent ? res.statusCode : undefined);
    });
    if (req.headers.upgrade !== undefined) switches.set(res, () => tell(101));
    next();
  };
}

const switches = new WeakMap<ServerResponse, () => void>();

/** The connection goes on with another protocol, and the reply, which never closes then, is over. */
export function endSwitched(res: ServerResponse): void {
  switches.get(res)?.();
}

const OUTCOMES: Partial<Record<ErrorCode, RequestOutcome>> = {
  duplicate_request: 'duplicate',
  request_cancelled: 'cancelled',
  client_disconnected: 'aborted',
};

function outcomeOf({ errorCode, backend }: RequestFacts, status: number): RequestOutcome {
  // A refusal of the backend that went through as it was has none of our codes.
  if (errorCode === undefined && status < 400) return 'answered';
  const ownName = errorCode === undefined ? undefined : OUTCOMES[errorCode];
  return ownName ?? (backend === 'not asked' ? 'rejected' : 'failed');
}

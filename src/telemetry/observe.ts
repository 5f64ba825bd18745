import type { IncomingHttpHeaders, ServerResponse } from 'node:http';
import type { RequestHandler } from 'express';
import type { Logger } from 'pino';
import { ERRORS, type ErrorCode } from '../core/errors.ts';
import { toRequestId, type NewUniquePart } from '../core/ids.ts';
import { createEndpointOf, type Endpoint } from './endpoints.ts';
import { bindLog } from './log.ts';
import { keepFacts } from './reply-facts.ts';
import type { RequestEnd, RequestFacts, RequestObserver, RequestOutcome, RequestTrace } from './facts.ts';

export interface TracedRequest {
  readonly endpoint: Endpoint;
  readonly method: string;
  readonly headers: IncomingHttpHeaders;
}

export interface ObserveOptions {
  readonly observers: readonly RequestObserver[];
  readonly startTrace: (request: TracedRequest) => RequestTrace;
}

export type BegunRequest = TracedRequest & Pick<RequestFacts, 'unique' | 'log'>;

/** The status is undefined if the client disconnected before one was sent. */
export type ReplyEnd = Pick<RequestEnd, 'bytes' | 'requestId'> & { readonly status: number | undefined };

export interface Observed {
  readonly facts: RequestFacts;
  readonly end: (reply: ReplyEnd) => void;
}

export type Observe = (request: BegunRequest) => Observed;

/** Returns a function that makes the facts of a request and tells all observers. */
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
      group: undefined,
      counted: undefined,
      backend: 'not asked',
      wasSent: false,
      upstream: undefined,
      firstOutputAtMs: undefined,
      chunks: 0,
      usage: null,
      prompt: undefined,
      savedMicro: null,
      leftOut: undefined,
      unknownFinish: undefined,
      isToldEarly: false,
      errorCode: undefined,
    };
    for (const observer of observers) observer.begin?.(facts);
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
  readonly passthroughPaths: readonly string[];
}

/** Returns a middleware that begins the facts of an HTTP request and ends them with its reply. */
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
    const finish = (status: number | undefined): void =>
      end({
        status,
        bytes: req.socket.bytesWritten - bytesBefore,
        requestId: String(res.getHeader('x-request-id')),
      });
    res.once('close', () => {
      if (!res.writableFinished) facts.errorCode ??= 'client_disconnected';
      finish(res.headersSent ? res.statusCode : undefined);
    });
    if (req.headers.upgrade !== undefined) switches.set(res, () => finish(101));
    next();
  };
}

const switches = new WeakMap<ServerResponse, () => void>();

/** Ends the facts of a request whose connection switches protocols: its reply never closes. */
export function endSwitched(res: ServerResponse): void {
  switches.get(res)?.();
}

const OUTCOMES: Partial<Record<ErrorCode, RequestOutcome>> = {
  duplicate_request: 'duplicate',
  request_cancelled: 'cancelled',
  client_disconnected: 'aborted',
};

function outcomeOf({ errorCode, backend }: RequestFacts, status: number): RequestOutcome {
  // A refusal of the backend has no code of the gateway.
  if (errorCode === undefined && status < 400) return 'answered';
  const ownName = errorCode === undefined ? undefined : OUTCOMES[errorCode];
  return ownName ?? (backend === 'not asked' ? 'rejected' : 'failed');
}

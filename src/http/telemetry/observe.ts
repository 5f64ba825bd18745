import type { IncomingHttpHeaders } from 'node:http';
import type { Request, RequestHandler, Response } from 'express';
import type { Logger } from 'pino';
import { ERRORS, type ErrorCode } from '../../core/errors.ts';
import { toRequestId, type NewUniquePart } from '../../core/ids.ts';
import { createEndpointOf, type Endpoint } from './endpoints.ts';
import { bindLog } from './logging.ts';
import {
  keepFacts,
  type RequestEnd,
  type RequestFacts,
  type RequestObserver,
  type RequestOutcome,
  type RequestTrace,
} from './request-facts.ts';

export interface ObserveOptions {
  readonly newUniquePart: NewUniquePart;
  readonly log: Logger;
  readonly observers: readonly RequestObserver[];
  readonly startTrace: (request: TracedRequest) => RequestTrace;
  /** The paths, as the caller writes them, which go to the backend beside chat completions and models. */
  readonly passthroughPaths: readonly string[];
}

export interface TracedRequest {
  readonly endpoint: Endpoint;
  readonly method: string;
  readonly headers: IncomingHttpHeaders;
}

/**
 * Begins the facts of each request, and tells them to all observers, once, when its reply is over in whatever way. The reply
 * has an id of its own from here on, unless a route gives it that of a record.
 */
export function observeRequests(options: ObserveOptions): RequestHandler {
  const { newUniquePart, log, observers, startTrace, passthroughPaths } = options;
  const bind = bindLog(log);
  const endpointOf = createEndpointOf(passthroughPaths);

  return (req, res, next) => {
    const unique = newUniquePart();
    res.setHeader('x-request-id', toRequestId(unique));
    bind(req, res);
    const { method, headers } = req;
    const bytesBefore = req.socket.bytesWritten;
    const endpoint = endpointOf(req.path);
    const facts: RequestFacts = {
      unique,
      endpoint,
      method,
      startedAtMs: performance.now(),
      log: res.log,
      trace: startTrace({ endpoint, method, headers }),
      model: undefined,
      stream: false,
      keyPrefix: undefined,
      backend: 'not asked',
      firstOutputAtMs: undefined,
      chunks: 0,
      usage: null,
      errorCode: undefined,
    };
    keepFacts(res, facts);
    for (const observer of observers) observer.begin(facts);
    res.once('close', () => {
      if (!res.writableFinished) facts.errorCode ??= 'client_disconnected';
      const end = toEnd(req, res, facts, bytesBefore);
      facts.trace.end(facts, end);
      for (const observer of observers) observer.end(facts, end);
    });
    next();
  };
}

function toEnd(req: Request, res: Response, facts: RequestFacts, bytesBefore: number): RequestEnd {
  const status = res.headersSent ? res.statusCode : ERRORS[facts.errorCode ?? 'client_disconnected'].status;
  return {
    outcome: outcomeOf(facts, status),
    status,
    durationMs: performance.now() - facts.startedAtMs,
    bytes: req.socket.bytesWritten - bytesBefore,
    requestId: String(res.getHeader('x-request-id')),
  };
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

import type { RequestHandler } from 'express';
import { pino, type Logger } from 'pino';
import { toUniquePart } from '../../src/core/ids.ts';
import { createRequestLines } from '../../src/telemetry/log.ts';
import { createObserve, observeRequests } from '../../src/telemetry/observe.ts';
import type { RequestFacts, RequestObserver } from '../../src/telemetry/facts.ts';

const SILENT = pino({ level: 'silent' });

/** What stands before every route of the gateway, for a test of routes without one. Nobody traces, and all ids are alike. */
export function observe(log: Logger = SILENT, ...observers: readonly RequestObserver[]): RequestHandler {
  return observeRequests({
    observe: createObserve({
      observers: [createRequestLines(), ...observers],
      startTrace: () => ({ callBackend: () => ({}), end: () => undefined }),
    }),
    newUniquePart: () => toUniquePart('1'.repeat(32)),
    log,
    passthroughPaths: ['/v1/embeddings'],
  });
}

/** The facts of a request which nobody observes. */
export function beginFacts(): RequestFacts {
  const begin = createObserve({ observers: [], startTrace: () => ({ callBackend: () => ({}), end: () => undefined }) });
  const unique = toUniquePart('1'.repeat(32));
  return begin({ unique, endpoint: 'responses', method: 'POST', headers: {}, log: SILENT }).facts;
}

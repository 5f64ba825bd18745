import express, { type Express, type RequestHandler } from 'express';
import { ApiError } from '../core/errors.ts';
import { toRequestId, type NewUniquePart } from '../core/ids.ts';
import { errorHandler, methodNotAllowed, notFound } from './error-handler.ts';
import { showLanding } from './operate.ts';
import type { RequestRoutes } from './requests.ts';
import type { RunningRequests } from './running.ts';

export interface AppParts {
  readonly trustProxy: number | readonly string[];
  /** Set while the embedded demo backend answers. */
  readonly demo: boolean;
  readonly newUniquePart: NewUniquePart;
  readonly logging: RequestHandler;
  readonly cors: RequestHandler;
  readonly authenticate: RequestHandler;
  readonly createResponse: RequestHandler;
  readonly requests: RequestRoutes;
  readonly passthrough: RequestHandler;
  readonly running: RunningRequests;
  readonly showHealth: RequestHandler;
  readonly showReadiness: RequestHandler;
}

/** The map of the program: middleware in its order, then the routes. */
export function createApp(parts: AppParts): Express {
  const app = express();
  app.disable('x-powered-by');
  app.disable('etag');
  app.set('trust proxy', parts.trustProxy);

  app.use(nameReply(parts));
  app.use(parts.logging);
  app.use(parts.cors);

  app.route('/').get(showLanding).all(methodNotAllowed('GET'));
  app.route('/healthz').get(parts.showHealth).all(methodNotAllowed('GET'));
  app.route('/readyz').get(parts.showReadiness).all(methodNotAllowed('GET'));

  app.use(['/api/v1', '/v1'], parts.authenticate, createApi(parts));
  app.use(notFound);
  app.use(errorHandler);
  return app;
}

function createApi(parts: AppParts): express.Router {
  const { createResponse, requests, passthrough } = parts;
  const api = express.Router();
  api.route('/responses').post(createResponse).get(refuseWebSocket).all(methodNotAllowed('POST'));
  api.route('/requests').get(requests.list).all(methodNotAllowed('GET'));
  api.route('/requests/:id').get(requests.show).all(methodNotAllowed('GET'));
  api.route('/requests/:id/cancel').post(requests.cancel).all(methodNotAllowed('POST'));
  // No body has been read by here: what is passed on goes through as it comes.
  api.use(watchRelayed(parts), passthrough);
  return api;
}

/** Codex tries a WebSocket first. 426 sends it back to HTTP at once; after any other status it tries again for seconds. */
const refuseWebSocket: RequestHandler = (req, _res, next) => {
  if (req.headers.upgrade === undefined) {
    next();
    return;
  }
  throw new ApiError('method_not_allowed', {
    status: 426,
    message: 'This gateway speaks HTTP, not WebSocket. Send a POST with "stream": true.',
    headers: { upgrade: 'HTTP/1.1', allow: 'POST' },
  });
};

/** Every reply has an id of its own, until a route gives it that of a record. */
function nameReply({ newUniquePart, demo }: AppParts): RequestHandler {
  return (_req, res, next) => {
    res.setHeader('x-request-id', toRequestId(newUniquePart()));
    if (demo) res.setHeader('x-demo-backend', 'true');
    next();
  };
}

/** A drain waits for what is passed through as well, and breaks what takes too long. */
function watchRelayed({ running, newUniquePart }: AppParts): RequestHandler {
  return (_req, res, next) => {
    if (running.draining) throw new ApiError('gateway_draining', { headers: { 'retry-after': '1' } });
    const run = running.begin(toRequestId(newUniquePart()));
    run.signal.addEventListener('abort', () => res.destroy(), { once: true });
    res.once('close', () => run.end());
    next();
  };
}

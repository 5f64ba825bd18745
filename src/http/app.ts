import express, { type Express, type RequestHandler } from 'express';
import { toRequestId } from '../core/ids.ts';
import { errorHandler, methodNotAllowed, notFound } from './error-handler.ts';
import { factsOf } from '../requests/facts.ts';
import type { RequestRoutes } from './records/requests.ts';
import { refuseWhileDraining, type RunningRequests } from '../requests/running.ts';
import { secureApi } from './access/security-headers.ts';
import { takeKeyFromProtocols } from './access/key-protocol.ts';

/** What is served on `METRICS_PORT` too. */
export interface ScrapedParts {
  /** Set while the embedded demo backend answers. */
  readonly demo: boolean;
  readonly observe: RequestHandler;
  readonly showMetrics: RequestHandler;
}

export interface AppParts extends ScrapedParts {
  readonly trustProxy: number | readonly string[];
  /** Where no other origin may call, there is none. */
  readonly cors: RequestHandler | undefined;
  readonly authenticate: RequestHandler;
  readonly limitLoad: RequestHandler;
  readonly postResponse: RequestHandler;
  /** Takes the upgrade to a WebSocket, and lets every other GET pass. */
  readonly openWebSocket: RequestHandler;
  readonly countInputTokens: RequestHandler;
  readonly postCompaction: RequestHandler;
  /** Where what they use is counted; elsewhere they are passed through. */
  readonly createChatCompletion: RequestHandler | undefined;
  readonly requests: RequestRoutes;
  readonly showUsage: RequestHandler;
  readonly showKey: RequestHandler;
  readonly passthrough: RequestHandler;
  readonly console: RequestHandler;
  /** What is below `/admin/v1`; where it is turned off, what any unknown path answers. */
  readonly admin: RequestHandler;
  readonly running: RunningRequests;
  readonly showLanding: RequestHandler;
  readonly showDocs: RequestHandler;
  readonly showOpenApi: RequestHandler;
  readonly showHealth: RequestHandler;
  readonly showReadiness: RequestHandler;
}

/** The map of the program: middleware in its order, then the routes. */
export function createApp(parts: AppParts): Express {
  const app = express();
  app.disable('x-powered-by');
  app.disable('etag');
  app.set('trust proxy', parts.trustProxy);

  useFirst(app, parts);
  if (parts.cors !== undefined) app.use(parts.cors);

  // First of the routes, since each one before it is tried for every request; and the one that nearly all requests are for by
  // itself, since a router inside of a router takes 2 % of the CPU of a JSON request.
  app.post(['/api/v1/responses', '/v1/responses'], parts.authenticate, parts.limitLoad, parts.postResponse);
  app.use(['/api/v1', '/v1'], createApi(parts));
  app.route('/').get(parts.showLanding).all(methodNotAllowed('GET'));
  app.route(['/docs', '/docs/:guide']).get(parts.showDocs).all(methodNotAllowed('GET'));
  app.route('/openapi.json').get(parts.showOpenApi).all(methodNotAllowed('GET'));
  app.route('/healthz').get(parts.showHealth).all(methodNotAllowed('GET'));
  app.route('/readyz').get(parts.showReadiness).all(methodNotAllowed('GET'));
  app.route('/metrics').get(parts.showMetrics).all(methodNotAllowed('GET'));

  app.use('/console', parts.console);
  app.use('/admin/v1', parts.admin);

  app.use(notFound);
  app.use(errorHandler);
  return app;
}

/** What `METRICS_PORT` serves: the metrics alone. */
export function createMetricsApp(parts: ScrapedParts): Express {
  const app = express();
  app.disable('x-powered-by');
  app.disable('etag');
  useFirst(app, parts);
  app.route('/metrics').get(parts.showMetrics).all(methodNotAllowed('GET'));
  app.use(notFound);
  app.use(errorHandler);
  return app;
}

function createApi(parts: AppParts): express.Router {
  const { limitLoad, postCompaction, openWebSocket, createChatCompletion } = parts;
  const { requests, showUsage, showKey, passthrough } = parts;
  const api = express.Router();
  api.use(takeKeyFromProtocols, parts.authenticate);
  api.route('/responses').get(openWebSocket).all(methodNotAllowed('POST'));
  api
    .route('/responses/input_tokens')
    .post(limitLoad, watchRunning(parts), parts.countInputTokens)
    .all(methodNotAllowed('POST'));
  api.route('/responses/compact').post(limitLoad, postCompaction).all(methodNotAllowed('POST'));
  api.route('/requests').get(requests.list).all(methodNotAllowed('GET'));
  api.route('/requests/:id').get(requests.show).all(methodNotAllowed('GET'));
  api.route('/requests/:id/cancel').post(requests.cancel).all(methodNotAllowed('POST'));
  api.route('/usage').get(showUsage).all(methodNotAllowed('GET'));
  api.route('/key').get(showKey).all(methodNotAllowed('GET'));
  if (createChatCompletion !== undefined) {
    api.route('/chat/completions').post(limitLoad, createChatCompletion).all(methodNotAllowed('POST'));
  }
  // No body has been read by here: what is passed on goes through as it comes.
  api.use(limitLoad, watchRunning(parts), passthrough);
  return api;
}

/** What every request goes through, and every reply has. */
function useFirst(app: Express, { observe, demo }: ScrapedParts): void {
  app.use(secureApi, observe);
  if (demo) app.use(markDemo);
}

const markDemo: RequestHandler = (_req, res, next) => {
  res.setHeader('x-demo-backend', 'true');
  next();
};

/** A drain waits for what has no record as well, and breaks what takes too long. */
function watchRunning({ running }: AppParts): RequestHandler {
  return (_req, res, next) => {
    refuseWhileDraining(running);
    const run = running.begin(toRequestId(factsOf(res).unique));
    run.signal.addEventListener('abort', interrupt);
    res.once('close', () => run.end());
    next();

    function interrupt(): void {
      factsOf(res).errorCode = 'gateway_interrupted';
      res.destroy();
    }
  };
}

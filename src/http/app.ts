import express, { type Express, type RequestHandler } from 'express';
import { toRequestId } from '../core/ids.ts';
import { inOrder } from '../wire/in-order.ts';
import { lazyRoute } from '../wire/lazy-route.ts';
import { refuseWhileDraining } from '../requests/running.ts';
import { observeRequests } from '../telemetry/observe.ts';
import { factsOf } from '../telemetry/reply-facts.ts';
import { authenticate } from '../access/authenticate.ts';
import { allowOrigins } from './browser/cors.ts';
import { refuseWhenFull, type ConnectionLimit } from './connections.ts';
import { allowHosts } from './browser/hosts.ts';
import { takeKeyFromProtocols } from '../access/key-protocol.ts';
import { limitRate, refuseAtLimit } from '../access/limit-rate.ts';
import { limitLoad } from '../access/load.ts';
import { secureApi } from '../wire/security-headers.ts';
import { createChatCompletion } from './chat/chat.ts';
import { errorHandler } from './error-handler.ts';
import { methodNotAllowed, notFound } from '../wire/no-route.ts';
import { showHealth, showReadiness } from './operate.ts';
import { refuseMetrics, showMetrics } from './metrics.ts';
import { createPassthrough } from './passthrough/passthrough.ts';
import { showKey } from './records/key.ts';
import { createReadLimits } from './records/read-limits.ts';
import { createRequestRoutes } from './records/requests.ts';
import { showUsage } from './records/usage.ts';
import { countInputTokens } from './responses/count-input-tokens.ts';
import { postResponse } from './responses/post-response.ts';
import type { RequestServices } from '../requests/open.ts';
import type { Services, TelemetryServices } from './services.ts';
import { countUnreadReplies } from '../access/stalled-client.ts';
import { onceServed } from '../wire/until-served.ts';

/** What people and operators use, beside the API. */
export interface OperatorRoutes {
  /** Everything under `/admin/v1`. */
  readonly admin: RequestHandler;
  readonly landing: RequestHandler;
  readonly docs: RequestHandler;
  readonly openApi: RequestHandler;
  readonly console: RequestHandler;
}

/** Returns the application: middleware in its order, then every path. */
export function createApp(
  services: Services,
  { admin, landing, docs, openApi, console }: OperatorRoutes,
  connections: ConnectionLimit,
): Express {
  const { settings, requests, books, backends, telemetry } = services;
  const { corsOrigins, metricsPort } = settings;
  const app = begin(services, settings, refuseWhenFull(connections));
  // No page of another origin may administer.
  app.use('/admin/v1', admin);
  if (corsOrigins.length > 0) app.use(allowOrigins(corsOrigins));
  addApi(app, services);
  app.route('/').get(landing).all(methodNotAllowed('GET'));
  app.route(['/docs', '/docs/:guide']).get(docs).all(methodNotAllowed('GET'));
  app.route('/openapi.json').get(openApi).all(methodNotAllowed('GET'));
  app.route('/healthz').get(showHealth).all(methodNotAllowed('GET'));
  app
    .route('/readyz')
    .get(showReadiness({ ...requests, ...books, ...backends, ...telemetry, connections }))
    .all(methodNotAllowed('GET'));
  app
    .route('/metrics')
    .get(metricsPort === null ? metricsOf(services) : refuseMetrics)
    .all(methodNotAllowed('GET'));
  app.use('/console', console);
  return end(app);
}

/** Returns the app of `METRICS_PORT`, which serves only the metrics. */
export function createMetricsApp(services: Services): Express {
  const { metricsHost, isMetricsLoopback } = services.settings;
  const app = begin(services, { host: metricsHost, isLoopback: isMetricsLoopback });
  app.route('/metrics').get(metricsOf(services)).all(methodNotAllowed('GET'));
  return end(app);
}

function addApi(app: Express, services: Services): void {
  const { settings, requests, access, books, backends, telemetry, tokenizer } = services;
  const { load, rateLimits, authenticator } = access;
  const respond = { ...settings, ...requests, ...access };
  const limit = limitLoad(load);
  const limitTokens = inOrder([limitRate(rateLimits, { tokens: 1 }), limit]);
  // Who has used up its tokens can still count them.
  const limitCounts = inOrder([limitRate(rateLimits, { tokens: 0 }), limit]);
  const late = refuseAtLimit(rateLimits);
  const watch = watchRunning(requests);
  const records = createRequestRoutes({ ...settings, ...requests });
  const { limitReads, limitLists, limitListsOfRecords } = createReadLimits(books);
  // Who polls a lot can still cancel.
  const { limitReads: limitCancels } = createReadLimits(books);
  const enter = [takeKeyFromProtocols, authenticate(authenticator)];
  // Most requests take this route, and Express tries the routes in order. What is refused need not pass the others.
  const create = ['/api/v1/responses', '/v1/responses'];
  app
    .route(create)
    .get(enter, openWebSocket(services), methodNotAllowed('POST'), errorHandler)
    // Who is refused here has no limits yet that `late` could tell.
    .post(enter, errorHandler);
  app.post(create, limitTokens, postResponse(respond, 'responses'), late, errorHandler);
  const api = express.Router();
  api.use(enter);
  api.route('/responses').all(methodNotAllowed('POST'));
  api
    .route('/responses/input_tokens')
    .post(limitCounts, watch, countInputTokens({ ...settings, ...requests, ...books, ...backends, tokenizer }), late)
    .all(methodNotAllowed('POST'));
  api
    .route('/responses/compact')
    .post(limitTokens, postResponse(respond, 'responses.compact'), late)
    .all(methodNotAllowed('POST'));
  api.use(['/requests', '/usage', '/key'], countUnreadReplies(load));
  api.route('/requests').get(limitReads, limitListsOfRecords, records.list).all(methodNotAllowed('GET'));
  api.route('/requests/:id').get(limitReads, records.show).all(methodNotAllowed('GET'));
  api.route('/requests/:id/cancel').post(limitCancels, records.cancel).all(methodNotAllowed('POST'));
  api
    .route('/usage')
    .get(limitReads, limitLists, showUsage({ ...books, ...requests, ...telemetry }))
    .all(methodNotAllowed('GET'));
  api
    .route('/key')
    .get(limitReads, limitLists, showKey({ ...books, ...access }))
    .all(methodNotAllowed('GET'));
  // In the other modes chat completions are not recorded, and are passed through.
  if (settings.authMode === 'managed') {
    api.route('/chat/completions').post(limitTokens, createChatCompletion(respond), late).all(methodNotAllowed('POST'));
  }
  api.get('/models/*id', limitReads);
  api.use(limit, watch, createPassthrough({ ...settings, ...requests, ...access, ...books, ...backends }));
  app.use(['/api/v1', '/v1'], api);
}

function begin(
  { settings, backends, telemetry }: Services,
  { host, isLoopback }: { readonly host: string; readonly isLoopback: boolean },
  ...more: readonly RequestHandler[]
): Express {
  const { trustProxy } = settings;
  const app = express();
  app.disable('x-powered-by');
  app.disable('etag');
  app.set('trust proxy', trustProxy);
  app.use(
    inOrder([
      secureApi,
      observeRequests({ ...settings, ...telemetry }),
      allowHosts({ ...settings, host, isLoopback }),
      ...(trustProxy === 0 ? [warnOfProxy(telemetry)] : []),
      ...(backends.demo ? [markDemo] : []),
      ...more,
    ]),
  );
  return app;
}

function end(app: Express): Express {
  app.use(notFound);
  app.use(errorHandler);
  return app;
}

const markDemo: RequestHandler = (_req, res, next) => {
  res.setHeader('x-demo-backend', 'true');
  next();
};

/** Behind a proxy that is not trusted, all callers have one address and its limits. */
function warnOfProxy({ log }: TelemetryServices): RequestHandler {
  let hasWarned = false;
  return (req, _res, next) => {
    if (!hasWarned && req.headers['x-forwarded-for'] !== undefined) {
      hasWarned = true;
      log.warn(
        'A request has an X-Forwarded-For header, and TRUST_PROXY is 0: all callers behind a proxy count as one address.',
      );
    }
    next();
  };
}

function metricsOf({ telemetry: { metrics }, settings: { metricsToken } }: Services): RequestHandler {
  return metrics === undefined ? refuseMetrics : showMetrics(metrics, metricsToken);
}

function openWebSocket(services: Services): RequestHandler {
  return lazyRoute(services.loadWebSocket);
}

/** A drain also waits for requests without a record, and breaks the ones that take too long. */
function watchRunning({ running }: RequestServices): RequestHandler {
  return (_req, res, next) => {
    refuseWhileDraining(running);
    const run = running.begin(toRequestId(factsOf(res).unique));
    run.signal.addEventListener('abort', interrupt);
    onceServed(res, () => run.end());
    next();

    function interrupt(): void {
      factsOf(res).errorCode = 'gateway_interrupted';
      res.destroy();
    }
  };
}

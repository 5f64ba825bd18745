import express, { type Request, type RequestHandler, type Response, type Router } from 'express';
import { modelNotFound, type Admission } from '../../accounts/admission.ts';
import type { KnownRefusals } from '../../backend/refused-fields.ts';
import { ApiError } from '../../core/errors.ts';
import type { Backends } from '../../backend/backends.ts';
import { mergeModelLists } from '../../backend/model-list.ts';
import { splice } from '../../core/json-bytes.ts';
import type { Preparation } from '../../requests/preparation/preparation.ts';
import { factsOf } from '../../telemetry/reply-facts.ts';
import { isObject } from '../../core/json.ts';
import type { ModelFinder } from '../../core/models.ts';
import type { PriceFinder } from '../../core/money/pricing.ts';
import { callerOf } from '../../access/authenticate.ts';
import { readBody } from '../../access/body.ts';
import { withCodexModels } from './codex-models.ts';
import { methodNotAllowed } from '../../wire/no-route.ts';
import {
  describeModel,
  describeModels,
  listWithAliases,
  modelsOf,
  namedModel,
  type Known,
  type ModelAliases,
} from './models.ts';
import { forwardRequest, type ForwardOptions, type RoutedForwarding } from './forward.ts';
import { countUnreadReply } from '../../access/stalled-client.ts';
import { untilServed } from '../../wire/until-served.ts';

export interface PassthroughOptions extends ForwardOptions {
  readonly backends: Backends;
  readonly passthroughPaths: readonly string[];
  readonly models: { readonly present: ModelFinder | null };
  readonly prices: { readonly present: PriceFinder | null };
  /** The fields that the backend refuses. */
  readonly refusals: KnownRefusals;
  readonly maxBodyBytes: number;
  readonly admission: Admission;
  readonly preparation: Pick<Preparation, 'route' | 'checksUrls'>;
  readonly steadyMs: () => number;
}

const LIST_KEPT_MS = 5000;
const METHODS = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE'];

/** Must be mounted after `authenticate`, and before anything reads the body. */
export function createPassthrough(options: PassthroughOptions): Router {
  const { backends, models, prices, refusals, maxBodyBytes, admission, keyOwner, preparation, steadyMs } = options;
  const router = express.Router();
  const isNothingKnown = (): boolean => models.present === null && prices.present === null && !refusals.any();
  const known = (): Known => ({ models: models.present, prices: prices.present, refusals });

  const forward = (req: Request, res: Response, asked: Asked): Promise<void> => {
    // An answer to HEAD would have nothing to edit.
    if (asked.edit !== undefined) req.method = 'GET';
    return forwardRequest(req, res, { route: firstRoute(backends.specs), ...asked }, options);
  };

  const forwardByModel = async (req: Request, res: Response, path: string): Promise<void> => {
    const bytes = await readBody(req, { maxBytes: maxBodyBytes });
    const caller = callerOf(res);
    const incoming = { facts: factsOf(res), caller, body: { bytes }, isServed: () => res.closed };
    const { route, edits } = await preparation.route(incoming);
    return forward(req, res, { path, ...(route !== undefined && { route }), body: splice(incoming.body.bytes, edits) });
  };

  router
    .route('/chat/completions')
    .post((req, res) => {
      const path = pathOf(req, '/chat/completions');
      return needsModel(backends.specs) || preparation.checksUrls
        ? forwardByModel(req, res, path)
        : forward(req, res, { path });
    })
    .all(methodNotAllowed('POST'));

  // With the gateway's own key the list is the same for all callers.
  const isShared = keyOwner === 'gateway';
  let kept: { readonly list: unknown; readonly untilMs: number } | undefined;
  /** Ends when the list is kept, or cannot be. */
  let lookup: Promise<void> | undefined;

  router
    .route('/models')
    .get((req, res) => sendModels(req, res))
    .all(methodNotAllowed('GET'));

  router
    .route('/models/*id')
    .get((req, res) => sendModel(req, res, req.params.id))
    .all(methodNotAllowed('GET'));

  const forwardUnmetered = async (req: Request, res: Response, path: string): Promise<void> => {
    const headers = await admission.admitUnmetered(callerOf(res).key);
    for (const [name, value] of Object.entries(headers)) res.setHeader(name, value);
    const hasModel = backends.specs.length > 1 && req.method === 'POST' && req.is('application/json') !== false;
    return hasModel ? forwardByModel(req, res, path) : forward(req, res, { path });
  };

  async function sendModels(req: Request, res: Response): Promise<void> {
    const { key } = callerOf(res);
    const forCodex = req.query['client_version'] !== undefined;
    const aliases = aliasesOf(backends.specs);
    const path = forCodex ? '/models' : pathOf(req, '/models');
    const isAsIs = backends.specs.length === 1 && aliases.size === 0 && !forCodex && isNothingKnown();
    if (!isShared && isAsIs) return forward(req, res, { path });
    return sendFromList(req, res, path, (answer) => {
      const listed = listWithAliases(answer, aliases, (...names) => admission.offers(key, ...names));
      const list = listed && describeModels(listed, aliases, known());
      // A list that cannot be parsed cannot be filtered by what the key may use.
      if (list === undefined && key !== undefined) throw new ApiError('upstream_invalid_response');
      return forCodex ? withCodexModels(list) : list;
    });
  }

  /** Asks the backend for the model, and looks into the list where the backend has no answer: many only have the list. */
  async function sendModel(req: Request, res: Response, segments: readonly string[]): Promise<void> {
    // A slash at the end leaves an empty segment.
    const name = (segments.at(-1) === '' ? segments.slice(0, -1) : segments).join('/');
    const route = backends.routes.choose(name, () => name);
    const { modelAliases: aliases } = route;
    const model = aliases.get(name);
    if (!admission.offers(callerOf(res).key, name, model ?? name)) throw modelNotFound();
    const path =
      model === undefined
        ? pathOf(req, '/models').replace(/^([^?]*)\/(?=\?|$)/, '$1')
        : `/models/${encodeURIComponent(model)}`;
    const described = (found: unknown): object | undefined => {
      const entry = describeModel(found, aliases, known());
      return isObject(entry) ? entry : undefined;
    };
    try {
      await forward(req, res, {
        route,
        path,
        edit(status, found) {
          // LM Studio answers 200 to a path that it does not have.
          const isModel = status === 200 && isObject(found) && typeof found['id'] === 'string';
          if (status !== 200 && !NO_ANSWER.has(status)) return undefined;
          // The alias exists in any case.
          if (model !== undefined) return described(namedModel(name, isModel ? found : undefined));
          if (!isModel) throw modelNotFound();
          return isNothingKnown() ? undefined : described(found);
        },
      });
    } catch (thrown) {
      if (!(thrown instanceof ApiError && thrown.code === 'model_not_found')) throw thrown;
      await sendFromList(req, res, '/models', (list) => {
        const entry = described(modelsOf(list)?.find((listed) => isObject(listed) && listed['id'] === name));
        if (entry === undefined) throw modelNotFound();
        return entry;
      });
    }
  }

  /** Sends what `toReply` makes of the list of all backends. Where it makes nothing, the answer goes on as it is. */
  async function sendFromList(
    req: Request,
    res: Response,
    path: string,
    toReply: (list: unknown) => object | undefined,
  ): Promise<void> {
    const keptNow = (): typeof kept => (kept !== undefined && steadyMs() < kept.untilMs ? kept : undefined);
    // One that fails is waited for once, as the next may fail as late.
    if (keptNow() === undefined) await lookup;
    const present = keptNow();
    if (present !== undefined) {
      res.json(toReply(present.list));
      countUnreadReply(res);
      return;
    }
    const { promise: ended, resolve: end } = Promise.withResolvers<void>();
    if (isShared) lookup = ended;
    const keep = (list: unknown): void => {
      if (isShared) kept = { list, untilMs: steadyMs() + LIST_KEPT_MS };
      // Nobody waits for this client to read it.
      end();
    };
    try {
      await (backends.specs.length > 1 ? sendMerged(res, toReply, keep) : sendList());
    } finally {
      end();
      if (lookup === ended) lookup = undefined;
    }

    function sendList(): Promise<void> {
      return forward(req, res, {
        // What a caller's query leaves out must not be missing for the others.
        path: isShared ? '/models' : path,
        edit(status, answer) {
          if (status !== 200) return undefined;
          if (modelsOf(answer) !== undefined) keep(answer);
          return toReply(answer);
        },
      });
    }
  }

  async function sendMerged(
    res: Response,
    toReply: (list: object) => object | undefined,
    keep: (list: object) => void,
  ): Promise<void> {
    const { backendHeaders: headers } = callerOf(res);
    const merged = await mergeModelLists(backends.specs, { headers, keyOwner, signal: untilServed(res) });
    if (merged.failure !== null) throw merged.failure;
    const data = merged.models.map(({ model, backends }) =>
      options.policy().exposesUpstream ? { ...model, backends } : model,
    );
    const list = { object: 'list', data };
    // A client that left has ended the lookup, and the list may lack what had not come.
    if (!res.closed) keep(list);
    res.json(toReply(list));
    countUnreadReply(res);
  }

  for (const path of options.passthroughPaths) {
    const own = path.replace(/^\/v1/, '');
    router.use(own, allow(METHODS), (req, res) => forwardUnmetered(req, res, pathOf(req, own)));
  }

  return router;
}

type Asked = Partial<RoutedForwarding> & Pick<RoutedForwarding, 'path'>;
type Specs = PassthroughOptions['backends']['specs'];

/** Paths without a model go to the first backend. */
function firstRoute([first]: Specs): RoutedForwarding['route'] {
  const names = first === undefined ? [] : [first.name];
  return { model: '', backends: names, alike: names, upstreamDialect: first?.upstreamDialect ?? '' };
}

function needsModel(specs: Specs): boolean {
  const [first] = specs;
  return specs.length > 1 || first === undefined || first.models !== null || first.modelAliases.size > 0;
}

function aliasesOf(specs: Specs): ModelAliases {
  const [first] = specs;
  if (specs.length === 1 && first !== undefined) return first.modelAliases;
  return new Map(specs.toReversed().flatMap(({ modelAliases }) => [...modelAliases]));
}

/** What servers say to a path that they do not have. */
const NO_ANSWER = new Set([400, 404, 405, 501]);

function allow(methods: readonly string[]): RequestHandler {
  const refuse = methodNotAllowed(...methods);
  return (req, res, next) => (methods.includes(req.method) ? next() : refuse(req, res, next));
}

/**
 * Returns path and query below `/v1`, with the route in its own spelling: Express takes other letters' case, and a slash at
 * the end. Throws ApiError if a backend might resolve another path.
 */
function pathOf(req: Request, route: string): string {
  const path = req.originalUrl.replace(/^\w+:\/\/[^/?]*/, '').replace(/^(?:\/api)?\/v1/i, '');
  const segments = decoded(path.split('?', 1)[0] ?? '').split(/[/\\]/);
  if (segments.some((segment) => segment === '.' || segment === '..')) throw new ApiError('not_found');
  // Some servers read these as `..`: a parameter of the segment, a second round of escapes, a zero.
  if (segments.some((segment) => segment.startsWith('..') || /%|\0/.test(segment))) {
    throw new ApiError('invalid_request', { message: 'The path has a segment that backends read in different ways.' });
  }
  return route + path.slice(route.length).replace(/^\/(?=\?|$)/, '');
}

function decoded(path: string): string {
  try {
    return decodeURIComponent(path);
  } catch (error) {
    throw new ApiError('invalid_request', { message: 'The path has a broken escape.', cause: error });
  }
}

import express, { type Request, type RequestHandler, type Response, type Router } from 'express';
import { modelNotFound, type Admission } from '../../accounts/admission.ts';
import type { KeyOwner } from '../../backend/failures.ts';
import type { KnownRefusals } from '../../backend/refused-fields.ts';
import { ApiError } from '../../core/errors.ts';
import { splice } from '../../core/json-bytes.ts';
import { LARGE_BYTES } from '../../core/json-size.ts';
import { modelEdits } from '../../requests/chat-body.ts';
import type { LargeRequests } from '../../requests/large/thread.ts';
import { factsOf } from '../../telemetry/reply-facts.ts';
import { isObject } from '../../core/json.ts';
import type { Models } from '../../core/models.ts';
import { callerOf } from '../access/authenticate.ts';
import { readBody } from '../body/body.ts';
import { withCodexModels } from './codex-models.ts';
import { methodNotAllowed } from '../error-handler.ts';
import { describeModel, describeModels, listWithAliases, namedModel, type ModelAliases } from './models.ts';
import type { Forwarding, Proxy } from './relay.ts';

export interface PassthroughOptions {
  readonly proxy: Proxy;
  readonly passthroughPaths: readonly string[];
  readonly modelAliases: ModelAliases;
  readonly models: { readonly present: Pick<Models, 'find'> | null };
  /** The fields that the backend refuses. */
  readonly refusals: KnownRefusals;
  readonly maxBodyBytes: number;
  readonly admission: Pick<Admission, 'admitUnmetered' | 'offers'>;
  readonly keyOwner: KeyOwner;
  readonly large: Pick<LargeRequests, 'modelEdits'>;
  readonly nowMs: () => number;
}

const LIST_KEPT_MS = 5000;
const METHODS = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE'];

/** Must be mounted after `authenticate`, and before anything reads the body. */
export function createPassthrough(options: PassthroughOptions): Router {
  const { proxy, modelAliases: aliases, models, refusals, maxBodyBytes, admission, keyOwner, large, nowMs } = options;
  const router = express.Router();

  const forward = (req: Request, res: Response, forwarding: Partial<Forwarding> = {}): Promise<void> => {
    const path = forwarding.path ?? pathOf(req);
    const { backendHeaders, noteAccepted } = callerOf(res);
    // Lists of models are often public, so that an answer to a GET says nothing about the key.
    const acceptance = req.method === 'POST' && noteAccepted !== undefined && { noteAccepted };
    return proxy.forward(req, res, { ...forwarding, path, backendHeaders, ...acceptance });
  };

  const forwardChat = async (req: Request, res: Response): Promise<void> => {
    const bytes = await readBody(req, { maxBytes: maxBodyBytes });
    const incoming = { facts: factsOf(res), caller: callerOf(res), body: { bytes }, isServed: () => res.closed };
    const edits = bytes.length > LARGE_BYTES ? await large.modelEdits(incoming) : modelEdits(bytes, aliases);
    return forward(req, res, { body: splice(bytes, edits) });
  };

  router
    .route('/chat/completions')
    .post((req, res) => (aliases.size === 0 ? forward(req, res) : forwardChat(req, res)))
    .all(methodNotAllowed('POST'));

  let kept: { readonly list: unknown; readonly untilMs: number } | undefined;

  router
    .route('/models')
    .get((req, res) => {
      const { key } = callerOf(res);
      const forCodex = req.query['client_version'] !== undefined;
      // With the gateway's own key the list is the same for all callers.
      const isShared = keyOwner === 'gateway';
      const isAsIs = aliases.size === 0 && !forCodex && models.present === null && !refusals.any();
      if (!isShared && isAsIs) return forward(req, res);
      const toList = (answer: unknown): object | undefined => {
        const listed = listWithAliases(answer, aliases, (...names) => admission.offers(key, ...names));
        const list = listed && describeModels(listed, aliases, { models: models.present, refusals });
        // A list that cannot be parsed cannot be filtered by what the key may use.
        if (list === undefined && key !== undefined) throw new ApiError('upstream_invalid_response');
        return forCodex ? withCodexModels(list) : list;
      };
      if (kept !== undefined && nowMs() < kept.untilMs) {
        res.json(toList(kept.list));
        return;
      }
      // An answer to HEAD would have no list.
      req.method = 'GET';
      return forward(req, res, {
        ...(forCodex && { path: '/models' }),
        edit(status, answer) {
          if (status !== 200) return undefined;
          const list = toList(answer);
          if (isShared && list !== undefined) kept = { list: answer, untilMs: nowMs() + LIST_KEPT_MS };
          return list;
        },
      });
    })
    .all(methodNotAllowed('GET'));

  router
    .route('/models/*id')
    .get((req, res) => {
      const name = req.params.id.join('/');
      const model = aliases.get(name);
      if (!admission.offers(callerOf(res).key, name, model ?? name)) throw modelNotFound();
      const isAsIs = models.present === null && !refusals.any();
      const described = (found: unknown): object | undefined => {
        const entry = describeModel(found, aliases, { models: models.present, refusals });
        return isObject(entry) ? entry : undefined;
      };
      if (model === undefined && isAsIs) return forward(req, res);
      if (model === undefined) {
        return forward(req, res, { edit: (status, found) => (status === 200 ? described(found) : undefined) });
      }
      return forward(req, res, {
        path: `/models/${encodeURIComponent(model)}`,
        // Many backends only have the list. The alias exists in any case.
        edit: (status, found) =>
          NO_ANSWER.has(status) || status === 200
            ? described(namedModel(name, status === 200 ? found : undefined))
            : undefined,
      });
    })
    .all(methodNotAllowed('GET'));

  const forwardUnmetered = async (req: Request, res: Response): Promise<void> => {
    const headers = await admission.admitUnmetered(callerOf(res).key);
    for (const [name, value] of Object.entries(headers)) res.setHeader(name, value);
    return forward(req, res);
  };

  for (const path of options.passthroughPaths) {
    router.use(path.replace(/^\/v1/, ''), allow(METHODS), (req, res) => forwardUnmetered(req, res));
  }

  return router;
}

const NO_ANSWER = new Set([404, 405, 501]);

function allow(methods: readonly string[]): RequestHandler {
  const refuse = methodNotAllowed(...methods);
  return (req, res, next) => (methods.includes(req.method) ? next() : refuse(req, res, next));
}

/** Returns path and query below `/v1`. Throws ApiError if a backend might resolve another path. */
function pathOf(req: Request): string {
  const path = req.originalUrl.replace(/^\w+:\/\/[^/?]*/, '').replace(/^(?:\/api)?\/v1/i, '');
  const segments = decoded(path.split('?', 1)[0] ?? '').split(/[/\\]/);
  if (segments.some((segment) => segment === '.' || segment === '..')) throw new ApiError('not_found');
  // Some servers read these as `..`: a parameter of the segment, a second round of escapes, a zero.
  if (segments.some((segment) => segment.startsWith('..') || /%|\0/.test(segment))) {
    throw new ApiError('invalid_request', { message: 'The path has a segment that backends read in different ways.' });
  }
  return path;
}

function decoded(path: string): string {
  try {
    return decodeURIComponent(path);
  } catch (error) {
    throw new ApiError('invalid_request', { message: 'The path has a broken escape.', cause: error });
  }
}

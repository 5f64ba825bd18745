import express, { type Request, type RequestHandler, type Router } from 'express';
import type { AccountActions, AccountKind, Administration } from './administration.ts';
import { ApiError } from '../core/errors.ts';
import { parseGroupId, parseKeyId } from '../core/ids.ts';
import { parseJson } from '../core/parse-json.ts';
import { given } from '../core/given.ts';
import type { AuthMode } from '../contract/operator-types.ts';
import type { BackendRoutes } from './backends.ts';
import { readJsonBody } from '../access/body.ts';
import { methodNotAllowed, notFound } from '../wire/no-route.ts';
import type { AdminRequests } from './requests.ts';
import { invalidQuery, readLimit, readText } from '../wire/query.ts';

export interface AdminOptions {
  readonly authenticate: RequestHandler;
  readonly administration: Administration;
  readonly requests: AdminRequests;
  readonly showUsageOfAll: RequestHandler;
  readonly showUsageTotals: RequestHandler;
  readonly backends: BackendRoutes;
  readonly listLimits: RequestHandler;
  readonly showPrices: RequestHandler;
  readonly mode: AuthMode;
}

const MAX_BODY_BYTES = 65_536;

/** Returns the routes under `/admin/v1`. Bodies and replies are those of schemas/admin.json. */
export function createAdminApi(options: AdminOptions): Router {
  const {
    authenticate,
    administration,
    requests,
    showUsageOfAll,
    showUsageTotals,
    backends,
    listLimits,
    showPrices,
    mode,
  } = options;
  const admin = express.Router();
  admin.use(authenticate, keepNothing);
  admin.route('/usage').get(showUsageOfAll).all(methodNotAllowed('GET'));
  admin.route('/usage/totals').get(showUsageTotals).all(methodNotAllowed('GET'));
  admin.route('/backends').get(backends.list).all(methodNotAllowed('GET'));
  admin.route('/models').get(backends.listModels).all(methodNotAllowed('GET'));
  admin.route('/limits').get(listLimits).all(methodNotAllowed('GET'));
  admin.route('/prices').get(showPrices).all(methodNotAllowed('GET'));
  admin.route('/requests').get(requests.list).all(methodNotAllowed('GET'));
  admin.route('/requests/:id').get(requests.show).all(methodNotAllowed('GET'));
  admin.route('/requests/:id/cancel').post(requests.cancel).all(methodNotAllowed('POST'));
  admin.use('/keys', requireManaged(mode), createKeyRoutes(administration));
  admin.use('/groups', requireManaged(mode), createGroupRoutes(administration));
  // What follows outside may allow other origins.
  admin.use(notFound);
  return admin;
}

interface Id {
  readonly id: string;
}

function createKeyRoutes({ keys, groups }: Administration): Router {
  const routes = createAccountRoutes(keys, async ({ query }) => {
    const [after, group] = [readText('after', query), readText('group', query)];
    const secret = readText('gateway_secret', query);
    if (secret !== undefined && secret !== 'previous')
      throw invalidQuery('gateway_secret', 'gateway_secret must be previous.');
    return {
      isOfPreviousSecret: secret !== undefined,
      ...(after !== undefined && { after: knownId('key', parseKeyId(after)) }),
      ...(group !== undefined && { groupId: await groups.find(group) }),
    };
  });
  const rotate = async (req: Request<Id>) => keys.rotate(await keys.find(req.params.id), await readBody(req));
  routes.route('/:id/rotate').post(sending(rotate)).all(methodNotAllowed('POST'));
  return routes;
}

function createGroupRoutes({ groups }: Administration): Router {
  return createAccountRoutes(groups, async ({ query }) => {
    const after = readText('after', query);
    return { ...(after !== undefined && { after: knownId('group', parseGroupId(after)) }) };
  });
}

/**
 * Returns the routes that keys and groups have alike. `toFilter` reads by what a list of one
 * kind is selected beside it, and where it continues.
 */
function createAccountRoutes<Kind extends AccountKind>(
  actions: AccountActions<Kind>,
  toFilter: (req: Request<object>) => Promise<Kind['filter'] & { readonly after?: Kind['shown']['id'] }>,
): Router {
  const idOf = (req: Request<Id>) => actions.find(req.params.id);
  const list = async (req: Request<object>) => {
    const [name, search] = [readText('name', req.query), readText('search', req.query)];
    return actions.list({ limit: readLimit(req.query), ...given({ name, search }), ...(await toFilter(req)) });
  };
  const create = async (req: Request<object>) => actions.create(await readBody(req));
  const show = async (req: Request<Id>) => actions.show(await idOf(req));
  const update = async (req: Request<Id>) => actions.update(await idOf(req), await readBody(req));
  const remove = async (req: Request<Id>) => actions.delete(await idOf(req));
  const credit = async (req: Request<Id>) => actions.credit(await idOf(req), await readBody(req));
  const endCredits = async (req: Request<Id>) => actions.endCredits(await idOf(req));
  const showLedger = async (req: Request<Id>) => {
    const query = { limit: readLimit(req.query), ...readBefore(req), isNet: readFlag('net', req) };
    return actions.showLedger(await idOf(req), query);
  };
  const routes = express.Router();
  routes.route('/').get(sending(list)).post(sending(create, 201)).all(methodNotAllowed('GET', 'POST'));
  routes
    .route('/:id')
    .get(sending(show))
    .patch(sending(update))
    .delete(sending(remove))
    .all(methodNotAllowed('GET', 'PATCH', 'DELETE'));
  routes
    .route('/:id/credits')
    .post(sending(credit))
    .delete(sending(endCredits))
    .all(methodNotAllowed('POST', 'DELETE'));
  routes.route('/:id/ledger').get(sending(showLedger)).all(methodNotAllowed('GET'));
  return routes;
}

/** Returns what sends the result as JSON. */
function sending<Params>(act: (req: Request<Params>) => Promise<object>, status = 200): RequestHandler<Params> {
  return async (req, res) => {
    res.status(status).json(await act(req));
  };
}

/** Some replies contain a secret, and all of them change soon. */
const keepNothing: RequestHandler = (_req, res, next) => {
  res.set('cache-control', 'no-store');
  next();
};

function requireManaged(mode: AuthMode): RequestHandler {
  return (_req, _res, next) => {
    if (mode === 'managed') return next();
    throw new ApiError('not_found', {
      message: `The gateway issues keys only with AUTH_MODE=managed; it runs with AUTH_MODE=${mode}.`,
    });
  };
}

async function readBody(req: Request<object>): Promise<unknown> {
  const isAbsent = req.headers['transfer-encoding'] === undefined && (req.headers['content-length'] ?? '0') === '0';
  return isAbsent ? {} : parseJson(await readJsonBody(req, { maxBytes: MAX_BODY_BYTES }));
}

function knownId<Id>(what: 'key' | 'group', id: Id | undefined): Id {
  if (id !== undefined) return id;
  throw new ApiError('not_found', { param: 'after', message: `There is no ${what} with this id.` });
}

function readFlag(name: string, { query }: Request<object>): boolean {
  const flag = readText(name, query) ?? 'false';
  if (flag === 'true' || flag === 'false') return flag === 'true';
  throw invalidQuery(name, `${name} must be true or false.`);
}

function readBefore(req: Request<object>): { readonly beforeSeq?: number } {
  const before = readText('before', req.query);
  if (before === undefined) return {};
  if (!/^\d{1,15}$/.test(before)) throw invalidQuery('before', 'before must be the id of an entry.');
  return { beforeSeq: Number(before) };
}

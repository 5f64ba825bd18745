import express, { type Request, type RequestHandler, type Router } from 'express';
import type { Administration } from '../accounts/administration.ts';
import { ApiError } from '../core/errors.ts';
import type { GroupId, KeyId } from '../contract/ids.ts';
import { parseGroupId, parseKeyId } from '../core/ids.ts';
import { parseJson } from '../core/parse-json.ts';
import type { AuthMode } from '../contract/types.ts';
import type { BackendRoutes } from './backends.ts';
import { readJsonBody } from './body/body.ts';
import { methodNotAllowed, notFound } from './error-handler.ts';
import type { AdminRequests } from './records/admin-requests.ts';
import { invalidQuery, readText } from './records/query.ts';

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

function createKeyRoutes(administration: Administration): Router {
  const handlers = createKeyHandlers(administration);
  const keys = express.Router();
  keys.route('/').get(handlers.list).post(handlers.create).all(methodNotAllowed('GET', 'POST'));
  keys
    .route('/:id')
    .get(handlers.show)
    .patch(handlers.update)
    .delete(handlers.remove)
    .all(methodNotAllowed('GET', 'PATCH', 'DELETE'));
  keys.route('/:id/rotate').post(handlers.rotate).all(methodNotAllowed('POST'));
  keys.route('/:id/credits').post(handlers.credit).all(methodNotAllowed('POST'));
  keys.route('/:id/ledger').get(handlers.showLedger).all(methodNotAllowed('GET'));
  return keys;
}

function createGroupRoutes(administration: Administration): Router {
  const handlers = createGroupHandlers(administration);
  const groups = express.Router();
  groups.route('/').get(handlers.list).post(handlers.create).all(methodNotAllowed('GET', 'POST'));
  groups
    .route('/:id')
    .get(handlers.show)
    .patch(handlers.update)
    .delete(handlers.remove)
    .all(methodNotAllowed('GET', 'PATCH', 'DELETE'));
  groups.route('/:id/credits').post(handlers.credit).all(methodNotAllowed('POST'));
  groups.route('/:id/ledger').get(handlers.showLedger).all(methodNotAllowed('GET'));
  return groups;
}

type ById = RequestHandler<{ id: string }>;

function createKeyHandlers(administration: Administration) {
  const idOf = (req: Request<{ id: string }>) => administration.findKeyId(req.params.id);
  return {
    list: (async (req, res) => {
      const [after, name] = [readText('after', req.query), readText('name', req.query)];
      const [group, search] = [readText('group', req.query), readText('search', req.query)];
      const secret = readText('gateway_secret', req.query);
      if (secret !== undefined && secret !== 'previous')
        throw invalidQuery('gateway_secret', 'gateway_secret must be previous.');
      const query = {
        limit: readLimit(req),
        isOfPreviousSecret: secret !== undefined,
        ...(after !== undefined && { after: toKeyId(after, 'after') }),
        ...(name !== undefined && { name }),
        ...(group !== undefined && { groupId: await administration.findGroupId(group) }),
        ...(search !== undefined && { search }),
      };
      res.json(await administration.listKeys(query));
    }) satisfies RequestHandler,
    create: (async (req, res) => {
      res.status(201).json(await administration.createKey(await readBody(req)));
    }) satisfies RequestHandler,
    show: (async (req, res) => {
      res.json(await administration.showKey(await idOf(req)));
    }) satisfies ById,
    update: (async (req, res) => {
      res.json(await administration.updateKey(await idOf(req), await readBody(req)));
    }) satisfies ById,
    remove: (async (req, res) => {
      res.json(await administration.deleteKey(await idOf(req)));
    }) satisfies ById,
    rotate: (async (req, res) => {
      res.json(await administration.rotateKey(await idOf(req), await readBody(req)));
    }) satisfies ById,
    credit: (async (req, res) => {
      res.json(await administration.creditKey(await idOf(req), await readBody(req)));
    }) satisfies ById,
    showLedger: (async (req, res) => {
      const query = { limit: readLimit(req), ...readBefore(req) };
      res.json(await administration.showLedger(await idOf(req), query));
    }) satisfies ById,
  };
}

function createGroupHandlers(administration: Administration) {
  const idOf = (req: Request<{ id: string }>) => administration.findGroupId(req.params.id);
  return {
    list: (async (req, res) => {
      const [after, name] = [readText('after', req.query), readText('name', req.query)];
      const search = readText('search', req.query);
      const query = {
        limit: readLimit(req),
        ...(after !== undefined && { after: toGroupId(after) }),
        ...(name !== undefined && { name }),
        ...(search !== undefined && { search }),
      };
      res.json(await administration.listGroups(query));
    }) satisfies RequestHandler,
    create: (async (req, res) => {
      res.status(201).json(await administration.createGroup(await readBody(req)));
    }) satisfies RequestHandler,
    show: (async (req, res) => {
      res.json(await administration.showGroup(await idOf(req)));
    }) satisfies ById,
    update: (async (req, res) => {
      res.json(await administration.updateGroup(await idOf(req), await readBody(req)));
    }) satisfies ById,
    remove: (async (req, res) => {
      res.json(await administration.deleteGroup(await idOf(req)));
    }) satisfies ById,
    credit: (async (req, res) => {
      res.json(await administration.creditGroup(await idOf(req), await readBody(req)));
    }) satisfies ById,
    showLedger: (async (req, res) => {
      const query = { limit: readLimit(req), ...readBefore(req) };
      res.json(await administration.showGroupLedger(await idOf(req), query));
    }) satisfies ById,
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

function toKeyId(text: string, param: string): KeyId {
  const keyId = parseKeyId(text);
  if (keyId === undefined) throw new ApiError('not_found', { param, message: 'There is no key with this id.' });
  return keyId;
}

function toGroupId(text: string): GroupId {
  const groupId = parseGroupId(text);
  if (groupId !== undefined) return groupId;
  throw new ApiError('not_found', { param: 'after', message: 'There is no group with this id.' });
}

function readLimit(req: Request<object>): number {
  const limit = readText('limit', req.query) ?? '20';
  if (/^\d{1,3}$/.test(limit) && Number(limit) >= 1 && Number(limit) <= 100) return Number(limit);
  throw invalidQuery('limit', 'limit must be a whole number from 1 to 100.');
}

function readBefore(req: Request<object>): { readonly beforeSeq?: number } {
  const before = readText('before', req.query);
  if (before === undefined) return {};
  if (!/^\d{1,15}$/.test(before)) throw invalidQuery('before', 'before must be the id of an entry.');
  return { beforeSeq: Number(before) };
}

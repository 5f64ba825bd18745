import express, { type Request, type RequestHandler, type Router } from 'express';
import type { Administration } from '../accounts/administration.ts';
import { ApiError } from '../core/errors.ts';
import type { KeyId } from '../contract/ids.ts';
import { parseKeyId } from '../core/ids.ts';
import type { AuthMode } from '../contract/types.ts';
import type { BackendRoutes } from './backends.ts';
import { readJsonBody } from './body/body.ts';
import { methodNotAllowed } from './error-handler.ts';

export interface AdminOptions {
  readonly authenticate: RequestHandler;
  readonly administration: Administration;
  readonly showUsageOfAll: RequestHandler;
  readonly backends: BackendRoutes;
  readonly mode: AuthMode;
}

const MAX_BODY_BYTES = 65_536;

/** Returns the routes under `/admin/v1`. Bodies and replies are those of schemas/admin.json. */
export function createAdminApi({ authenticate, administration, showUsageOfAll, backends, mode }: AdminOptions): Router {
  const admin = express.Router();
  admin.use(authenticate, keepNothing);
  admin.route('/usage').get(showUsageOfAll).all(methodNotAllowed('GET'));
  admin.route('/backends').get(backends.list).all(methodNotAllowed('GET'));
  admin.route('/models').get(backends.listModels).all(methodNotAllowed('GET'));
  admin.use('/keys', requireManaged(mode), createKeyRoutes(administration));
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

type ById = RequestHandler<{ id: string }>;

function createKeyHandlers(administration: Administration) {
  return {
    list: (async (req, res) => {
      const after = readOne(req, 'after');
      const query = { limit: readLimit(req), ...(after !== undefined && { after: toKeyId(after, 'after') }) };
      res.json(await administration.listKeys(query));
    }) satisfies RequestHandler,
    create: (async (req, res) => {
      res.status(201).json(await administration.createKey(await readBody(req)));
    }) satisfies RequestHandler,
    show: (async (req, res) => {
      res.json(await administration.showKey(idOf(req)));
    }) satisfies ById,
    update: (async (req, res) => {
      res.json(await administration.updateKey(idOf(req), await readBody(req)));
    }) satisfies ById,
    remove: (async (req, res) => {
      res.json(await administration.deleteKey(idOf(req)));
    }) satisfies ById,
    rotate: (async (req, res) => {
      res.json(await administration.rotateKey(idOf(req), await readBody(req)));
    }) satisfies ById,
    credit: (async (req, res) => {
      res.json(await administration.creditKey(idOf(req), await readBody(req)));
    }) satisfies ById,
    showLedger: (async (req, res) => {
      const query = { limit: readLimit(req), ...readBefore(req) };
      res.json(await administration.showLedger(idOf(req), query));
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
  return isAbsent ? {} : (await readJsonBody(req, { maxBytes: MAX_BODY_BYTES })).value;
}

function idOf(req: Request<{ id: string }>): KeyId {
  return toKeyId(req.params.id, '');
}

function toKeyId(text: string, param: string): KeyId {
  const keyId = parseKeyId(text);
  if (keyId === undefined) throw new ApiError('not_found', { param, message: 'There is no key with this id.' });
  return keyId;
}

function readLimit(req: Request<object>): number {
  const limit = readOne(req, 'limit') ?? '20';
  if (/^\d{1,3}$/.test(limit) && Number(limit) >= 1 && Number(limit) <= 100) return Number(limit);
  throw invalidQuery('limit', 'limit must be a whole number from 1 to 100.');
}

function readBefore(req: Request<object>): { readonly beforeSeq?: number } {
  const before = readOne(req, 'before');
  if (before === undefined) return {};
  if (!/^\d{1,15}$/.test(before)) throw invalidQuery('before', 'before must be the id of an entry.');
  return { beforeSeq: Number(before) };
}

function readOne(req: Request<object>, name: string): string | undefined {
  const value = req.query[name];
  if (value === undefined || typeof value === 'string') return value;
  throw invalidQuery(name, `${name} must be given once.`);
}

function invalidQuery(param: string, message: string): ApiError {
  return new ApiError('invalid_request', { param, message });
}

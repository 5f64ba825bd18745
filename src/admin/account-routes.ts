import express, { type Request, type RequestHandler, type Router } from 'express';
import type { AccountActions, AccountKind, Administration } from './administration.ts';
import { ApiError } from '../core/errors.ts';
import { parseGroupId, parseKeyId } from '../core/ids.ts';
import { parseJson } from '../core/parse-json.ts';
import { given } from '../core/given.ts';
import { readJsonBody } from '../access/body.ts';
import { methodNotAllowed } from '../wire/no-route.ts';
import { invalidQuery, readLimit, readText } from '../wire/query.ts';

const MAX_BODY_BYTES = 65_536;

interface Id {
  readonly id: string;
}

export function createKeyRoutes({ keys, groups }: Administration): Router {
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

export function createGroupRoutes({ groups }: Administration): Router {
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
  const showLedger = async (req: Request<Id>) => {
    const query = { limit: readLimit(req.query), ...readBefore(req), isNet: readFlag('net', req) };
    return actions.showLedger(await idOf(req), query);
  };
  const routes = express.Router();
  routes
    .route('/')
    .get(sending(list))
    .post(sending(async (req) => actions.create(await readBody(req)), 201))
    .all(methodNotAllowed('GET', 'POST'));
  routes
    .route('/:id')
    .get(sending<Id>(async (req) => actions.show(await idOf(req))))
    .patch(sending<Id>(async (req) => actions.update(await idOf(req), await readBody(req))))
    .delete(sending<Id>(async (req) => actions.delete(await idOf(req))))
    .all(methodNotAllowed('GET', 'PATCH', 'DELETE'));
  routes
    .route('/:id/credits')
    .post(sending<Id>(async (req) => actions.credit(await idOf(req), await readBody(req))))
    .delete(sending<Id>(async (req) => actions.endCredits(await idOf(req))))
    .all(methodNotAllowed('POST', 'DELETE'));
  routes.route('/:id/ledger').get(sending(showLedger)).all(methodNotAllowed('GET'));
  return routes;
}

export function sending<Params>(act: (req: Request<Params>) => Promise<object>, status = 200): RequestHandler<Params> {
  return async (req, res) => {
    res.status(status).json(await act(req));
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

import { hostname } from 'node:os';
import express, { type RequestHandler } from 'express';
import { authenticate, createAuthenticator } from '../access/authenticate.ts';
import { NO_CALLERS } from '../accounts/accepted-callers.ts';
import type { StatsSource } from '../accounts/latencies.ts';
import type { AccessServices } from '../access/services.ts';
import type { Backends } from '../backend/backends.ts';
import { mergeModelLists } from '../backend/model-list.ts';
import type { AuthMode, PriceTable } from '../contract/settings-types.ts';
import type {
  AdminBackend,
  AdminBackendList,
  AdminLimitList,
  AdminModelList,
  AdminPriceList,
} from '../contract/operator-types.ts';
import type { AccountStore } from '../core/books/keys.ts';
import type { Store } from '../core/books/store.ts';
import { ApiError } from '../core/errors.ts';
import { toGroupId, toKeyId, type NewUniquePart } from '../core/ids.ts';
import { listPrices } from '../core/money/pricing.ts';
import type { Identities } from '../identity/identities.ts';
import type { RequestServices } from '../requests/open.ts';
import { methodNotAllowed, notFound } from '../wire/no-route.ts';
import { untilServed } from '../wire/until-served.ts';
import { createGroupRoutes, createKeyRoutes, sending } from './account-routes.ts';
import { createAdministration } from './administration.ts';
import { createAdminRequests } from './requests.ts';
import { showUsageOfAll, showUsageTotals } from './usage.ts';

export interface AdminServices {
  readonly settings: {
    readonly adminToken: string | null;
    readonly authMode: AuthMode;
    readonly publicBaseUrl: string | null;
  };
  readonly requests: RequestServices;
  readonly access: AccessServices;
  readonly books: {
    readonly store: Store;
    readonly accounts: AccountStore;
    readonly identities: Identities;
    readonly prices: { readonly present: { readonly table: PriceTable } | null };
    readonly nowMs: () => number;
  };
  readonly backends: {
    readonly backends: Backends;
    /** Of all processes of the gateway. */
    readonly listBackends: () => Promise<readonly AdminBackend[]>;
  };
  readonly telemetry: { readonly stats: StatsSource['stats']; readonly newUniquePart: NewUniquePart };
}

/** Returns what answers under `/admin/v1` as schemas/admin.json says; nothing is there without `ADMIN_TOKEN`. */
export function createAdmin(services: AdminServices): RequestHandler {
  const { settings, requests, access, books, backends, telemetry } = services;
  const { adminToken, authMode } = settings;
  if (adminToken === null) return notFound;
  const { keySecret, keyMark } = books.identities;
  const administration = createAdministration({
    ...books,
    toHash: keySecret,
    keyMark,
    newKeyId: () => toKeyId(telemetry.newUniquePart()),
    newGroupId: () => toGroupId(telemetry.newUniquePart()),
  });
  const records = createAdminRequests({ ...settings, ...requests }, administration);
  const options = {
    ...books,
    acceptedCallers: NO_CALLERS,
    authMode: 'static',
    apiKeys: [adminToken],
    wrongKey: 'The admin token is not valid.',
  } as const;

  const admin = express.Router();
  admin.use(authenticate(createAuthenticator(options)), keepNothing);
  const get = (path: string, answer: RequestHandler): unknown =>
    admin.route(path).get(answer).all(methodNotAllowed('GET'));
  get('/usage', showUsageOfAll({ ...books, ...telemetry }, administration));
  get('/usage/totals', showUsageTotals({ ...books, ...telemetry }, administration));
  get('/backends', sending(listBackends));
  get('/models', async (_req, res) => {
    res.json(await listModels(untilServed(res)));
  });
  get('/limits', sending(listLimits));
  get('/prices', sending(showPrices));
  get('/requests', records.list);
  admin.route('/requests/:id').get(records.show).all(methodNotAllowed('GET'));
  admin.route('/requests/:id/cancel').post(records.cancel).all(methodNotAllowed('POST'));
  admin.use('/keys', requireManaged(authMode), createKeyRoutes(administration));
  admin.use('/groups', requireManaged(authMode), createGroupRoutes(administration));
  // What follows outside may allow other origins.
  admin.use(notFound);
  return admin;

  async function listBackends(): Promise<AdminBackendList> {
    return { object: 'list', gateway: hostname(), data: [...(await backends.listBackends())] };
  }

  async function listModels(signal: AbortSignal): Promise<AdminModelList> {
    const { specs } = backends.backends;
    const { models } = await mergeModelLists(specs, { headers: {}, keyOwner: requests.keyOwner, signal });
    return { object: 'list', data: models.map(({ model, backends }) => ({ ...model, backends: [...backends] })) };
  }

  async function listLimits(): Promise<AdminLimitList> {
    return { object: 'list', gateway: hostname(), data: [...(await access.listLimits())] };
  }

  /** A SIGHUP may have changed them. */
  async function showPrices(): Promise<AdminPriceList> {
    const table = books.prices.present?.table;
    return { object: 'list', currency: table?.currency ?? null, data: listPrices(table) };
  }
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

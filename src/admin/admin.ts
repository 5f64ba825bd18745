import type { RequestHandler } from 'express';
import { authenticate, createAuthenticator } from '../access/authenticate.ts';
import { NO_CALLERS } from '../accounts/accepted-callers.ts';
import type { AccessServices } from '../access/services.ts';
import type { AuthMode } from '../contract/operator-types.ts';
import type { AccountStore } from '../core/books/keys.ts';
import type { Store } from '../core/books/store.ts';
import { toGroupId, toKeyId, type NewUniquePart } from '../core/ids.ts';
import type { Identities } from '../identity/identities.ts';
import type { RequestServices } from '../requests/open.ts';
import { notFound } from '../wire/no-route.ts';
import { createAdministration } from './administration.ts';
import { createBackendRoutes, type BackendRoutesOptions } from './backends.ts';
import { createLimitsRoute } from './limits.ts';
import { showPrices } from './prices.ts';
import { createAdminRequests } from './requests.ts';
import { createAdminApi } from './routes.ts';
import { showUsageTotals } from './usage-totals.ts';
import { showUsageOfAll, type OperatorUsageOptions } from './usage.ts';

/** What it needs of the groups that the gateway has opened. */
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
    readonly prices: Parameters<typeof showPrices>[0];
    readonly nowMs: () => number;
  };
  readonly backends: {
    readonly backends: BackendRoutesOptions['backends'];
    readonly listBackends: BackendRoutesOptions['listBackends'];
  };
  readonly telemetry: { readonly stats: OperatorUsageOptions['stats']; readonly newUniquePart: NewUniquePart };
}

/** Returns what answers under `/admin/v1`; nothing is there without `ADMIN_TOKEN`. */
export function createAdmin(services: AdminServices): RequestHandler {
  const { settings, requests, access, books, backends, telemetry } = services;
  const { adminToken } = settings;
  const { identities } = books;
  const { newUniquePart } = telemetry;
  if (adminToken === null) return notFound;
  const administration = createAdministration({
    ...books,
    toHash: identities.keySecret,
    keyMark: identities.keyMark,
    newKeyId: () => toKeyId(newUniquePart()),
    newGroupId: () => toGroupId(newUniquePart()),
  });
  return createAdminApi({
    authenticate: authenticate(
      createAuthenticator({
        ...books,
        acceptedCallers: NO_CALLERS,
        authMode: 'static',
        apiKeys: [adminToken],
        wrongKey: 'The admin token is not valid.',
      }),
    ),
    administration,
    requests: createAdminRequests({ ...settings, ...requests }, administration),
    showUsageOfAll: showUsageOfAll({ ...books, ...telemetry }, administration),
    showUsageTotals: showUsageTotals({ ...books, ...telemetry }, administration),
    backends: createBackendRoutes({ ...requests, ...backends }),
    listLimits: createLimitsRoute(access.listLimits),
    showPrices: showPrices(books.prices),
    mode: settings.authMode,
  });
}

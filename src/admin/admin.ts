import type { RequestHandler } from 'express';
import { authenticate, createAuthenticator } from '../access/authenticate.ts';
import { NO_CALLERS } from '../accounts/accepted-callers.ts';
import type { AdminLimit } from '../contract/types.ts';
import type { AccountStore } from '../core/books/keys.ts';
import { toGroupId, toKeyId, type NewUniquePart } from '../core/ids.ts';
import type { Identities } from '../identity/identities.ts';
import { notFound } from '../wire/no-route.ts';
import { createAdministration } from './administration.ts';
import { createBackendRoutes, type BackendRoutesOptions } from './backends.ts';
import { createLimitsRoute } from './limits.ts';
import { showPrices } from './prices.ts';
import { createAdminRequests, type AdminRequestsOptions } from './requests.ts';
import { createAdminApi } from './routes.ts';
import { showUsageTotals } from './usage-totals.ts';
import { showUsageOfAll, type OperatorUsageOptions } from './usage.ts';

export interface AdminServices extends AdminRequestsOptions, OperatorUsageOptions, BackendRoutesOptions {
  readonly adminToken: string | null;
  readonly accounts: AccountStore;
  readonly identities: Identities;
  readonly prices: Parameters<typeof showPrices>[0];
  /** Of all processes. */
  readonly listLimits: () => Promise<readonly AdminLimit[]>;
  readonly newUniquePart: NewUniquePart;
}

/** Returns what answers under `/admin/v1`; nothing is there without `ADMIN_TOKEN`. */
export function createAdmin(services: AdminServices): RequestHandler {
  const { adminToken, identities, newUniquePart } = services;
  if (adminToken === null) return notFound;
  const administration = createAdministration({
    ...services,
    toHash: identities.keySecret,
    keyMark: identities.keyMark,
    newKeyId: () => toKeyId(newUniquePart()),
    newGroupId: () => toGroupId(newUniquePart()),
  });
  return createAdminApi({
    authenticate: authenticate(
      createAuthenticator({
        ...services,
        acceptedCallers: NO_CALLERS,
        authMode: 'static',
        apiKeys: [adminToken],
        wrongKey: 'The admin token is not valid.',
      }),
    ),
    administration,
    requests: createAdminRequests(services, administration),
    showUsageOfAll: showUsageOfAll(services, administration),
    showUsageTotals: showUsageTotals(services, administration),
    backends: createBackendRoutes(services),
    listLimits: createLimitsRoute(services.listLimits),
    showPrices: showPrices(services.prices),
    mode: services.authMode,
  });
}

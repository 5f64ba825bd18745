import type { RequestHandler } from 'express';
import { authenticate, createAuthenticator } from '../access/authenticate.ts';
import { NO_CALLERS } from '../accounts/accepted-callers.ts';
import { toGroupId, toKeyId } from '../core/ids.ts';
import { notFound } from '../http/error-handler.ts';
import type { Services } from '../http/services.ts';
import { createAdministration } from './administration.ts';
import { createBackendRoutes } from './backends.ts';
import { createLimitsRoute } from './limits.ts';
import { showPrices } from './prices.ts';
import { createAdminRequests } from './requests.ts';
import { createAdminApi } from './routes.ts';
import { showUsageTotals } from './usage-totals.ts';
import { showUsageOfAll } from './usage.ts';

/** Returns what answers under `/admin/v1`; nothing is there without `ADMIN_TOKEN`. */
export function createAdmin(services: Services): RequestHandler {
  const { settings, requests, access, books, backends, telemetry } = services;
  const { adminToken } = settings;
  const { identities } = books;
  const { newUniquePart } = telemetry;
  if (adminToken === null) return notFound;
  const administration = createAdministration({
    ...settings,
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
    requests: createAdminRequests({ ...settings, ...requests, administration }),
    showUsageOfAll: showUsageOfAll({ ...books, ...telemetry, administration }),
    showUsageTotals: showUsageTotals({ ...books, ...telemetry, administration }),
    backends: createBackendRoutes({ ...requests, ...backends }),
    listLimits: createLimitsRoute(access.listLimits),
    showPrices: showPrices(books.prices),
    mode: settings.authMode,
  });
}

import { lazyRoute } from '../http/lazy-route.ts';
import type { OperatorRoutes } from '../http/app.ts';
import type { Services } from '../http/services.ts';
import { createConsole } from './console.ts';
import { showLanding } from './landing.ts';

/** Returns the pages. The description of the API and the guides are made when they are first asked for. */
export function createPages(services: Services): Omit<OperatorRoutes, 'admin'> {
  const { settings, backends, books } = services;
  return {
    landing: showLanding({ ...settings, ...backends }),
    docs: lazyRoute(async () => {
      const { showDocs } = await import('./docs.ts');
      return showDocs(await describeApi(services), settings);
    }),
    openApi: lazyRoute(async () => {
      const { showOpenApi } = await import('../openapi/openapi.ts');
      return showOpenApi(await describeApi(services), settings);
    }),
    console: createConsole({ ...settings, ...backends, currency: () => books.prices.present?.currency ?? null }),
  };
}

async function describeApi({ settings, backends }: Services) {
  const { createOpenApi } = await import('../openapi/openapi.ts');
  const { adminToken, metricsToken, metricsPort } = settings;
  const hasMetrics = metricsToken !== null && metricsPort === null;
  return createOpenApi({ ...settings, ...backends, hasAdmin: adminToken !== null, hasMetrics });
}

import type { RequestHandler } from 'express';
import type { AuthMode } from '../contract/settings-types.ts';
import type { OpenApiDocument } from '../openapi/openapi.ts';
import { lazyRoute } from '../wire/lazy-route.ts';
import { createConsole, type ConsoleOptions } from './console.ts';
import { showLanding } from './landing.ts';

export interface PagesServices {
  readonly settings: {
    readonly authMode: AuthMode;
    readonly defaultModelId: string | null;
    readonly publicBaseUrl: string | null;
    readonly passthroughPaths: readonly string[];
    readonly adminToken: string | null;
    readonly metricsToken: string | null;
    readonly metricsPort: number | null;
  };
  readonly backends: { readonly demo: boolean };
  readonly books: { readonly prices: ConsoleOptions['prices'] };
}

/** Returns the pages. The description of the API and the guides are made when they are first asked for. */
export function createPages(
  services: PagesServices,
): Record<'landing' | 'docs' | 'openApi' | 'console', RequestHandler> {
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
    console: createConsole({ ...settings, ...backends, prices: books.prices }),
  };
}

async function describeApi({ settings, backends }: PagesServices): Promise<OpenApiDocument> {
  const { createOpenApi } = await import('../openapi/openapi.ts');
  const { adminToken, metricsToken, metricsPort } = settings;
  const hasMetrics = metricsToken !== null && metricsPort === null;
  return createOpenApi({ ...settings, ...backends, hasAdmin: adminToken !== null, hasMetrics });
}

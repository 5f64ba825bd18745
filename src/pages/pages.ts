import type { RequestHandler } from 'express';
import type { OpenApiDocument, OpenApiOptions } from '../openapi/openapi.ts';
import { lazyRoute } from '../wire/lazy-route.ts';
import { createConsole, type ConsoleOptions } from './console.ts';
import { showLanding, type LandingOptions } from './landing.ts';

export interface PagesOptions
  extends LandingOptions, ConsoleOptions, Pick<OpenApiOptions, 'defaultModelId' | 'demo' | 'passthroughPaths'> {
  readonly metricsToken: string | null;
  readonly metricsPort: number | null;
}

/** Returns the pages. The description of the API and the guides are made when they are first asked for. */
export function createPages(options: PagesOptions): Record<'landing' | 'docs' | 'openApi' | 'console', RequestHandler> {
  return {
    landing: showLanding(options),
    docs: lazyRoute(async () => {
      const { showDocs } = await import('./docs.ts');
      return showDocs(await describeApi(options), options);
    }),
    openApi: lazyRoute(async () => {
      const { showOpenApi } = await import('../openapi/openapi.ts');
      return showOpenApi(await describeApi(options), options);
    }),
    console: createConsole(options),
  };
}

async function describeApi(options: PagesOptions): Promise<OpenApiDocument> {
  const { createOpenApi } = await import('../openapi/openapi.ts');
  const { adminToken, metricsToken, metricsPort } = options;
  return createOpenApi({
    ...options,
    hasAdmin: adminToken !== null,
    hasMetrics: metricsToken !== null && metricsPort === null,
  });
}

import type { RequestHandler } from 'express';
import packageJson from '../../package.json' with { type: 'json' };
import type { AuthMode } from '../contract/settings-types.ts';
import type { Landing } from '../contract/operator-types.ts';
import { html, type Html } from './html.ts';
import { createPage, curl } from './page.ts';
import { baseUrlOf } from '../wire/base-url.ts';

export interface LandingOptions {
  readonly publicBaseUrl: string | null;
  readonly defaultModelId: string | null;
  readonly demo: boolean;
  readonly authMode: AuthMode;
}

const LINKS = {
  console: '/console/',
  docs: '/docs',
  api: '/docs/api',
  openapi: '/openapi.json',
  health: '/healthz',
  readiness: '/readyz',
} as const;

/** `/`: links to everything else, as a page for browsers and as JSON for other clients. */
export function showLanding(options: LandingOptions): RequestHandler {
  const sendPage = createPage(() => ({
    title: 'Responses gateway',
    version: packageJson.version,
    path: '/',
    main: describe(options),
  }));
  return (req, res) => {
    const baseUrl = baseUrlOf(req, options.publicBaseUrl);
    res.vary('Accept');
    if (req.accepts('json', 'html') === 'html') return sendPage(req, res, baseUrl);
    return res.json(toJson(options, baseUrl));
  };
}

function toJson({ defaultModelId, demo }: LandingOptions, baseUrl: string): Landing {
  return {
    name: packageJson.name,
    version: packageJson.version,
    description: packageJson.description,
    base_url: `${baseUrl}/api/v1`,
    default_model: defaultModelId,
    demo,
    links: Object.fromEntries(Object.entries(LINKS).map(([name, path]) => [name, baseUrl + path])),
  };
}

function describe({ defaultModelId, demo, authMode }: LandingOptions): Html {
  const model = defaultModelId ?? (demo ? 'demo' : 'your-model');
  const call = {
    method: 'post',
    path: '/api/v1/responses',
    secret: '$GATEWAY_API_KEY',
    // Any key works with the demo backend.
    ...(demo && authMode === 'passthrough' && { before: 'export GATEWAY_API_KEY=demo' }),
    body: { model, input: 'Hello!' },
  };
  return html`<div class="view landing">
    <h1>Responses gateway</h1>
    <p>${packageJson.description}.</p>
    ${demo ? describeDemo(authMode) : undefined}
    <section class="card" aria-labelledby="first">
      <h2 id="first">The first request</h2>
      ${curl(call)}
      <p class="muted small">
        The base URL, with its <code>/api/v1</code>, serves the Responses API and chat completions.
        ${defaultModelId === null && !demo ? NAME_A_MODEL : undefined}
      </p>
    </section>
    <ul class="link-list">
      <li><a href="console/">Console</a> <span class="muted">Try requests, watch records, see usage.</span></li>
      <li><a href="docs">Docs</a> <span class="muted">The guides, from the first request to operation.</span></li>
      <li><a href="docs/api">API</a> <span class="muted">Every path, field and error.</span></li>
      <li><a href="openapi.json">OpenAPI 3.1</a> <span class="muted">The same, for programs.</span></li>
      <li><a href="healthz">Health</a> and <a href="readyz">readiness</a> <span class="muted">For probes.</span></li>
    </ul>
  </div>`;
}

function describeDemo(authMode: AuthMode): Html {
  return html`<p class="notice hint">
    The demo backend answers. It has no model${authMode === 'passthrough' ? ', and any API key will do' : ''}. Set
    <code>UPSTREAM_BASE_URL</code> to put this gateway in front of a backend.
  </p>`;
}

const NAME_A_MODEL = html`<a href="docs/api#listModels">GET /api/v1/models</a> lists the models that you can name.`;

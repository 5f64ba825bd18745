import { readdirSync, readFileSync } from 'node:fs';
import { extname } from 'node:path';
import express, { type Request, type RequestHandler, type Response, type Router } from 'express';
import packageJson from '../../package.json' with { type: 'json' };
import type { AuthMode } from '../contract/settings-types.ts';
import { methodNotAllowed } from '../wire/no-route.ts';
import { secureConsole } from '../wire/security-headers.ts';
import { sendStatic, toStatic, type StaticBody } from '../wire/static.ts';

export interface ConsoleOptions {
  readonly authMode: AuthMode;
  readonly demo: boolean;
  readonly defaultModelId: string | null;
  readonly publicBaseUrl: string | null;
  readonly adminToken: string | null;
  readonly prices: { readonly present: { readonly currency: string } | null };
}

const CONTENT_TYPES: Readonly<Record<string, string>> = {
  '.html': 'text/html; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.mjs': 'text/javascript; charset=utf-8',
  '.svg': 'image/svg+xml',
};

const FOLDER = new URL('../console/', import.meta.url);

const VENDOR = {
  'vendor/uplot.js': ['uplot', 'uPlot.esm.js'],
  'vendor/uplot.css': ['uplot', 'uPlot.min.css'],
  'vendor/eventsource-parser/stream.js': ['eventsource-parser/stream', 'stream.js'],
  'vendor/eventsource-parser/parse.js': ['eventsource-parser/stream', 'parse.js'],
  'vendor/eventsource-parser/errors.js': ['eventsource-parser/stream', 'errors.js'],
  'vendor/marked.js': ['marked', 'marked.esm.js'],
  'vendor/purify.js': ['dompurify', 'purify.es.mjs'],
} as const;

/** Loaded once for all gateways of a process. */
let files: ReadonlyMap<string, StaticBody> | undefined;

/**
 * Must be mounted at `/console` before `authenticate`: the page asks for the key. Throws if a file
 * is missing.
 */
export function createConsole(options: ConsoleOptions): Router {
  const router = express.Router();
  router.use(secureConsole);
  files ??= loadFiles();
  for (const [path, file] of files) {
    router
      .route(`/${path}`)
      .get((req, res) => (isInFolder(path, req) ? sendStatic(req, res, file) : enterFolder(req, res)))
      .all(methodNotAllowed('GET'));
  }
  router.route('/config.json').get(showConfig(options)).all(methodNotAllowed('GET'));
  return router;
}

/** The links of a page are relative, to work below a path of a proxy, and need the slash. */
function isInFolder(path: string, req: Request): boolean {
  return (path !== '' && !path.endsWith('/')) || pathOf(req).endsWith('/');
}

function enterFolder(req: Request, res: Response): void {
  res.redirect(307, `${pathOf(req).split('/').at(-1) ?? ''}/`);
}

function pathOf(req: Request): string {
  return req.originalUrl.split('?', 1)[0] ?? '';
}

function loadFiles(): ReadonlyMap<string, StaticBody> {
  const found = new Map<string, StaticBody>();
  for (const folder of ['', 'operator/']) {
    for (const name of readdirSync(new URL(folder, FOLDER))) {
      const type = CONTENT_TYPES[extname(name)];
      if (type === undefined) continue;
      found.set(folder + (name === 'index.html' ? '' : name), readFile(new URL(folder + name, FOLDER), type));
    }
  }
  for (const [path, [module, name]] of Object.entries(VENDOR)) {
    found.set(path, readFile(new URL(name, import.meta.resolve(module)), CONTENT_TYPES[extname(name)] ?? ''));
  }
  return found;
}

function readFile(url: URL, type: string): StaticBody {
  return toStatic(type, readFileSync(url));
}

function showConfig(options: ConsoleOptions): RequestHandler {
  const config = {
    version: packageJson.version,
    auth_mode: options.authMode,
    demo: options.demo,
    operator: options.adminToken !== null,
    default_model: options.defaultModelId,
    base_url: options.publicBaseUrl,
  };
  return (_req, res) => {
    res.set('cache-control', 'no-store').json({ ...config, currency: options.prices.present?.currency ?? null });
  };
}

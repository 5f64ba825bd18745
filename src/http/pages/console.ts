/** The console: files for the browser, with the page's own rules about what it may load and whom it may ask. */

import { readdirSync, readFileSync } from 'node:fs';
import { extname } from 'node:path';
import express, { type RequestHandler, type Response, type Router } from 'express';
import packageJson from '../../../package.json' with { type: 'json' };
import type { AuthMode } from '../../contract/types.ts';
import { methodNotAllowed } from '../error-handler.ts';
import { etagOf } from './page.ts';
import { securePage } from '../access/security-headers.ts';

export interface ConsoleOptions {
  readonly authMode: AuthMode;
  readonly demo: boolean;
  /** The model which the page offers first. */
  readonly defaultModelId: string | null;
  readonly publicBaseUrl: string | null;
}

interface StaticFile {
  readonly type: string;
  readonly etag: string;
  readonly body: Buffer;
}

const CONTENT_TYPES: Readonly<Record<string, string>> = {
  '.html': 'text/html; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.svg': 'image/svg+xml',
};

/** A build copies it to the same place relative to this file. */
const FOLDER = new URL('../../console/', import.meta.url);

/** What the page loads out of packages: the module by which Node finds the package, and the file beside it. */
const VENDOR = {
  'vendor/uplot.js': ['uplot', 'uPlot.esm.js'],
  'vendor/uplot.css': ['uplot', 'uPlot.min.css'],
  'vendor/eventsource-parser/stream.js': ['eventsource-parser/stream', 'stream.js'],
  'vendor/eventsource-parser/parse.js': ['eventsource-parser/stream', 'parse.js'],
  'vendor/eventsource-parser/errors.js': ['eventsource-parser/stream', 'errors.js'],
} as const;

/** To be mounted at `/console`, in front of `authenticate`: the page asks for the key itself. Throws when a file is missing. */
export function createConsole(options: ConsoleOptions): Router {
  const router = express.Router();
  router.use(securePage, enterFolder);
  for (const [path, file] of loadFiles()) {
    router
      .route(`/${path}`)
      .get((_req, res) => sendFile(res, file))
      .all(methodNotAllowed('GET'));
  }
  router.route('/config.json').get(showConfig(options)).all(methodNotAllowed('GET'));
  return router;
}

/** The page names its files as its neighbours, so that it also works below a path of a proxy; so it must be seen as a folder. */
const enterFolder: RequestHandler = (req, res, next) => {
  if (req.originalUrl.split('?', 1)[0] === req.baseUrl) res.redirect(307, 'console/');
  else next();
};

/** Everything at once, since it is small. What a path does not name here cannot be reached, however the path is written. */
function loadFiles(): ReadonlyMap<string, StaticFile> {
  const files = new Map<string, StaticFile>();
  for (const name of readdirSync(FOLDER)) {
    const type = CONTENT_TYPES[extname(name)];
    if (type === undefined) continue;
    files.set(name === 'index.html' ? '' : name, readFile(new URL(name, FOLDER), type));
  }
  for (const [path, [module, name]] of Object.entries(VENDOR)) {
    files.set(path, readFile(new URL(name, import.meta.resolve(module)), CONTENT_TYPES[extname(name)] ?? ''));
  }
  return files;
}

function readFile(url: URL, type: string): StaticFile {
  const body = readFileSync(url);
  return { type, etag: etagOf(body), body };
}

/** The browser asks each time whether it still has the right file, so that an upgrade is never half seen. */
function sendFile(res: Response, { type, etag, body }: StaticFile): void {
  res.set({ 'content-type': type, 'cache-control': 'no-cache', etag }).send(body);
}

/** What the page has to know of this gateway before there is a key, so nothing secret. */
function showConfig({ authMode, demo, defaultModelId, publicBaseUrl }: ConsoleOptions): RequestHandler {
  const config = {
    version: packageJson.version,
    auth_mode: authMode,
    demo,
    default_model: defaultModelId,
    base_url: publicBaseUrl,
  };
  return (_req, res) => {
    res.set('cache-control', 'no-store').json(config);
  };
}

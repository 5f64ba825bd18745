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

const FOLDER = new URL('../../console/', import.meta.url);

const VENDOR = {
  'vendor/uplot.js': ['uplot', 'uPlot.esm.js'],
  'vendor/uplot.css': ['uplot', 'uPlot.min.css'],
  'vendor/eventsource-parser/stream.js': ['eventsource-parser/stream', 'stream.js'],
  'vendor/eventsource-parser/parse.js': ['eventsource-parser/stream', 'parse.js'],
  'vendor/eventsource-parser/errors.js': ['eventsource-parser/stream', 'errors.js'],
} as const;

/** Loaded once for all gateways of a process. */
let files: ReadonlyMap<string, StaticFile> | undefined;

/**
 * Must be mounted at `/console` before `authenticate`: the page asks for the key. Throws if a file
 * is missing.
 */
export function createConsole(options: ConsoleOptions): Router {
  const router = express.Router();
  router.use(securePage, enterFolder);
  files ??= loadFiles();
  for (const [path, file] of files) {
    router
      .route(`/${path}`)
      .get((_req, res) => sendFile(res, file))
      .all(methodNotAllowed('GET'));
  }
  router.route('/config.json').get(showConfig(options)).all(methodNotAllowed('GET'));
  return router;
}

/** The links of the page are relative, to work below a path of a proxy, and need the slash. */
const enterFolder: RequestHandler = (req, res, next) => {
  if (req.originalUrl.split('?', 1)[0] === req.baseUrl) res.redirect(307, 'console/');
  else next();
};

function loadFiles(): ReadonlyMap<string, StaticFile> {
  const found = new Map<string, StaticFile>();
  for (const name of readdirSync(FOLDER)) {
    const type = CONTENT_TYPES[extname(name)];
    if (type === undefined) continue;
    found.set(name === 'index.html' ? '' : name, readFile(new URL(name, FOLDER), type));
  }
  for (const [path, [module, name]] of Object.entries(VENDOR)) {
    found.set(path, readFile(new URL(name, import.meta.resolve(module)), CONTENT_TYPES[extname(name)] ?? ''));
  }
  return found;
}

function readFile(url: URL, type: string): StaticFile {
  const body = readFileSync(url);
  return { type, etag: etagOf(body), body };
}

/** The browser revalidates each file, so that files of two versions are never mixed. */
function sendFile(res: Response, { type, etag, body }: StaticFile): void {
  res.set({ 'content-type': type, 'cache-control': 'no-cache', etag }).send(body);
}

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

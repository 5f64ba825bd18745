import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto';
import type { Request, RequestHandler, Response } from 'express';
import { ApiError } from '../core/errors.ts';
import type { Identity } from '../store/store.ts';
import type { AuthMode } from '../types/contract.ts';
import { createFailureLimit, networkOf } from './failure-limit.ts';

/** Who asks, as the rest of the program knows it: never by the key itself. */
export interface Caller {
  readonly identity: Identity;
  /** What the backend gets to see: the caller's own key, or the gateway's. */
  readonly backendHeaders: Readonly<Record<string, string>>;
}

export interface AuthenticateOptions {
  readonly mode: AuthMode;
  /** The keys that are taken in `static` mode. */
  readonly apiKeys: readonly string[];
  /** The gateway's own key for the backend in `static` mode. */
  readonly upstreamApiKey: string | null;
  readonly toIdentity: (apiKey: string) => Identity;
  readonly nowMs: () => number;
}

const FAILURES_PER_MINUTE = 30;
const MAX_NETWORKS = 10_000;
const MAX_KNOWN_KEYS = 10_000;

const callers = new WeakMap<Response, Caller>();

/** The caller whom `authenticate` has let in. */
export function callerOf(res: Response): Caller {
  const caller = callers.get(res);
  if (caller === undefined) throw new Error('the route stands before authenticate');
  return caller;
}

/**
 * Lets in who has a bearer key; others get 401, and 429 when one address fails too often (contract, section 7). In
 * passthrough mode the backend is the judge of keys: its 401 is a failure too, and a key it has taken is not held up by
 * the failures of others behind the same address. A CORS preflight needs no key.
 */
export function authenticate(options: AuthenticateOptions): RequestHandler {
  const { nowMs, toIdentity } = options;
  const isListed = createKeyCheck(options.apiKeys);
  const failures = createFailureLimit({ perMinute: FAILURES_PER_MINUTE, maxNetworks: MAX_NETWORKS, nowMs });
  const taken = createKnownKeys(MAX_KNOWN_KEYS);

  const enter: {
    readonly [Mode in AuthenticateOptions['mode']]: (req: Request, res: Response, apiKey: string) => void;
  } = {
    static(req, res, apiKey) {
      if (!isListed(apiKey)) throw refuse(req, 'invalid_api_key');
      callers.set(res, { identity: toIdentity(apiKey), backendHeaders: bearerHeader(options.upstreamApiKey) });
    },
    passthrough(req, res, apiKey) {
      const identity = toIdentity(apiKey);
      const network = networkOf(req.ip ?? '');
      if (!taken.has(identity[0])) failures.check(network);
      callers.set(res, { identity, backendHeaders: { ...bearerHeader(apiKey), ...accountHeaders(req) } });
      res.once('close', () => {
        if (!res.headersSent) return;
        if (res.statusCode === 401) failures.count(network);
        if (res.statusCode === 401) taken.delete(identity[0]);
        // A GET may have been answered without the backend, and then nobody has judged the key.
        if (req.method === 'POST' && res.statusCode < 400) taken.add(identity[0]);
      });
    },
  };

  function refuse(req: Request, code: 'missing_api_key' | 'invalid_api_key'): ApiError {
    const network = networkOf(req.ip ?? '');
    failures.check(network);
    failures.count(network);
    const message = { message: 'Send your API key as "Authorization: Bearer <key>".' };
    return new ApiError(code, {
      ...(code === 'missing_api_key' && message),
      headers: { 'www-authenticate': 'Bearer' },
    });
  }

  return (req, res, next) => {
    if (req.method === 'OPTIONS') return next();
    const credentials = /^bearer(?: +|$)(.*)$/i.exec(req.headers.authorization?.trim() ?? '')?.[1];
    if (credentials === undefined || credentials === '') throw refuse(req, 'missing_api_key');
    if (!/^[\x21-\x7e]{1,4096}$/.test(credentials)) throw refuse(req, 'invalid_api_key');
    enter[options.mode](req, res, credentials);
    next();
  };
}

function bearerHeader(apiKey: string | null): Readonly<Record<string, string>> {
  return apiKey === null ? {} : { authorization: `Bearer ${apiKey}` };
}

/** Which of the accounts of a key is meant. Under the gateway's own key this is not for callers to say. */
function accountHeaders(req: Request): Readonly<Record<string, string>> {
  const headers: Record<string, string> = {};
  for (const name of ['openai-organization', 'openai-project']) {
    const value = req.headers[name];
    if (typeof value === 'string' && /^[\x21-\x7e]{1,256}$/.test(value)) headers[name] = value;
  }
  return headers;
}

interface KnownKeys {
  has(key: string): boolean;
  add(key: string): void;
  delete(key: string): void;
}

/** The keys (as identities) which were taken last. Who is forgotten is asked like a stranger once more. */
function createKnownKeys(max: number): KnownKeys {
  const keys = new Set<string>();
  return {
    has: (key) => keys.has(key),
    add(key) {
      keys.delete(key);
      keys.add(key);
      const [oldest] = keys;
      if (keys.size > max && oldest !== undefined) keys.delete(oldest);
    },
    delete: (key) => void keys.delete(key),
  };
}

/** Compares digests and looks at every key, so that the time tells nothing. */
function createKeyCheck(apiKeys: readonly string[]): (apiKey: string) => boolean {
  const secret = randomBytes(32);
  const digest = (text: string): Buffer => createHmac('sha256', secret).update(text).digest();
  const listed = apiKeys.map(digest);
  return (apiKey) => {
    const presented = digest(apiKey);
    return listed.reduce((found, key) => timingSafeEqual(key, presented) || found, false);
  };
}

import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto';
import type { Request, RequestHandler, Response } from 'express';
import { ApiError } from '../core/errors.ts';
import type { Identity } from '../store/store.ts';
import { createFailureLimit } from './failure-limit.ts';

/** Who asks, as the rest of the program knows it: never by the key itself. */
export interface Caller {
  readonly identity: Identity;
  /** What the backend gets to see: the caller's own key, or the gateway's. */
  readonly backendHeaders: Readonly<Record<string, string>>;
}

export interface AuthenticateOptions {
  readonly mode: 'passthrough' | 'static';
  /** The keys that are taken in `static` mode. */
  readonly apiKeys: readonly string[];
  /** The gateway's own key for the backend in `static` mode. */
  readonly upstreamApiKey: string | null;
  readonly toIdentity: (apiKey: string) => Identity;
  readonly nowMs: () => number;
}

const callers = new WeakMap<Response, Caller>();

/** The caller whom `authenticate` has let in. */
export function callerOf(res: Response): Caller {
  const caller = callers.get(res);
  if (caller === undefined) throw new Error('the route stands before authenticate');
  return caller;
}

/** Lets in who has a bearer key; others get 401, and 429 when one address fails too often (contract, section 7). */
export function authenticate(options: AuthenticateOptions): RequestHandler {
  const isKnown = createKeyCheck(options.apiKeys);
  const failures = createFailureLimit({ perMinute: 60, maxAddresses: 10_000, nowMs: options.nowMs });

  return (req, res, next) => {
    const address = req.ip ?? '';
    failures.check(address);
    const apiKey = readBearer(req);
    if (apiKey === undefined || (options.mode === 'static' && !isKnown(apiKey))) {
      failures.count(address);
      throw refusal(apiKey);
    }
    callers.set(res, {
      identity: options.toIdentity(apiKey),
      backendHeaders: bearerHeader(options.mode === 'passthrough' ? apiKey : options.upstreamApiKey),
    });
    next();
  };
}

/** Undefined when there is no `Authorization: Bearer` with a key of visible ASCII. */
function readBearer(req: Request): string | undefined {
  const match = /^Bearer +([\x21-\x7e]{1,4096}) *$/i.exec(req.headers.authorization ?? '');
  return match?.[1];
}

function refusal(apiKey: string | undefined): ApiError {
  const headers = { 'www-authenticate': 'Bearer', 'x-should-retry': 'false' };
  if (apiKey !== undefined) return new ApiError('invalid_api_key', { headers });
  return new ApiError('missing_api_key', { headers, message: 'Send your API key as "Authorization: Bearer <key>".' });
}

function bearerHeader(apiKey: string | null): Readonly<Record<string, string>> {
  return apiKey === null ? {} : { authorization: `Bearer ${apiKey}` };
}

/** Compares digests and looks at every key, so that the time tells nothing. */
function createKeyCheck(apiKeys: readonly string[]): (apiKey: string) => boolean {
  const secret = randomBytes(32);
  const digest = (text: string): Buffer => createHmac('sha256', secret).update(text).digest();
  const known = apiKeys.map(digest);
  return (apiKey) => {
    const presented = digest(apiKey);
    return known.reduce((found, key) => timingSafeEqual(key, presented) || found, false);
  };
}

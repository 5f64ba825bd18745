import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto';
import type { Request, RequestHandler, Response } from 'express';
import { ApiError } from '../../core/errors.ts';
import { faultOf, isSecret } from '../../accounts/keys.ts';
import type { Identities } from '../../identity.ts';
import type { AccountStore, StoredKey } from '../../store/accounts.ts';
import type { Identity } from '../../store/store.ts';
import type { AuthMode } from '../../types/contract.ts';
import { createFailureLimit, networkOf } from './failure-limit.ts';
import { factsOf } from '../telemetry/request-facts.ts';
import { createTurns } from '../body/take-turns.ts';

/** Who asks, as the rest of the program knows it: never by the key itself. */
export interface Caller {
  readonly identity: Identity;
  /** As it was when the request came in; absent where the gateway issues no keys. */
  readonly key?: StoredKey;
  /** What the backend gets to see: the caller's own key, or the gateway's. */
  readonly backendHeaders: Readonly<Record<string, string>>;
}

export interface AuthenticateOptions {
  readonly mode: AuthMode;
  /** The keys that are taken in `static` mode. */
  readonly apiKeys: readonly string[];
  /** The keys that are taken in `managed` mode. */
  readonly accounts: Pick<AccountStore, 'findKeyByHash'>;
  /** The gateway's own key for the backend, where the backend does not see the caller's. */
  readonly upstreamApiKey: string | null;
  readonly identities: Pick<Identities, 'caller' | 'keySecret' | 'keyHolder'>;
  readonly nowMs: () => number;
}

const FAILURES_PER_MINUTE = 30;
const MAX_NETWORKS = 10_000;
const MAX_KNOWN_KEYS = 10_000;
/** How many keys that were never taken are looked for at a time: the others of a burst wait to see how these fail. */
const STRANGERS_AT_ONCE = 16;

const callers = new WeakMap<Response, Caller>();

/** The caller whom `authenticate` has let in. */
export function callerOf(res: Response): Caller {
  const caller = callers.get(res);
  if (caller === undefined) throw new Error('the route stands before authenticate');
  return caller;
}

/**
 * Lets in who has a bearer key; others get 401, and 429 when one address fails too often (contract, section 7). In
 * passthrough mode the backend is the judge of keys, and its 401 is a failure too. A key which was taken before is not held
 * up by the failures of others behind the same address, where it costs something to find out whether a key is good. A CORS
 * preflight needs no key.
 */
export function authenticate(options: AuthenticateOptions): RequestHandler {
  const { nowMs, identities } = options;
  const isListed = createKeyCheck(options.apiKeys);
  const failures = createFailureLimit({ perMinute: FAILURES_PER_MINUTE, maxNetworks: MAX_NETWORKS, nowMs });
  const taken = createKnownKeys(MAX_KNOWN_KEYS);
  const takeTurn = createTurns(STRANGERS_AT_ONCE);

  const ownHeaders = bearerHeader(options.upstreamApiKey);

  const enter: {
    readonly [Mode in AuthenticateOptions['mode']]: (
      ...request: readonly [req: Request, res: Response, apiKey: string]
    ) => Promise<void> | void;
  } = {
    static(req, res, apiKey) {
      if (!isListed(apiKey)) throw refuse(req, 'invalid_api_key');
      callers.set(res, { identity: identities.caller(apiKey), backendHeaders: ownHeaders });
    },
    async managed(req, res, apiKey) {
      if (!isSecret(apiKey)) throw refuse(req, 'invalid_api_key');
      const hash = identities.keySecret(apiKey);
      const key = await (taken.has(hash[0]) ? findKey(req, hash) : takeTurn(() => findKeyOfStranger(req, hash)));
      callers.set(res, { identity: identities.keyHolder(key.keyId), backendHeaders: ownHeaders, key });
    },
    passthrough(req, res, apiKey) {
      const identity = identities.caller(apiKey);
      const isTaken = taken.has(identity[0]);
      // Of a stranger it is found out now: the address of a connection is not known any more when it is closed.
      const network = isTaken ? undefined : networkOf(req.ip ?? '');
      if (network !== undefined) failures.check(network);
      callers.set(res, { identity, backendHeaders: { ...bearerHeader(apiKey), ...accountHeaders(req) } });
      res.once('close', () => {
        if (!res.headersSent) return;
        if (res.statusCode === 401) failures.count(network ?? networkOf(req.ip ?? ''));
        if (res.statusCode === 401) taken.delete(identity[0]);
        // A GET may have been answered without the backend, and then nobody has judged the key.
        if (req.method === 'POST' && res.statusCode < 400) taken.add(identity[0]);
      });
    },
  };

  /** Who guesses keys is not to keep the store busy with them. */
  async function findKeyOfStranger(req: Request, hash: Identity): Promise<StoredKey> {
    failures.check(networkOf(req.ip ?? ''));
    return findKey(req, hash);
  }

  async function findKey(req: Request, hash: Identity): Promise<StoredKey> {
    const key = await options.accounts.findKeyByHash(hash);
    const fault = key && faultOf(key, nowMs());
    if (key !== undefined && fault === undefined) {
      taken.add(hash[0]);
      return key;
    }
    taken.delete(hash[0]);
    throw refuse(req, 'invalid_api_key', fault);
  }

  function refuse(req: Request, code: 'missing_api_key' | 'invalid_api_key', message?: string): ApiError {
    const network = networkOf(req.ip ?? '');
    failures.check(network);
    failures.count(network);
    return new ApiError(code, {
      ...(message !== undefined && { message }),
      headers: { 'www-authenticate': 'Bearer' },
    });
  }

  return async (req, res, next) => {
    if (req.method === 'OPTIONS') return next();
    refuseTwoKeys(req);
    const credentials = /^bearer(?: +|$)(.*)$/i.exec(req.headers.authorization?.trim() ?? '')?.[1];
    if (credentials === undefined || credentials === '') throw refuse(req, 'missing_api_key', HOW_TO_SEND);
    if (!/^[\x21-\x7e]{1,4096}$/.test(credentials)) throw refuse(req, 'invalid_api_key');
    const entered = enter[options.mode](req, res, credentials);
    if (entered !== undefined) await entered;
    factsOf(res).keyPrefix = callerOf(res).key?.prefix;
    next();
  };
}

/** Node takes the first of them, and a proxy in front may have looked at another. */
function refuseTwoKeys({ rawHeaders }: Request): void {
  let first: string | undefined;
  for (let at = 0; at < rawHeaders.length; at += 2) {
    const name = rawHeaders[at] ?? '';
    if (name.length !== 'authorization'.length || name.toLowerCase() !== 'authorization') continue;
    const value = rawHeaders[at + 1];
    first ??= value;
    if (value !== first) throw new ApiError('invalid_request', { param: 'Authorization', message: TWO_KEYS });
  }
}

const TWO_KEYS = 'There must be one Authorization header, but there are two which differ.';
const HOW_TO_SEND = 'Send your API key as "Authorization: Bearer <key>".';

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
      if (keys.size <= max) return;
      const [oldest] = keys;
      if (oldest !== undefined) keys.delete(oldest);
    },
    delete: (key) => void keys.delete(key),
  };
}

/** Compares digests and looks at every key, so that the time tells nothing. */
export function createKeyCheck(apiKeys: readonly string[]): (apiKey: string) => boolean {
  const secret = randomBytes(32);
  const digest = (text: string): Buffer => createHmac('sha256', secret).update(text).digest();
  const listed = apiKeys.map(digest);
  return (apiKey) => {
    const presented = digest(apiKey);
    return listed.reduce((found, key) => timingSafeEqual(key, presented) || found, false);
  };
}

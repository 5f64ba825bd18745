import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';
import type { RequestHandler, Response } from 'express';
import { ApiError } from '../core/errors.ts';
import { faultOf, isSecret } from '../accounts/keys.ts';
import type { Identity } from '../core/ids.ts';
import type { Identities } from '../identity/identities.ts';
import type { AccountStore, StoredKey } from '../core/books/keys.ts';
import type { AuthMode } from '../contract/settings-types.ts';
import type { AcceptedCallers } from '../accounts/accepted-callers.ts';
import { noteCaller, type RequestFacts } from '../telemetry/facts.ts';
import type { Caller, Holder } from '../accounts/caller.ts';
import { createFailureLimit, networkOf } from './failure-limit.ts';
import { factsOf } from '../telemetry/reply-facts.ts';
import { lazily } from '../core/lazily.ts';
import { limitConcurrency } from '../core/limit-concurrency.ts';
import { onceServed } from '../wire/until-served.ts';

export interface AuthenticateOptions {
  readonly authMode: AuthMode;
  readonly apiKeys: readonly string[];
  /** Calls the listener with each list that takes the place of this one. */
  readonly onNewKeys?: (listener: (apiKeys: readonly string[] | null) => void) => void;
  /** What is said of a key that `apiKeys` does not have, where it is not an API key. */
  readonly wrongKey?: string;
  readonly accounts: Pick<AccountStore, 'findKeyByHash'>;
  /** Keys that the backend has accepted. */
  readonly acceptedCallers: AcceptedCallers;
  readonly identities: Pick<Identities, 'caller' | 'keySecret' | 'keyMark' | 'keyHolder'>;
  readonly nowMs: () => number;
}

const FAILURES_PER_MINUTE = 30;
const MAX_NETWORKS = 10_000;
const MAX_KNOWN_KEYS = 10_000;
/** A shorter key can be guessed. */
const SAFE_LENGTH = 16;
/** Limits parallel lookups of unknown keys; the others of a burst wait, and fail by the limit. */
const STRANGERS_AT_ONCE = 16;

export interface Credentials {
  readonly headers: IncomingHttpHeaders;
  readonly rawHeaders: readonly string[];
  /** Trusted proxies are resolved; absent if the connection is closed. */
  readonly ip?: string | undefined;
}

export interface Authenticated {
  readonly caller: Caller;
  /** Must be called when the reply is over. */
  readonly noteReply?: (reply: Replied) => void;
}

export interface Replied {
  /** Is 499 if the client left before. */
  readonly status: number;
  readonly backend: RequestFacts['backend'];
}

/** Returns the caller of a valid key. Throws ApiError 401, or 429 after too many failures. */
export type Authenticator = (credentials: Credentials) => Promise<Authenticated> | Authenticated;

/**
 * Creates the authenticator of all requests. In passthrough mode a 401 of the backend counts as a
 * failure, and so does every other failure of a key that was never accepted. Keys that were
 * accepted, and issued keys, do not suffer from other callers of their address.
 */
export function createAuthenticator(options: AuthenticateOptions): Authenticator {
  const { nowMs, identities, acceptedCallers } = options;
  let isListed = createKeyCheck(options.apiKeys);
  options.onNewKeys?.((apiKeys) => {
    isListed = createKeyCheck(apiKeys ?? []);
  });
  const failures = createFailureLimit({ perMinute: FAILURES_PER_MINUTE, maxNetworks: MAX_NETWORKS, nowMs });
  const taken = createKnownKeys(MAX_KNOWN_KEYS);
  const takeTurn = limitConcurrency(STRANGERS_AT_ONCE);

  const enter: {
    readonly [Mode in AuthenticateOptions['authMode']]: (
      ...given: readonly [credentials: Credentials, apiKey: string]
    ) => Promise<Authenticated> | Authenticated;
  } = {
    static(credentials, apiKey) {
      if (!isListed(apiKey)) throw refuse(credentials, 'invalid_api_key', options.wrongKey);
      const identity = identities.caller(apiKey);
      if (apiKey.length < SAFE_LENGTH) checkShort(identity, networkOf(credentials.ip ?? ''));
      return { caller: { identity, backendHeaders: {}, holder: holderOf(identity) } };
    },
    async managed(credentials, apiKey) {
      if (!isSecret(apiKey)) throw refuse(credentials, 'invalid_api_key');
      const hash = identities.keySecret(apiKey);
      const key = await (taken.has(hash[0]) ? findKey(credentials, hash) : takeTurn(() => findKey(credentials, hash)));
      const identity = identities.keyHolder(key.keyId);
      return { caller: { identity, backendHeaders: {}, key, holder: holderOf(identity) } };
    },
    passthrough(credentials, apiKey) {
      const identity = identities.caller(apiKey);
      const accepted = holderOf(identity);
      // The address is read now, because a closed connection has none.
      const { ip = '' } = credentials;
      const network = lazily(() => networkOf(ip));
      const stranger = lazily((): Holder => ({ name: `network ${network()}`, isStranger: true }));
      if (!acceptedCallers.has(identity)) failures.check(network());
      return {
        caller: {
          identity,
          backendHeaders: { authorization: `Bearer ${apiKey}`, ...accountHeaders(credentials) },
          holder: () => (acceptedCallers.has(identity) ? accepted() : stranger()),
          noteAccepted: () => acceptedCallers.add(identity),
        },
        noteReply({ status, backend }) {
          if (status === 401) acceptedCallers.delete(identity);
          if (isFailure(status, backend) && !acceptedCallers.has(identity)) failures.count(network());
        },
      };
    },
  };

  /** Whoever guesses must not learn at once which guess is right, also of a key that others use. */
  function checkShort([name]: Identity, network: string): void {
    const seen = `${name} ${network}`;
    if (!taken.has(seen)) failures.check(network);
    taken.add(seen);
  }

  async function findKey(credentials: Credentials, hash: Identity): Promise<StoredKey> {
    const key = await options.accounts.findKeyByHash(hash, options.identities.keyMark);
    const fault = key && faultOf(key, nowMs());
    if (key !== undefined && fault === undefined) {
      taken.add(hash[0]);
      return key;
    }
    taken.delete(hash[0]);
    throw refuse(credentials, 'invalid_api_key', fault);
  }

  function refuse(credentials: Credentials, code: 'missing_api_key' | 'invalid_api_key', message?: string): ApiError {
    const network = networkOf(credentials.ip ?? '');
    failures.check(network);
    failures.count(network);
    return new ApiError(code, {
      ...(message !== undefined && { message }),
      headers: { 'www-authenticate': 'Bearer' },
    });
  }

  return (credentials) => {
    refuseTwoKeys(credentials);
    const bearer = /^bearer(?: +|$)(.*)$/i.exec(credentials.headers.authorization?.trim() ?? '')?.[1];
    if (bearer === undefined || bearer === '') throw refuse(credentials, 'missing_api_key', HOW_TO_SEND);
    if (!/^[\x21-\x7e]{1,4096}$/.test(bearer)) throw refuse(credentials, 'invalid_api_key');
    return enter[options.authMode](credentials, bearer);
  };
}

/** Is stored on the reply, for the reason in telemetry/reply-facts.ts. */
const CALLER = Symbol('caller');
type Reply = Response & { [CALLER]?: Caller };

/** Returns the caller. Throws if `authenticate` has not run before. */
export function callerOf(res: Reply): Caller {
  const caller = res[CALLER];
  if (caller === undefined) throw new Error('the route stands before authenticate');
  return caller;
}

/** Returns a middleware that identifies the caller. A preflight passes without a key. */
export function authenticate(authenticator: Authenticator): RequestHandler {
  return (req, res: Reply, next) => {
    if (req.method === 'OPTIONS') return next();
    const entering = authenticator(req);
    return entering instanceof Promise ? entering.then(enter) : enter(entering);

    function enter({ caller, noteReply }: Authenticated): void {
      res[CALLER] = caller;
      const facts = factsOf(res);
      noteCaller(facts, caller);
      if (noteReply !== undefined) {
        onceServed(res, () => {
          const status = res.headersSent ? res.statusCode : 499;
          noteReply({ status, backend: facts.backend });
        });
      }
      next();
    }
  };
}

function holderOf([name]: Identity): Caller['holder'] {
  const holder = { name, isStranger: false };
  return () => holder;
}

/** What the gateway cannot serve now is no failure of the caller. */
function isFailure(status: number, backend: RequestFacts['backend']): boolean {
  return status >= 400 && (backend !== 'not asked' || (status < 500 && status !== 429));
}

/** Node uses the first header, and a proxy in front may have used another. */
function refuseTwoKeys({ rawHeaders }: Credentials): void {
  let first: string | undefined;
  for (let at = 0; at < rawHeaders.length; at += 2) {
    const name = rawHeaders[at] ?? '';
    if (name.length !== 'authorization'.length || name.toLowerCase() !== 'authorization') continue;
    const value = rawHeaders[at + 1];
    first ??= value;
    if (value !== first) throw new ApiError('invalid_request', { param: 'Authorization', message: TWO_KEYS });
  }
}

const TWO_KEYS = 'The request has two different Authorization headers; send one.';
const HOW_TO_SEND = 'Send your API key as "Authorization: Bearer <key>".';

/** These choose an account of the caller's key, so they do not go with the gateway's own key. */
function accountHeaders({ headers: sent }: Credentials): Readonly<Record<string, string>> {
  const headers: Record<string, string> = {};
  for (const name of ['openai-organization', 'openai-project']) {
    const value = sent[name];
    if (typeof value === 'string' && /^[\x21-\x7e]{1,256}$/.test(value)) headers[name] = value;
  }
  return headers;
}

interface KnownKeys {
  has(key: string): boolean;
  add(key: string): void;
  delete(key: string): void;
}

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

/** Compares digests, and always all of them, so that the time reveals nothing. */
export function createKeyCheck(apiKeys: readonly string[]): (apiKey: string) => boolean {
  const secret = randomBytes(32);
  const digest = (text: string): Buffer => createHmac('sha256', secret).update(text).digest();
  const listed = apiKeys.map(digest);
  return (apiKey) => {
    const presented = digest(apiKey);
    return listed.reduce((found, key) => timingSafeEqual(key, presented) || found, false);
  };
}

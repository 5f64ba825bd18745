/** Who asks, and what, known only by HMAC: nothing that is stored can be turned back into a key or a body. */
import { createHash, createHmac, hash } from 'node:crypto';
import type { KeyId } from '../contract/ids.ts';
import type { RecordedEndpoint } from '../core/ids.ts';

/**
 * Something known only by its HMAC: a caller's key, a body, an idempotency key. The first is made with `GATEWAY_SECRET`
 * and is what gets stored; the others, with `GATEWAY_SECRET_PREVIOUS`, are looked for as well. All identities of one
 * request are made of the same secrets in the same order.
 */
export type Identity = readonly [current: string, ...previous: string[]];

export interface Identities {
  /** The caller whom an API key stands for. */
  readonly caller: (apiKey: string) => Identity;
  /** The secret of a key which the gateway has issued. */
  readonly keySecret: (text: string) => Identity;
  /** The caller whom such a key stands for: the same one under every secret, of the key and of the gateway. */
  readonly keyHolder: (keyId: KeyId) => Identity;
  /** An idempotency key. Each caller has its own. */
  readonly idempotencyKey: (caller: Identity, key: string) => Identity;
  /** The exact bytes of a body. Equal bodies of two callers, or for two endpoints, do not look alike. */
  readonly body: (caller: Identity, bytes: Uint8Array, endpoint: RecordedEndpoint) => Identity;
}

/** Makes the identities that these secrets give; the previous one is only looked for, never stored. */
export function createIdentities(secret: string, previousSecret: string | null): Identities {
  const secrets = toSecrets(secret, previousSecret);
  return {
    caller: rememberLast((apiKey) => each(secrets, (secret) => sign(secret, 'caller', '', apiKey))),
    keySecret: rememberLast((text) => each(secrets, (secret) => sign(secret, 'key-secret', '', text))),
    keyHolder: (keyId) => each(secrets, () => keyId),
    idempotencyKey: (caller, key) =>
      each(secrets, (secret, index) => sign(secret, 'idempotency-key', caller[index] ?? '', key)),
    body(caller, bytes, endpoint) {
      // Bodies are large: they are read once, whatever the number of secrets.
      const digest = createHash('sha256').update(bytes).digest();
      return each(secrets, (secret, index) => sign(secret, BODY_OF[endpoint], caller[index] ?? '', digest));
    },
  };
}

/** What these secrets mark a database with, so that it knows which secret it belongs to. */
export function createMark(secret: string, previousSecret: string | null): Identity {
  return each(toSecrets(secret, previousSecret), (secret) => sign(secret, 'database', '', ''));
}

function toSecrets(secret: string, previousSecret: string | null): Identity {
  return previousSecret === null ? [secret] : [secret, previousSecret];
}

/** What asks for a response asks for a compaction as well. A body for chat completions is one for nothing else. */
const BODY_OF: { readonly [Endpoint in RecordedEndpoint]: string } = {
  responses: 'body',
  'chat.completions': 'body',
  'responses.compact': 'body-to-compact',
};

/** Of keys, which come again with every request. */
const MAX_REMEMBERED = 10_000;

/**
 * The same function, which knows its last results by a digest of what they were made of: a digest costs a fifth of an HMAC,
 * and no key stays in memory for its sake.
 */
function rememberLast(make: (text: string) => Identity): (text: string) => Identity {
  const made = new Map<string, Identity>();
  return (text) => {
    const digest = hash('sha256', text, 'base64');
    const known = made.get(digest);
    if (known !== undefined) return known;
    const identity = make(text);
    const oldest = made.size < MAX_REMEMBERED ? undefined : made.keys().next().value;
    if (oldest !== undefined) made.delete(oldest);
    made.set(digest, identity);
    return identity;
  };
}

function each([first, ...others]: Identity, make: (secret: string, index: number) => string): Identity {
  return [make(first, 0), ...others.map((secret, index) => make(secret, index + 1))];
}

/** 132 of the 256 bits. RFC 2104 allows to keep half, and the indexes of the store are a third smaller. */
const LENGTH = 22;

/** `purpose` keeps what one function makes from meaning anything to another. Callers are of one length, so nothing blends. */
function sign(secret: string, purpose: string, caller: string, text: string | Uint8Array): string {
  const hmac = createHmac('sha256', secret).update(`${purpose}\0${caller}\0`).update(text).digest('base64url');
  return hmac.slice(0, LENGTH);
}

/** The store knows callers and bodies only by HMAC, which nothing converts back. */
import { createHmac, hash } from 'node:crypto';
import type { KeyId } from '../contract/ids.ts';
import type { Identity, RecordedEndpoint } from '../core/ids.ts';
import { setLast } from '../core/set-last.ts';

export interface Identities {
  readonly caller: (apiKey: string) => Identity;
  readonly keySecret: (text: string) => Identity;
  /** The mark of the secret by which keys are stored. */
  readonly keyMark: string;
  /** Returns the caller of an issued key, which is the same under every secret. */
  readonly keyHolder: (keyId: KeyId) => Identity;
  readonly idempotencyKey: (caller: Identity, key: string) => Identity;
  /** Hashes the exact bytes. Equal bodies of two callers, or of two endpoints, differ. */
  readonly body: (caller: Identity, bytes: Uint8Array, endpoint: RecordedEndpoint, digest?: Uint8Array) => Identity;
}

export function createIdentities(secret: string, previousSecret: string | null): Identities {
  const secrets = toSecrets(secret, previousSecret);
  return {
    caller: rememberLast((apiKey) => each(secrets, (secret) => sign(secret, 'caller', '', apiKey))),
    keySecret: rememberLast((text) => each(secrets, (secret) => sign(secret, 'key-secret', '', text))),
    keyMark: createMark(secret, null)[0],
    keyHolder: (keyId) => each(secrets, () => keyId),
    idempotencyKey: (caller, key) =>
      each(secrets, (secret, index) => sign(secret, 'idempotency-key', caller[index] ?? '', key)),
    body: (caller, bytes, endpoint, digest = digestOf(bytes)) =>
      each(secrets, (secret, index) => sign(secret, BODY_OF[endpoint], caller[index] ?? '', digest)),
  };
}

/** Returns the SHA-256, such as that of a body, from which its identity is made. */
export function digestOf(bytes: Uint8Array | string): Uint8Array {
  return hash('sha256', bytes, 'buffer');
}

export function createMark(secret: string, previousSecret: string | null): Identity {
  return each(toSecrets(secret, previousSecret), (secret) => sign(secret, 'database', '', ''));
}

function toSecrets(secret: string, previousSecret: string | null): Identity {
  return previousSecret === null ? [secret] : [secret, previousSecret];
}

/** A compaction has its own purpose, because its body could be that of a response. */
const BODY_OF: { readonly [Endpoint in RecordedEndpoint]: string } = {
  responses: 'body',
  'chat.completions': 'body',
  'responses.compact': 'body-to-compact',
};

const MAX_REMEMBERED = 10_000;

/** A digest costs a fifth of an HMAC, and no key stays in memory. */
function rememberLast(make: (text: string) => Identity): (text: string) => Identity {
  const made = new Map<string, Identity>();
  return (text) => {
    const digest = hash('sha256', text, 'base64');
    const known = made.get(digest);
    if (known !== undefined) return known;
    const identity = make(text);
    setLast(made, digest, identity, MAX_REMEMBERED);
    return identity;
  };
}

function each([first, ...others]: Identity, make: (secret: string, index: number) => string): Identity {
  return [make(first, 0), ...others.map((secret, index) => make(secret, index + 1))];
}

/** 132 of the 256 bits. RFC 2104 allows half of them, and the indexes of the store are smaller. */
const LENGTH = 22;

/** Callers have one length, so that the caller and the text cannot overlap. */
function sign(secret: string, purpose: string, caller: string, text: string | Uint8Array): string {
  const hmac = createHmac('sha256', secret).update(`${purpose}\0${caller}\0`).update(text).digest('base64url');
  return hmac.slice(0, LENGTH);
}

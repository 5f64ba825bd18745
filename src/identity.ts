/** Who asks, and what, known only by HMAC: nothing that is stored can be turned back into a key or a body. */
import { createHash, createHmac, hash, randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { KeyId } from './core/ids.ts';
import { locateDatabase } from './store/database-url.ts';
import { isNodeError, makePrivateFolder, writePrivateFile } from './store/private-files.ts';
import { StoreOpenError, type Identity, type RecordedEndpoint } from './store/store.ts';

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
  const secrets: Identity = previousSecret === null ? [secret] : [secret, previousSecret];
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

export interface SecretSource {
  readonly databaseUrl: string;
  /** `GATEWAY_SECRET`, where it is set. */
  readonly secret: string | null;
}

/**
 * The secret which all identities are made with: the one that is set, else the one which lies beside the database, where the
 * first start leaves it. A database in memory gets a new one, since none of its records outlives the process. Throws
 * StoreOpenError when the file can be neither read nor made.
 */
export function loadSecret({ databaseUrl, secret }: SecretSource): string {
  if (secret !== null) return secret;
  const location = locateDatabase(databaseUrl);
  if (location.kind === 'memory') return newSecret();
  // Gateways that share a database must share the secret, which lies beside none of them.
  if (location.kind === 'postgres')
    throw new StoreOpenError('GATEWAY_SECRET must be set with DATABASE_URL=postgres://.');
  const file = toSecretFile(location.path);
  return explaining(file, () => {
    makePrivateFolder(dirname(file));
    return readSecret(file) ?? makeSecret(file);
  });
}

/** The secret that lies beside the database in this file; undefined when there is none. Throws StoreOpenError. */
export function findSecretFile(databaseFile: string): { readonly path: string; readonly secret: string } | undefined {
  const path = toSecretFile(databaseFile);
  const secret = explaining(path, () => readSecret(path));
  return secret === undefined ? undefined : { path, secret };
}

function toSecretFile(databaseFile: string): string {
  return join(dirname(databaseFile), 'gateway.secret');
}

function explaining<Result>(file: string, use: () => Result): Result {
  try {
    return use();
  } catch (error) {
    if (error instanceof StoreOpenError) throw error;
    const why = error instanceof Error ? error.message : 'unknown reason';
    throw new StoreOpenError(`The secret ${file} cannot be read or made: ${why}.`, { cause: error });
  }
}

/** Undefined when there is no such file. */
function readSecret(file: string): string | undefined {
  let text: string;
  try {
    text = readFileSync(file, 'utf8').trim();
  } catch (error) {
    if (isNodeError(error, 'ENOENT')) return undefined;
    throw error;
  }
  // A damaged secret would silently be another one, under which no record and no seal is found again.
  if (!/^[\w-]{43}$/.test(text)) {
    throw new StoreOpenError(`The secret ${file} is damaged; restore it, or remove it to begin with a new one.`);
  }
  return text;
}

function makeSecret(file: string): string {
  const made = newSecret();
  if (writePrivateFile(file, `${made}\n`)) return made;
  // Another process, which started at the same moment, was first.
  return readSecret(file) ?? made;
}

function newSecret(): string {
  return randomBytes(32).toString('base64url');
}

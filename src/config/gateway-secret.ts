import { randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { COMMAND_LINE } from './banner.ts';
import { messageOf } from '../core/errors.ts';
import { ConfigError, type Config } from './config.ts';
import { createMark } from '../identity/identities.ts';
import { locateDatabase, nameDatabase, type SharedDatabase } from '../store/database-url.ts';
import { isNodeError, makePrivateFolder, writePrivateFile } from '../store/private-files.ts';
import type { Marking } from '../store/marking.ts';
import { changeMark, readMarking } from '../store/secret-mark.ts';
import { StoreOpenError, type Store } from '../core/books/store.ts';

export type SecretSettings = Pick<Config, 'databaseUrl' | 'gatewaySecret' | 'gatewaySecretPrevious'>;

/**
 * Takes the secret as `takeSecret` does while a store opens, or loads it when another process has
 * compared it with the database. Closes the store when that throws.
 */
export async function openWithSecret<Opened extends Store | undefined>(
  settings: SecretSettings,
  opening: Promise<Opened>,
  { isCompared = false }: { readonly isCompared?: boolean } = {},
): Promise<{ readonly store: Opened; readonly secret: string }> {
  const store = await opening;
  try {
    return { store, secret: isCompared ? loadSecret(settings) : await takeSecret(settings) };
  } catch (error) {
    await store?.close();
    throw error;
  }
}

/**
 * Returns the secret for a process that writes, and marks the database with it. Throws
 * StoreOpenError, and ConfigError when the database has the mark of another secret.
 */
export async function takeSecret(settings: SecretSettings): Promise<string> {
  const database = locateDatabase(settings.databaseUrl);
  if (database.kind === 'memory') return loadSecret(settings);
  const marking = await readMarking(database);
  const found = findFittingSecret(settings, database, marking);
  // The data was made with the missing secret, so a new one would not help.
  if (found === undefined && !marking.isEmpty) throw toRefusal(settings, database);
  const secret = found ?? loadSecret(settings);
  const marks = createMark(secret, settings.gatewaySecretPrevious);
  if (settings.gatewaySecretPrevious === null && marking.keysOfPrevious.length > 0) {
    throw toLossRefusal(marking.keysOfPrevious);
  }
  if (marking.mark === marks[0]) return secret;
  const mark = await changeMark(database, { from: marking.mark, to: marks[0] });
  // Another process, which started at the same moment, was first.
  if (!isMarkOf(marks, mark)) throw toRefusal(settings, database);
  return secret;
}

/**
 * Returns the secret of the settings or of the file next to the database; undefined when there is
 * neither and no mark. Throws as `takeSecret` does.
 */
export function findFittingSecret(
  settings: SecretSettings,
  database: SharedDatabase,
  { mark }: Marking,
): string | undefined {
  const secret = findSecret(settings, database);
  const marks = secret === undefined ? [] : createMark(secret, settings.gatewaySecretPrevious);
  if (mark !== undefined && !isMarkOf(marks, mark)) throw toRefusal(settings, database);
  return secret;
}

/** Returns an error that says what is wrong with the secret of this database, and the ways out. */
export function toRefusal(settings: SecretSettings, database: SharedDatabase): ConfigError {
  const its = `the secret by which the database ${nameDatabase(database)} knows its keys and records`;
  return new ConfigError([
    `GATEWAY_SECRET: ${describeMisfit(settings, database, its)}; set it to that one, or run \`${COMMAND_LINE} db accept-` +
      'secret` to go on without, which says what is lost',
  ]);
}

const MAX_NAMED = 10;

function toLossRefusal(names: readonly string[]): ConfigError {
  const named = names.slice(0, MAX_NAMED).join(', ');
  const more = names.length > MAX_NAMED ? ` and ${names.length - MAX_NAMED} more` : '';
  const [keys, were, them] =
    names.length === 1 ? ['1 key is', 'it was', 'it'] : [`${names.length} keys are`, 'they were', 'them'];
  return new ConfigError([
    `GATEWAY_SECRET_PREVIOUS: is not set, and ${keys} known by the former secret alone (${named}${more}); set it until ${were} used, ` +
      `give ${them} a new secret with \`${COMMAND_LINE} keys rotate\`, delete ${them}, or run \`${COMMAND_LINE} db accept-secret\` to go on without`,
  ]);
}

function describeMisfit(settings: SecretSettings, database: SharedDatabase, its: string): string {
  const { gatewaySecret, gatewaySecretPrevious } = settings;
  if (gatewaySecret !== null || database.kind !== 'file') {
    return `is not ${its}${gatewaySecretPrevious === null ? '' : ', and GATEWAY_SECRET_PREVIOUS is not either'}`;
  }
  const file = toSecretFile(database.path);
  return findSecretFile(database.path) === undefined
    ? `is not set, and there is no ${file} with ${its}`
    : `is not set, and ${file} does not hold ${its}`;
}

function isMarkOf(marks: readonly string[], mark: string | undefined): boolean {
  return mark !== undefined && marks.includes(mark);
}

function findSecret({ gatewaySecret }: SecretSettings, database: SharedDatabase): string | undefined {
  if (gatewaySecret !== null) return gatewaySecret;
  return database.kind === 'file' ? findSecretFile(database.path) : undefined;
}

/**
 * Returns the secret of the settings, else of the file next to the database, which is made when it
 * is missing. Throws StoreOpenError when the file can be neither read nor made.
 */
export function loadSecret({ databaseUrl, gatewaySecret }: Omit<SecretSettings, 'gatewaySecretPrevious'>): string {
  if (gatewaySecret !== null) return gatewaySecret;
  const location = locateDatabase(databaseUrl);
  if (location.kind === 'memory') return newSecret();
  // Gateways that share a database must share the secret, and no file reaches all of them.
  if (location.kind === 'postgres')
    throw new StoreOpenError('GATEWAY_SECRET must be set with DATABASE_URL=postgres://.');
  const file = toSecretFile(location.path);
  return explaining(file, () => {
    makePrivateFolder(dirname(file));
    return readSecret(file) ?? makeSecret(file);
  });
}

/**
 * Returns the secret next to this database; undefined when there is none. Throws StoreOpenError.
 */
export function findSecretFile(databaseFile: string): string | undefined {
  const path = toSecretFile(databaseFile);
  return explaining(path, () => readSecret(path));
}

export function toSecretFile(databaseFile: string): string {
  return join(dirname(databaseFile), 'gateway.secret');
}

function explaining<Result>(file: string, use: () => Result): Result {
  try {
    return use();
  } catch (error) {
    if (error instanceof StoreOpenError) throw error;
    const why = messageOf(error);
    throw new StoreOpenError(`The secret ${file} cannot be read or made: ${why}.`, { cause: error });
  }
}

function readSecret(file: string): string | undefined {
  let text: string;
  try {
    text = readFileSync(file, 'utf8').trim();
  } catch (error) {
    if (isNodeError(error, 'ENOENT')) return undefined;
    throw error;
  }
  // A damaged secret would silently be another one, under which no record is found again.
  if (!/^[\w-]{43}$/.test(text)) {
    throw new StoreOpenError(
      `The secret ${file} is damaged; restore it, or remove it: the next start says how to go on without.`,
    );
  }
  return text;
}

function makeSecret(file: string): string {
  const made = newSecret();
  if (writePrivateFile(file, `${made}\n`)) return made;
  // Another process was first.
  return readSecret(file) ?? made;
}

function newSecret(): string {
  return randomBytes(32).toString('base64url');
}

import { resolve } from 'node:path';
import { StoreOpenError } from '../core/books/store.ts';

export type DatabaseLocation =
  | { readonly kind: 'memory' }
  | { readonly kind: 'file'; readonly path: string }
  /** Includes the password, so it is never shown. */
  | { readonly kind: 'postgres'; readonly url: string };

export type SharedDatabase = Exclude<DatabaseLocation, { readonly kind: 'memory' }>;

/**
 * Returns where a `DATABASE_URL` leads. A path is relative to the working directory, without
 * percent decoding. Throws StoreOpenError for anything but `:memory:`, `file:` and `postgres:`.
 */
export function locateDatabase(databaseUrl: string): DatabaseLocation {
  if (databaseUrl === ':memory:') return { kind: 'memory' };
  if (/^postgres(?:ql)?:\/\//.test(databaseUrl)) {
    if (!URL.canParse(databaseUrl)) throw new StoreOpenError('DATABASE_URL is not a URL that can be read.');
    return { kind: 'postgres', url: databaseUrl };
  }
  const path = /^file:(?:\/\/(?=\/))?([^:].*)$/.exec(databaseUrl)?.[1];
  if (path === undefined) {
    throw new StoreOpenError('DATABASE_URL must be :memory:, file: and a path, or postgres:// and a server.');
  }
  return { kind: 'file', path: resolve(path) };
}

/** Returns the database without the user and the password of a server. */
export function showDatabase(databaseUrl: string): string {
  if (!databaseUrl.startsWith('postgres')) return databaseUrl;
  const url = URL.parse(databaseUrl);
  return url === null ? 'postgres://' : `postgres://${url.host}${url.pathname}`;
}

/** Returns the path of the file, or the server without user and password. */
export function nameDatabase(database: SharedDatabase): string {
  return database.kind === 'file' ? database.path : showDatabase(database.url);
}

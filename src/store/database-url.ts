import { resolve } from 'node:path';
import { StoreOpenError } from './store.ts';

/** Where `DATABASE_URL` points: nowhere but this process, a file, or a server. */
export type DatabaseLocation =
  | { readonly kind: 'memory' }
  | { readonly kind: 'file'; readonly path: string }
  /** With its password: not to be shown. */
  | { readonly kind: 'postgres'; readonly url: string };

/** A database that other processes see as well. */
export type SharedDatabase = Exclude<DatabaseLocation, { readonly kind: 'memory' }>;

/**
 * Reads a `DATABASE_URL`. What follows `file:` is a path as it is written, relative to the working directory and without
 * percent decoding. Throws StoreOpenError for anything else than `:memory:`, `file:` and `postgres:`.
 */
export function locateDatabase(databaseUrl: string): DatabaseLocation {
  if (databaseUrl === ':memory:') return { kind: 'memory' };
  if (/^postgres(?:ql)?:\/\//.test(databaseUrl)) {
    // The URL is not shown, here and below: it holds a password.
    if (!URL.canParse(databaseUrl)) throw new StoreOpenError('DATABASE_URL is not a URL that can be read.');
    return { kind: 'postgres', url: databaseUrl };
  }
  const path = /^file:(?:\/\/(?=\/))?([^:].*)$/.exec(databaseUrl)?.[1];
  if (path === undefined) {
    throw new StoreOpenError('DATABASE_URL must be :memory:, file: and a path, or postgres:// and a server.');
  }
  return { kind: 'file', path: resolve(path) };
}

/** The database as it may be shown to anybody: of one on a server neither who asks nor the password. */
export function showDatabase(databaseUrl: string): string {
  if (!databaseUrl.startsWith('postgres')) return databaseUrl;
  const url = URL.parse(databaseUrl);
  return url === null ? 'postgres://' : `postgres://${url.host}${url.pathname}`;
}

/** The same of one that was located: the path of a file, or the server. */
export function nameDatabase(database: SharedDatabase): string {
  return database.kind === 'file' ? database.path : showDatabase(database.url);
}

import { resolve } from 'node:path';
import { StoreOpenError } from './store.ts';

/** Where `DATABASE_URL` points: nowhere but this process, or a file. */
export type DatabaseLocation = { readonly kind: 'memory' } | { readonly kind: 'file'; readonly path: string };

/**
 * Reads a `DATABASE_URL`. What follows `file:` is a path as it is written, relative to the working directory and without
 * percent decoding. Throws StoreOpenError for anything but `:memory:` and `file:`.
 */
export function locateDatabase(databaseUrl: string): DatabaseLocation {
  if (databaseUrl === ':memory:') return { kind: 'memory' };
  const path = /^file:(?:\/\/(?=\/))?([^:].*)$/.exec(databaseUrl)?.[1];
  // The URL is not shown: one for a server, pasted here by mistake, holds a password.
  if (path === undefined) throw new StoreOpenError('DATABASE_URL must be :memory:, or file: and a path.');
  return { kind: 'file', path: resolve(path) };
}

import { ApiError } from '../../src/core/errors.ts';
import type { Store } from '../../src/core/books/store.ts';

export interface FaultyStore extends Store {
  /** From now on these calls throw `store_unavailable` without reaching the store below; without names none does. */
  fail(...calls: readonly (keyof Store)[]): void;
}

/** A store that fails on demand, around one that works. */
export function makeFaulty(store: Store): FaultyStore {
  let failing: ReadonlySet<keyof Store> = new Set();
  const extra = {
    fail(...calls: readonly (keyof Store)[]) {
      failing = new Set(calls);
    },
  };
  return new Proxy(
    { ...store, ...extra },
    {
      get: (target, name: keyof FaultyStore) =>
        name !== 'fail' && failing.has(name) ? () => Promise.reject(new ApiError('store_unavailable')) : target[name],
    },
  );
}

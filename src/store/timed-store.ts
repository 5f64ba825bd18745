import type { Store } from '../core/books/store.ts';

export type StoreTimer = (operation: Timed, seconds: number, succeeded: boolean) => void;

type Timed = 'accept' | 'finish' | 'record';

/** Returns the same store, which reports how long these calls take. */
export function timeStore(store: Store, took: StoreTimer): Store {
  return {
    ...store,
    accept: (draft) => timed('accept', store.accept(draft), took),
    finish: (...end) => timed('finish', store.finish(...end), took),
    record: (draft, outcome) => timed('record', store.record(draft, outcome), took),
  };
}

async function timed<Result>(operation: Timed, result: Promise<Result>, took: StoreTimer): Promise<Result> {
  const startedAtMs = performance.now();
  let succeeded = false;
  try {
    const value = await result;
    succeeded = true;
    return value;
  } finally {
    took(operation, (performance.now() - startedAtMs) / 1000, succeeded);
  }
}

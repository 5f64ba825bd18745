import type { Store } from './store.ts';

/** Told of each operation when it is over. */
export type StoreTimer = (operation: 'accept' | 'finish', seconds: number, succeeded: boolean) => void;

/** The same store, which tells how long the two operations take that every request waits for, or leaves behind. */
export function timeStore(store: Store, took: StoreTimer): Store {
  return {
    ...store,
    accept: (draft) => timed('accept', store.accept(draft), took),
    finish: (requestId, outcome) => timed('finish', store.finish(requestId, outcome), took),
  };
}

async function timed<Result>(
  operation: 'accept' | 'finish',
  result: Promise<Result>,
  took: StoreTimer,
): Promise<Result> {
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

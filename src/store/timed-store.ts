import type { Store } from './store.ts';

export type StoreTimer = (operation: 'accept' | 'finish', seconds: number, succeeded: boolean) => void;

/** Returns the same store, which reports how long `accept` and `finish` take. */
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

import type { Store } from '../../src/core/books/store.ts';
import { turn } from './time.ts';

/** Looks, as a gateway does, for what other processes ask these stores about. Returns a function that ends it. */
export function answerDoubts(stores: readonly Pick<Store, 'listCancelRequested'>[]): () => void {
  const over = new AbortController();
  for (const store of stores) void lookAgain(store);
  return () => over.abort();

  async function lookAgain(store: Pick<Store, 'listCancelRequested'>): Promise<void> {
    while (!over.signal.aborted) {
      await store.listCancelRequested().catch(() => undefined);
      await turn(5);
    }
  }
}

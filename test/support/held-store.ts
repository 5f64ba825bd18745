import type { Store } from '../../src/core/books/store.ts';

export interface HeldStore extends Store {
  /** From now on this call waits in front of the store below. Resolves when the first one has come. */
  hold(name: 'accept' | 'finish' | 'record' | 'discard' | 'findKeyByHash'): Promise<void>;
  /** Lets all calls go on, or fail with this error before they reach the store below. */
  letGo(error?: Error): void;
}

/** Returns a store whose calls a test can hold up, around one that works. */
export function makeHeld(store: Store): HeldStore {
  const held = new Map<
    string,
    { readonly came: PromiseWithResolvers<void>; readonly go: PromiseWithResolvers<void> }
  >();

  async function pass<Result>(name: string, call: () => Promise<Result>): Promise<Result> {
    const at = held.get(name);
    at?.came.resolve();
    await at?.go.promise;
    return call();
  }

  return {
    ...store,
    accept: (draft) => pass('accept', () => store.accept(draft)),
    finish: (requestId, outcome) => pass('finish', () => store.finish(requestId, outcome)),
    // It is both of them too.
    record: (draft, outcome) =>
      pass('record', () => pass('accept', () => pass('finish', () => store.record(draft, outcome)))),
    findKeyByHash: (...key) => pass('findKeyByHash', () => store.findKeyByHash(...key)),
    discard: (requestId) => pass('discard', () => store.discard(requestId)),
    hold(name) {
      const at = { came: Promise.withResolvers<void>(), go: Promise.withResolvers<void>() };
      held.set(name, at);
      return at.came.promise;
    },
    letGo(error) {
      for (const { go } of held.values()) {
        if (error === undefined) go.resolve();
        else go.reject(error);
      }
      held.clear();
    },
  };
}

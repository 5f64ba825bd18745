import { expect } from 'chai';
import { loadAcceptedCallers } from '../../src/accounts/accepted-callers.ts';
import { openStore } from '../../src/store/open.ts';
import type { Store } from '../../src/core/books/store.ts';
import { until } from '../support/time.ts';

describe('accepted callers', () => {
  let store: Store;
  let writes: number;
  let nowMs: number;

  beforeEach(async () => {
    store = await openStore({ databaseUrl: ':memory:', recordRetentionDays: 30, clock: () => 0 });
    writes = 0;
    nowMs = 1;
  });
  afterEach(() => store.close());

  function load() {
    const accounts: typeof store = {
      ...store,
      rememberAccepted(caller, atMs) {
        writes += 1;
        return store.rememberAccepted(caller, atMs);
      },
    };
    return loadAcceptedCallers({ accounts, nowMs: () => nowMs });
  }

  it('are known after a restart', async () => {
    (await load()).add(['one']);
    await until(async () => (await store.listAccepted(0)).length === 1);
    const accepted = await load();
    expect([accepted.has(['one']), accepted.has(['two'])]).to.deep.equal([true, false]);
  });

  it('are known by the HMAC under the previous secret too', async () => {
    await store.rememberAccepted('older', 1);
    expect((await load()).has(['newer', 'older'])).to.equal(true);
  });

  it('cost one write a day, however often they succeed', async () => {
    const accepted = await load();
    for (let n = 0; n < 100; n++) accepted.add(['one']);
    expect(writes).to.equal(1);
    nowMs += 86_400_000;
    for (let n = 0; n < 100; n++) accepted.add(['one']);
    expect(writes).to.equal(2);
  });

  it('are no longer known once the backend refuses their key', async () => {
    const accepted = await load();
    accepted.add(['one']);
    accepted.delete(['one']);
    expect(accepted.has(['one'])).to.equal(false);
    await until(async () => (await store.listAccepted(0)).length === 1);
    await accepted.look();
    expect(accepted.has(['one'])).to.equal(false);
  });

  it('are none while the store cannot be read', async () => {
    const accounts = { ...store, listAccepted: () => Promise.reject(new Error('no store')) };
    expect((await loadAcceptedCallers({ accounts, nowMs: () => 1 })).has(['one'])).to.equal(false);
  });
});

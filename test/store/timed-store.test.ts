import { expect } from 'chai';
import { ApiError } from '../../src/core/errors.ts';
import { openStore } from '../../src/store/open.ts';
import type { Store } from '../../src/core/books/store.ts';
import { timeStore } from '../../src/store/timed-store.ts';
import { makeFaulty, type FaultyStore } from '../support/faulty-store.ts';
import { CALLER, newDraft, newOutcome } from '../support/records.ts';

describe('timeStore', () => {
  let inner: FaultyStore;
  let store: Store;
  let told: { operation: string; seconds: number; succeeded: boolean }[];

  beforeEach(async () => {
    told = [];
    inner = makeFaulty(await openStore({ databaseUrl: ':memory:', recordRetentionDays: 30 }));
    store = timeStore(inner, (operation, seconds, succeeded) => void told.push({ operation, seconds, succeeded }));
  });

  afterEach(() => store.close());

  it('does what the store does, and tells how long accept, finish and both at once took', async () => {
    const draft = newDraft();
    expect(await store.accept(draft)).to.deep.equal({ kind: 'accepted' });
    expect(await store.finish(draft.requestId, newOutcome())).to.equal('succeeded');
    expect((await store.find(CALLER, draft.requestId))?.status).to.equal('succeeded');
    await store.record(newDraft(), newOutcome());
    expect(told.map(({ operation, succeeded }) => [operation, succeeded])).to.deep.equal([
      ['accept', true],
      ['finish', true],
      ['record', true],
    ]);
    for (const { seconds } of told) expect(seconds).to.be.within(1e-6, 20);
  });

  it('throws what the store throws, and tells that it did', async () => {
    inner.fail('accept');
    const failure: unknown = await store.accept(newDraft()).catch((error: unknown) => error);
    expect(failure).to.be.instanceOf(ApiError);
    expect(told.map(({ operation, succeeded }) => [operation, succeeded])).to.deep.equal([['accept', false]]);
  });
});

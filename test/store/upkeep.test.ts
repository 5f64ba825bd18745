import { expect } from 'chai';
import { openStore } from '../../src/store/open.ts';
import type { Store } from '../../src/core/books/store.ts';
import { startUpkeep } from '../../src/store/upkeep.ts';
import { makeFaulty, type FaultyStore } from '../support/faulty-store.ts';
import { useHeldTime } from '../support/held-time.ts';
import { CALLER, newDraft, newOutcome } from '../support/records.ts';

const DAY_MS = 86_400_000;
const EVERY_MS = 5;
/** After so many rounds it prunes. */
const PRUNE_EVERY_MS = 10 * EVERY_MS;

describe('the upkeep of the store', () => {
  const passTime = useHeldTime();
  let nowMs: number;
  let store: Store;
  let faulty: FaultyStore;
  let said: string[];
  let stop: () => Promise<void>;

  beforeEach(async () => {
    nowMs = 100 * DAY_MS;
    said = [];
    store = await openStore({ databaseUrl: ':memory:', recordRetentionDays: 30 });
    faulty = makeFaulty(store);
    const log = {
      info: (fields: object, message: string) => said.push(`${message} ${JSON.stringify(fields)}`),
      warn: (_fields: object, message: string) => said.push(message),
    };
    stop = startUpkeep(faulty, { recordRetentionDays: 2, clock: () => nowMs, log, everyMs: EVERY_MS });
  });
  afterEach(async () => {
    await stop();
    await store.close();
  });

  async function countRecords(): Promise<number | undefined> {
    return (await store.list(CALLER, { limit: 100 }))?.records.length;
  }

  it('deletes records when their time is over', async () => {
    const draft = newDraft();
    await store.accept(draft);
    await store.finish(draft.requestId, newOutcome({ completedAtMs: nowMs - DAY_MS }));
    await passTime(PRUNE_EVERY_MS);
    expect(await countRecords()).to.equal(1);
    nowMs += DAY_MS + 1;
    await passTime(PRUNE_EVERY_MS);
    expect(await countRecords()).to.equal(0);
    expect(said).to.deep.equal(['deleted records older than the retention {"pruned":1}']);
  });

  it('goes on when the store cannot be written for a while', async () => {
    faulty.fail('recover');
    await passTime(EVERY_MS);
    expect(said, 'the store says by itself that it is away').to.deep.equal([]);
    faulty.fail();
    const draft = newDraft();
    await store.accept(draft);
    await store.finish(draft.requestId, newOutcome({ completedAtMs: 0 }));
    await passTime(PRUNE_EVERY_MS);
    expect(await countRecords()).to.equal(0);
  });

  it('does nothing any more once it is stopped', async () => {
    await stop();
    const draft = newDraft();
    await store.accept(draft);
    await store.finish(draft.requestId, newOutcome({ completedAtMs: 0 }));
    await passTime(PRUNE_EVERY_MS);
    expect(await countRecords()).to.equal(1);
  });
});

import { expect } from 'chai';
import { openStore } from '../../src/store/open.ts';
import type { Store } from '../../src/store/store.ts';
import { startUpkeep } from '../../src/store/upkeep.ts';
import { makeFaulty, type FaultyStore } from '../support/faulty-store.ts';
import { CALLER, newDraft, newOutcome } from '../support/records.ts';
import { until } from '../support/time.ts';

const DAY_MS = 86_400_000;

describe('the upkeep of the store', () => {
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
    stop = startUpkeep(faulty, { recordRetentionDays: 2, clock: () => nowMs, log, everyMs: 5 });
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
    await new Promise((resolve) => setTimeout(resolve, 50));
    expect(await countRecords()).to.equal(1);
    nowMs += DAY_MS + 1;
    await until(async () => (await countRecords()) === 0);
    await until(() => said.length > 0);
    expect(said).to.deep.equal(['deleted records older than the retention {"pruned":1}']);
  });

  it('goes on when the store cannot be written for a while', async () => {
    faulty.fail('recover');
    await until(() => said.length > 0);
    expect(said[0]).to.equal('the upkeep of the store failed');
    faulty.fail();
    const draft = newDraft();
    await store.accept(draft);
    await store.finish(draft.requestId, newOutcome({ completedAtMs: 0 }));
    await until(async () => (await countRecords()) === 0);
  });

  it('does nothing any more once it is stopped', async () => {
    await stop();
    const draft = newDraft();
    await store.accept(draft);
    await store.finish(draft.requestId, newOutcome({ completedAtMs: 0 }));
    await new Promise((resolve) => setTimeout(resolve, 50));
    expect(await countRecords()).to.equal(1);
  });
});

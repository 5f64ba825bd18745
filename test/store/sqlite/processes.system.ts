import { expect } from 'chai';
import { isOwnerDead, listOwners, takeOwnerLock } from '../../../src/store/sqlite/owner-lock.ts';
import { startStoreProcess } from '../../support/other-process.ts';
import { newDraft, newKeyedDraft } from '../../support/records.ts';
import { failureCode, makeWorkshop, type Workshop } from '../../support/sqlite.ts';
import { describeRecovery } from '../recovery-conformance.ts';

describe('SQLite, used by several processes', () => {
  let shop: Workshop;

  beforeEach(() => {
    shop = makeWorkshop();
  });
  afterEach(() => shop.clear());

  it('has its file made once by processes that start together', async () => {
    const drafts = Array.from({ length: 3 }, () => newDraft());
    const databaseUrl = `file:${shop.file}`;
    const others = await Promise.all(drafts.map((draft) => startStoreProcess({ databaseUrl, drafts: [draft] })));
    const store = await shop.open({ isInline: false });
    const page = await store.list(['caller'], { limit: 10 });
    expect(page?.records.map(({ requestId }) => requestId)).to.have.members(drafts.map(({ requestId }) => requestId));
    await Promise.all(others.map((other) => other.kill()));
  });

  it('shows the owner in another process, until that is killed', async () => {
    const other = await startStoreProcess({ databaseUrl: `file:${shop.file}` });
    const lock = takeOwnerLock(shop.file);
    const owner = listOwners(shop.file).find((owner) => owner !== lock.owner) ?? '';
    expect(isOwnerDead(shop.file, owner)).to.equal(false);
    await other.kill();
    expect(listOwners(shop.file), 'its file is still there').to.include(owner);
    expect(isOwnerDead(shop.file, owner)).to.equal(true);
    const store = await shop.open();
    await store.recover();
    expect(listOwners(shop.file), 'and was cleared away').not.to.include(owner);
    lock.release();
  });

  for (const answers of [true, false]) {
    it(`has ${answers ? '' : 'no '}duplicates of what its owner ${answers ? 'confirms' : 'does not confirm'}`, async () => {
      const draft = newKeyedDraft();
      const databaseUrl = `file:${shop.file}`;
      const other = await startStoreProcess({ databaseUrl, drafts: [draft], answers });
      const store = await shop.open(answers ? {} : { limits: { answerWithinMs: 500 } });
      if (answers) {
        const acceptance = await store.accept(newKeyedDraft());
        expect(acceptance).to.have.nested.property('record.requestId', draft.requestId);
      } else {
        expect(await failureCode(store.accept(newKeyedDraft()))).to.equal('store_unavailable');
      }
      await other.kill();
      await store.recover();
      const acceptance = await store.accept(newKeyedDraft());
      expect(acceptance).to.have.nested.property('record.status', 'failed');
    });
  }

  describeRecovery('in a file', { makeDatabase: () => `file:${shop.file}`, isShared: true });
});

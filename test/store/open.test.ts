import { expect } from 'chai';
import { openClientStore, openSharedStore, type SharedStore } from '../../src/store/open.ts';
import type { StoreClient } from '../../src/store/sqlite/sqlite-store.ts';
import type { Store } from '../../src/core/books/store.ts';
import type { BatchQueueLimits } from '../../src/store/queue/batch-queue.ts';
import { toDraftRow } from '../../src/store/rows/records.ts';
import { answerDoubts } from '../support/answer-doubts.ts';
import { newHold, newKeyDraft } from '../support/keys.ts';
import { CALLER, newDraft, newKeyedDraft } from '../support/records.ts';
import { failureCode, makeWorkshop, type Workshop } from '../support/sqlite.ts';
import { until } from '../support/time.ts';

interface ConnectedClient {
  readonly client: StoreClient;
  readonly store: Store;
}

for (const place of ['a file', 'memory'] as const) {
  describe(`processes that share a database in ${place} through one of them`, () => {
    let shop: Workshop;
    let host: SharedStore;
    let clients: ConnectedClient[];

    beforeEach(async () => {
      shop = makeWorkshop();
      clients = [];
      const databaseUrl = place === 'memory' ? ':memory:' : `file:${shop.file}`;
      const opened = await openSharedStore({ databaseUrl, recordRetentionDays: 30 });
      if (opened === undefined) throw new Error('it is not shared');
      host = opened;
    });
    afterEach(async () => {
      await Promise.all(clients.map(({ store }) => store.close()));
      await host.close();
      await shop.clear();
    });

    function admit(limits: Partial<BatchQueueLimits> = {}, stalled = Promise.resolve()): ConnectedClient {
      const client = host.admit();
      const connected = {
        client,
        store: openClientStore({ run: (...batch) => stalled.then(() => client.run(...batch)), limits }),
      };
      clients.push(connected);
      return connected;
    }

    it('see each other’s records, and accept one of many equal drafts', async () => {
      const stores = [admit().store, admit().store, host];
      const drafts = Array.from({ length: 30 }, () => newKeyedDraft());
      const stopAnswering = answerDoubts(stores);
      const answers = await Promise.all(drafts.map((draft, index) => (stores[index % 3] ?? host).accept(draft)));
      stopAnswering();
      const accepted = drafts.filter((_, index) => answers[index]?.kind === 'accepted');
      expect(accepted).to.have.lengthOf(1);
      const [original] = accepted;
      for (const answer of answers) {
        if (answer.kind === 'duplicate') expect(answer.record.requestId).to.equal(original?.requestId);
      }
    });

    it('do not accept what comes to the database after its deadline', async () => {
      const { promise: stalled, resolve: wake } = Promise.withResolvers<void>();
      const draft = newKeyedDraft();
      const { store } = admit({ answerWithinMs: 50 }, stalled);
      expect(await failureCode(store.accept(draft))).to.equal('store_unavailable');
      wake();
      // The next call of the same process comes after it.
      await store.find(CALLER, draft.requestId);
      expect(await admit().store.accept(newKeyedDraft())).to.deep.equal({ kind: 'accepted' });
    });

    it('do not take for a duplicate what its owner was never told of', async () => {
      const [one, other] = [admit(), admit({ answerWithinMs: 100 })];
      const ghost = newKeyedDraft();
      await one.client.run('write', [['accept', toDraftRow(ghost, Infinity), []]]);
      const stopAnswering = answerDoubts([one.store]);
      const refusal: unknown = await other.store.accept(newKeyedDraft()).catch((error: unknown) => error);
      expect(refusal).to.have.property('code', 'store_unavailable');
      expect(refusal).to.have.deep.property('headers', { 'retry-after': '1' });
      const { idempotency } = ghost;
      expect(idempotency && (await failureCode(other.store.findDuplicate(CALLER, idempotency)))).to.equal(
        'store_unavailable',
      );
      stopAnswering();
      await one.client.run('write', [['discard', ghost.requestId, Date.now()]]);
      expect(await other.store.accept(newKeyedDraft())).to.deep.equal({ kind: 'accepted' });
    });

    it('run what turns out to be undone while its owner is asked', async () => {
      const [one, other] = [admit(), admit()];
      const ghost = newKeyedDraft();
      await one.client.run('write', [['accept', toDraftRow(ghost, Infinity), []]]);
      const accepting = other.store.accept(newKeyedDraft());
      await until(async () => {
        const reply = await one.client.run('read', [['listAsked']]);
        return 'results' in reply && JSON.stringify(reply.results).includes('"isDoubted":1');
      });
      await one.client.run('write', [['discard', ghost.requestId, Date.now()]]);
      expect(await accepting).to.deep.equal({ kind: 'accepted' });
    });

    it('leave behind, when one dies, exactly its own unfinished records to be closed', async () => {
      const [one, other] = [admit(), admit()];
      const key = await host.createKey(newKeyDraft({ creditsMicro: 1000 }));
      const hold = { ...newHold(key.keyId, 100), interruptedCostMicro: 7 };
      const drafts = { dead: newDraft({ hold }), living: newDraft({ hold }), host: newDraft({ hold }) };
      await one.store.accept(drafts.dead);
      await other.store.accept(drafts.living);
      await host.accept(drafts.host);
      expect(await host.recover(), 'while all live').to.equal(0);
      one.client.leave();
      expect(await other.store.recover()).to.equal(1);
      expect(await host.recover()).to.equal(0);
      const found = async (requestId: typeof drafts.dead.requestId) => host.find(CALLER, requestId);
      expect(await found(drafts.dead.requestId)).to.include({ status: 'failed', errorCode: 'gateway_interrupted' });
      expect(await found(drafts.living.requestId)).to.include({ status: 'processing' });
      expect(await found(drafts.host.requestId)).to.include({ status: 'processing' });
      expect(await host.findKey(key.keyId)).to.include({ heldMicro: 200, balanceMicro: 1000 - 200 - 7 });
    });

    it('hear of the cancels of their own records alone', async () => {
      const [one, other] = [admit(), admit()];
      const [mine, theirs] = [newDraft(), newDraft()];
      await one.store.accept(mine);
      await other.store.accept(theirs);
      await host.requestCancel(CALLER, mine.requestId);
      await one.store.requestCancel(CALLER, theirs.requestId);
      expect(await one.store.listCancelRequested()).to.deep.equal([mine.requestId]);
      expect(await other.store.listCancelRequested()).to.deep.equal([theirs.requestId]);
      expect(await host.listCancelRequested()).to.deep.equal([]);
    });
  });
}

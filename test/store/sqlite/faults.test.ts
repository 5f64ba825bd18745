import { expect } from 'chai';
import { readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { Worker } from 'node:worker_threads';
import { listOwners } from '../../../src/store/sqlite/owner-lock.ts';
import type { SqliteStore } from '../../../src/store/sqlite/sqlite-store.ts';
import { PATIENT, useImpatientStores } from '../../support/patient.ts';
import { CALLER, newDraft, newKeyedDraft, newOutcome } from '../../support/records.ts';
import { failureCode, lockDatabase, makeWorkshop, type Workshop } from '../../support/sqlite.ts';
import { useHeldTime } from '../../support/held-time.ts';
import { until } from '../../support/time.ts';

describe('the store on SQLite in trouble', () => {
  const running = newDraft();
  let shop: Workshop;
  let store: SqliteStore;

  beforeEach(async () => {
    shop = makeWorkshop();
    store = await shop.open();
    await store.accept(running);
  });
  afterEach(() => shop.clear());

  describe('with a full disk', () => {
    beforeEach(fillDisk);

    /** As many records as there is room for in pages that are partly filled. */
    async function fillDisk(): Promise<void> {
      await store.pragma(`max_page_count = ${String(await store.pragma('page_count'))}`);
      await until(async () => (await failureCode(store.accept(newKeyedDraft(crypto.randomUUID())))) !== undefined);
    }

    it('refuses a request at once', async () => {
      const startedMs = performance.now();
      expect(await failureCode(store.accept(newDraft({ model: 'm'.repeat(250) })))).to.equal('store_unavailable');
      expect(performance.now() - startedMs, 'without the wait for an answer').to.be.below(PATIENT.answerWithinMs / 2);
    });

    it('is not ready', async () => {
      expect(await failureCode(store.checkWritable())).to.equal('store_unavailable');
    });

    it('still shows what is there', async () => {
      expect(await store.find(CALLER, running.requestId)).to.include({ status: 'processing' });
    });

    it('ends what is running although newcomers in the same batch are refused', async () => {
      const refused = store.accept(newDraft({ model: 'm'.repeat(250) })).catch(() => 'refused');
      const finished = await store.finish(running.requestId, newOutcome({ usage: null }));
      expect(finished).to.equal('succeeded');
      expect(await refused).to.equal('refused');
    });

    describe('that gets room again', () => {
      const passTime = useHeldTime();

      it('serves again, and says so when it has gone well for a second', async () => {
        await failureCode(store.accept(newDraft({ model: 'm'.repeat(250) })));
        await store.pragma('max_page_count = 1000000');
        await store.checkWritable();
        expect(await store.accept(newDraft())).to.deep.equal({ kind: 'accepted' });
        expect(shop.said).to.deep.equal(['the store cannot be written']);
        await passTime(1000);
        await store.accept(newDraft());
        expect(shop.said).to.deep.equal(['the store cannot be written', 'the store can be written again']);
      });
    });
  });

  describe('that is read-only', () => {
    beforeEach(() => store.pragma('query_only = 1'));

    it('refuses a request, leaves no trace of it, and is not ready', async () => {
      const draft = newDraft();
      expect(await failureCode(store.accept(draft))).to.equal('store_unavailable');
      expect(await failureCode(store.checkWritable())).to.equal('store_unavailable');
      expect(await store.find(CALLER, draft.requestId)).to.equal(undefined);
    });

    it('keeps the final state of what was running until it can be written', async () => {
      const hasty = await shop.open({ limits: { keptWithinMs: 100 } });
      await hasty.pragma('query_only = 1');
      expect(await failureCode(hasty.finish(running.requestId, newOutcome()))).to.equal('store_unavailable');
      expect(await store.find(CALLER, running.requestId)).to.include({ status: 'processing' });
      await hasty.pragma('query_only = 0');
      await until(async () => (await store.find(CALLER, running.requestId))?.status === 'succeeded');
    });

    it('is closed within seconds, with a word about what could not be written', async () => {
      const hasty = await shop.open({ isInline: false, limits: { keptWithinMs: 100, closeWithinMs: 200 } });
      const draft = newDraft();
      await hasty.accept(draft);
      await hasty.pragma('query_only = 1');
      await failureCode(hasty.finish(draft.requestId, newOutcome()));
      const startedMs = performance.now();
      await hasty.close();
      expect(performance.now() - startedMs).to.be.below(10_000);
      expect(shop.said.at(-1)).to.match(/closed with calls it could not serve/);
      // What it had to leave is closed by recovery.
      await store.pragma('query_only = 0');
      expect(await store.recover()).to.equal(1);
    });
  });

  describe('that somebody else has locked', () => {
    let unlock: () => void;

    beforeEach(async () => {
      store = await shop.open({ isInline: false });
    });
    afterEach(() => unlock());

    it('waits for it, and shows meanwhile what is there', async () => {
      unlock = lockDatabase(shop.file);
      const accepted = store.accept(newDraft());
      // It is answered after the change before it has met the lock.
      expect(await store.find(CALLER, running.requestId)).to.include({ status: 'processing' });
      unlock();
      expect(await accepted).to.deep.equal({ kind: 'accepted' });
    });

    it('refuses after a while, and serves again afterwards', async () => {
      const hasty = await shop.open({ isInline: false, limits: { answerWithinMs: 100 } });
      unlock = lockDatabase(shop.file);
      const refused = [hasty.accept(newDraft()), hasty.requestCancel(CALLER, running.requestId), hasty.checkWritable()];
      const codes = await Promise.all(refused.map(failureCode));
      expect(codes).to.deep.equal(['store_unavailable', 'store_unavailable', 'store_unavailable']);
      unlock();
      await until(async () => (await failureCode(hasty.accept(newDraft()))) === undefined);
    });

    it('makes the lock files again that somebody has deleted, by which others know that it lives', async () => {
      const hasty = await shop.open({ limits: { answerWithinMs: 100 } });
      const owners = listOwners(shop.file);
      unlock = lockDatabase(shop.file);
      for (const owner of owners) rmSync(`${shop.file}-owner-${owner}`);
      expect(await failureCode(hasty.recover())).to.equal('store_unavailable');
      expect(listOwners(shop.file)).to.have.lengthOf(1);
    });
  });

  describe('whose thread dies', () => {
    let threads: Worker[];
    let mortal: SqliteStore;

    beforeEach(async () => {
      threads = [];
      mortal = await shop.open({
        startWorker(file, options) {
          const thread = new Worker(file, options);
          threads.push(thread);
          return thread;
        },
      });
    });

    it('starts it again, and loses nothing that it promised', async () => {
      const [before, after] = [newDraft(), newDraft()];
      await mortal.accept(before);
      await threads[0]?.terminate();
      expect(await mortal.accept(after)).to.deep.equal({ kind: 'accepted' });
      expect(await mortal.find(CALLER, before.requestId)).to.include({ status: 'processing' });
      expect(await mortal.finish(before.requestId, newOutcome())).to.equal('succeeded');
      expect(threads).to.have.lengthOf(2);
      expect(shop.said).to.deep.equal(['the thread of the store died and is started again']);
      // Its lock is held by the process, not by the thread.
      expect(await store.recover()).to.equal(0);
    });

    it('refuses requests until the database can be opened again', async () => {
      await store.close();
      // The log holds every page so far, and would make up for the damage.
      await mortal.pragma('wal_checkpoint(TRUNCATE)');
      const sound = readFileSync(shop.file);
      writeFileSync(shop.file, 'x'.repeat(sound.length));
      await threads[0]?.terminate();
      expect(await failureCode(mortal.accept(newDraft()))).to.equal('store_unavailable');
      writeFileSync(shop.file, sound);
      await until(async () => (await failureCode(mortal.accept(newDraft()))) === undefined);
    });
  });

  describe('in memory', () => {
    useImpatientStores();
    const passTime = useHeldTime();

    it('waits for a process that is busy for long, and says nothing of it', async () => {
      const inMemory = await shop.open({ file: undefined });
      const turns: (() => void)[] = [];
      const real = globalThis.setImmediate;
      Object.assign(globalThis, { setImmediate: (run: () => void) => turns.push(run) });
      const accepted = inMemory.accept(newDraft());
      Object.assign(globalThis, { setImmediate: real });
      await passTime(3000);
      for (const run of turns) run();
      expect(await accepted).to.deep.equal({ kind: 'accepted' });
      expect(shop.said).to.deep.equal([]);
    });
  });

  it('shares a commit among the requests of one moment', async () => {
    await store.pragma('wal_checkpoint(TRUNCATE)');
    await Promise.all(Array.from({ length: 200 }, () => store.accept(newDraft())));
    const pages = statSync(`${shop.file}-wal`).size / 4096;
    // A commit of its own for each would have written the same pages over and over, at least two each time.
    expect(pages).to.be.within(5, 100);
  });
});

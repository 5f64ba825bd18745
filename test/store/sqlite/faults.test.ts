import { expect } from 'chai';
import { readFileSync, statSync, writeFileSync } from 'node:fs';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { setTimeout as delay } from 'node:timers/promises';
import { Worker } from 'node:worker_threads';
import type { SqliteStore } from '../../../src/store/sqlite/sqlite-store.ts';
import { startLockingProcess } from '../../support/other-process.ts';
import { CALLER, newDraft, newKeyedDraft, newOutcome } from '../../support/records.ts';
import { failureCode, makeWorkshop, until, type Workshop } from '../../support/sqlite.ts';

describe('the store on SQLite in trouble', () => {
  let shop: Workshop;
  let store: SqliteStore;

  beforeEach(async () => {
    shop = makeWorkshop();
    store = await shop.open();
  });
  afterEach(() => shop.clear());

  describe('with a full disk', () => {
    const running = newDraft();

    beforeEach(async () => {
      await store.accept(running);
      await fillDisk();
    });

    /** As many records as there is room for in pages that are partly filled. */
    async function fillDisk(): Promise<void> {
      await store.pragma(`max_page_count = ${String(await store.pragma('page_count'))}`);
      await until(async () => (await failureCode(store.accept(newKeyedDraft(crypto.randomUUID())))) !== undefined);
    }

    it('refuses a request at once', async () => {
      const startedMs = performance.now();
      expect(await failureCode(store.accept(newDraft({ model: 'm'.repeat(250) })))).to.equal('store_unavailable');
      expect(performance.now() - startedMs, 'without the wait for an answer').to.be.below(1900);
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

    it('serves again when there is room, and says so', async () => {
      await store.pragma('max_page_count = 1000000');
      await store.checkWritable();
      expect(await store.accept(newDraft())).to.deep.equal({ kind: 'accepted' });
      await delay(1000);
      await store.accept(newDraft());
      expect(shop.said).to.deep.equal(['the store cannot be written', 'the store can be written again']);
    });
  });

  describe('that is read-only', () => {
    const running = newDraft();

    beforeEach(async () => {
      await store.accept(running);
      await store.pragma('query_only = 1');
    });

    it('refuses a request, leaves no trace of it, and is not ready', async () => {
      const draft = newDraft();
      expect(await failureCode(store.accept(draft))).to.equal('store_unavailable');
      expect(await failureCode(store.checkWritable())).to.equal('store_unavailable');
      expect(await store.find(CALLER, draft.requestId)).to.equal(undefined);
    });

    it('keeps the final state of what was running until it can be written', async () => {
      expect(await failureCode(store.finish(running.requestId, newOutcome()))).to.equal('store_unavailable');
      expect(await store.find(CALLER, running.requestId)).to.include({ status: 'processing' });
      await store.pragma('query_only = 0');
      await until(async () => (await store.find(CALLER, running.requestId))?.status === 'succeeded');
    });

    it('is closed within seconds, with a word about what could not be written', async () => {
      const hasty = await shop.open({ limits: { closeWithinMs: 200 } });
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

  describe('that another process has locked', () => {
    it('waits for a short while, and the event loop does not', async () => {
      const other = await startLockingProcess(shop.file);
      const loop = monitorEventLoopDelay({ resolution: 5 });
      loop.enable();
      const accepted = store.accept(newDraft());
      await delay(800);
      await other.kill();
      expect(await accepted).to.deep.equal({ kind: 'accepted' });
      loop.disable();
      // A wait on this thread would be one delay of 800 ms.
      expect(loop.max / 1e6).to.be.below(600);
    });

    it('refuses after that while, shows what is there, and serves again afterwards', async () => {
      const hasty = await shop.open({ limits: { answerWithinMs: 1000 } });
      const draft = newDraft();
      await hasty.accept(draft);
      const other = await startLockingProcess(shop.file);
      try {
        const refused = [hasty.accept(newDraft()), hasty.requestCancel(CALLER, draft.requestId), hasty.checkWritable()];
        expect(await hasty.find(CALLER, draft.requestId)).to.include({ status: 'processing' });
        const codes = await Promise.all(refused.map(failureCode));
        expect(codes).to.deep.equal(['store_unavailable', 'store_unavailable', 'store_unavailable']);
      } finally {
        await other.kill();
      }
      await hasty.checkWritable();
      expect(await hasty.accept(newDraft())).to.deep.equal({ kind: 'accepted' });
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

  it('shares a commit among the requests of one moment', async () => {
    await store.pragma('wal_checkpoint(TRUNCATE)');
    await Promise.all(Array.from({ length: 200 }, () => store.accept(newDraft())));
    const pages = statSync(`${shop.file}-wal`).size / 4096;
    // A commit of its own for each would have written the same pages over and over, at least two each time.
    expect(pages).to.be.within(5, 100);
  });
});

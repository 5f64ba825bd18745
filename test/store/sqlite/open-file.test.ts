import { expect } from 'chai';
import { copyFileSync, existsSync, readdirSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { Worker } from 'node:worker_threads';
import { identifyFile, MovedFile, watchFile } from '../../../src/store/sqlite/open-file.ts';
import { openSqliteStore, type SqliteStore } from '../../../src/store/sqlite/sqlite-store.ts';
import { upgradeDatabase } from '../../../src/store/sqlite/upgrade.ts';
import { CALLER, newDraft, newKeyedDraft, newOutcome } from '../../support/records.ts';
import { failureCode, makeWorkshop, type Workshop } from '../../support/sqlite.ts';
import { until } from '../../support/time.ts';

describe('a database file', () => {
  const running = newDraft();
  let shop: Workshop;
  let store: SqliteStore;

  beforeEach(async () => {
    shop = makeWorkshop();
    // The end of a request waits for the database so long.
    store = await shop.open({ limits: { keptWithinMs: 100, closeWithinMs: 100 } });
    await store.accept(running);
  });
  afterEach(() => shop.clear());

  /** As a volume that is unmounted, or a folder that is moved away. */
  const ways: readonly { readonly how: string; readonly takeAway: () => void }[] = [
    { how: 'deleted', takeAway: () => rmSync(shop.file) },
    {
      how: 'deleted with its log',
      takeAway: () => ['', '-wal', '-shm'].forEach((end) => rmSync(`${shop.file}${end}`)),
    },
    { how: 'left without its log', takeAway: () => rmSync(`${shop.file}-wal`) },
    { how: 'unmounted', takeAway: () => renameSync(dirname(shop.file), `${shop.folder}/elsewhere`) },
    {
      how: 'replaced',
      takeAway() {
        copyFileSync(shop.file, `${shop.file}.copy`);
        renameSync(`${shop.file}.copy`, shop.file);
      },
    },
  ];
  for (const { how, takeAway } of ways) {
    it(`that was ${how} is noticed, by requests and readiness, with one line`, async () => {
      takeAway();
      const calls = [
        () => store.checkWritable(),
        () => store.accept(newDraft()),
        () => store.find(CALLER, running.requestId),
        () => store.list(CALLER, { limit: 1 }),
        () => store.recover(),
        () => store.finish(running.requestId, newOutcome()),
      ];
      for (const call of calls) expect(await failureCode(call())).to.equal('store_unavailable');
      expect(shop.said).to.deep.equal(['the store cannot be written']);
    });
  }

  it('whose log was replaced is noticed within a tenth of a second, and its absence at once', () => {
    let nowMs = 0;
    const log = `${shop.file}-wal`;
    const check = watchFile(shop.file, identifyFile(shop.file) ?? '', () => nowMs);
    check();
    renameSync(log, `${log}.former`);
    expect(check).to.throw(MovedFile, log);
    writeFileSync(log, '');
    nowMs = 99;
    check();
    nowMs = 100;
    for (let time = 0; time < 2; time++) expect(check).to.throw(MovedFile, log);
    renameSync(`${log}.former`, log);
    check();
  });

  describe('whose thread is started again', () => {
    let threads: Worker[];

    beforeEach(async () => {
      threads = [];
      store = await shop.open({
        limits: { keptWithinMs: 100, closeWithinMs: 100 },
        startWorker(file, options) {
          const thread = new Worker(file, options);
          threads.push(thread);
          return thread;
        },
      });
    });

    it('is not made again when it was deleted', async () => {
      rmSync(shop.file);
      await threads[0]?.terminate();
      expect(await failureCode(store.accept(newDraft()))).to.equal('store_unavailable');
      await until(() => threads.length > 2);
      expect(await failureCode(store.accept(newDraft()))).to.equal('store_unavailable');
      expect(existsSync(shop.file)).to.equal(false);
    });

    it('is not taken for the former one when it was replaced', async () => {
      const other = makeWorkshop();
      await (await other.open()).close();
      renameSync(other.file, shop.file);
      await threads[0]?.terminate();
      await until(() => threads.length > 2);
      expect(await failureCode(store.accept(newKeyedDraft()))).to.equal('store_unavailable');
      await other.clear();
    });
  });

  it('serves again when the same file is put back, with what waited for it', async () => {
    renameSync(dirname(shop.file), `${shop.folder}/elsewhere`);
    expect(await failureCode(store.finish(running.requestId, newOutcome()))).to.equal('store_unavailable');
    renameSync(`${shop.folder}/elsewhere`, dirname(shop.file));
    await until(async () => (await failureCode(store.accept(newDraft()))) === undefined);
    await until(async () => (await store.find(CALLER, running.requestId))?.status === 'succeeded');
  });

  it('that was deleted is not made anew by another process while one still has it open', async () => {
    for (const end of ['', '-wal', '-shm']) rmSync(`${shop.file}${end}`);
    const why = (opening: Promise<unknown>) => opening.then(String, (error: unknown) => String(error));
    const refusal = /^StoreOpenError: The database .* was deleted while another process uses it/;
    expect(await why(openSqliteStore({ file: shop.file, clock: Date.now, log: shop.log }))).to.match(refusal);
    expect(await why(upgradeDatabase(shop.file))).to.match(refusal);
    expect(existsSync(shop.file)).to.equal(false);
    await store.close();
    expect(await (await shop.open()).find(CALLER, running.requestId)).to.equal(undefined);
  });
});

describe('a database file that is closed', () => {
  const running = newDraft();
  let shop: Workshop;
  let store: SqliteStore;

  beforeEach(async () => {
    shop = makeWorkshop();
    store = await shop.open();
    await store.accept(running);
  });
  afterEach(() => shop.clear());

  it('leaves no lock file behind when nothing is unfinished', async () => {
    await store.finish(running.requestId, newOutcome());
    await store.close();
    expect(readdirSync(dirname(shop.file))).to.deep.equal(['gateway.db']);
  });

  it('has its unfinished records closed by the next store at once', async () => {
    await store.close();
    const next = await shop.open();
    expect(await next.recover()).to.equal(1);
    await next.finish(running.requestId, newOutcome());
    await next.close();
    expect(readdirSync(dirname(shop.file))).to.deep.equal(['gateway.db']);
  });
});

import { expect } from 'chai';
import { writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { createPrivateFile, makePrivateFolder } from '../../../src/store/private-files.ts';
import { openDatabase } from '../../../src/store/sqlite/database.ts';
import { MIGRATIONS } from '../../../src/store/sqlite/migrations.ts';
import { upgradeDatabase } from '../../../src/store/sqlite/upgrade.ts';
import { newDraft } from '../../support/records.ts';
import { makeWorkshop, type Workshop } from '../../support/sqlite.ts';

describe('an upgrade of the database', () => {
  const names = MIGRATIONS.map(({ name }) => name);
  let shop: Workshop;

  beforeEach(() => {
    shop = makeWorkshop();
  });
  afterEach(() => shop.clear());

  it('makes the database where there is none, and has nothing to do the second time', async () => {
    expect(await upgradeDatabase(shop.file)).to.deep.equal({ migrations: names, applied: names });
    expect(await upgradeDatabase(shop.file)).to.deep.equal({ migrations: names, applied: [] });
  });

  it('keeps what a version before managed keys has written', async () => {
    makePrivateFolder(dirname(shop.file));
    createPrivateFile(shop.file);
    const old = openDatabase({ file: shop.file, openWithinMs: 1000, migrations: MIGRATIONS.slice(0, 1) });
    const draft = newDraft();
    old
      .prepare(
        `INSERT INTO requests (request_id, caller, owner, endpoint, model, stream, status, created_at_ms, estimated_input_tokens)
         VALUES (?, ?, 'a dead process', 'responses', 'm', 0, 'processing', 5, 7)`,
      )
      .run(draft.requestId, draft.caller[0]);
    old.close();
    writeFileSync(`${shop.file}-owner-a dead process`, '');
    const store = await shop.open();
    expect(await store.find(draft.caller, draft.requestId)).to.include({ status: 'processing', createdAtMs: 5 });
    expect(await store.recover()).to.equal(1);
    expect(await store.find(draft.caller, draft.requestId)).to.include({ status: 'failed', costMicro: null });
  });

  it('reads no cache writes where a version before them has written', async () => {
    makePrivateFolder(dirname(shop.file));
    createPrivateFile(shop.file);
    const before = MIGRATIONS.slice(0, names.indexOf('0009_cache_writes'));
    const old = openDatabase({ file: shop.file, openWithinMs: 1000, migrations: before });
    const draft = newDraft();
    old
      .prepare(
        `INSERT INTO requests (request_id, caller, endpoint, model, stream, status, created_at_ms, completed_at_ms,
           estimated_input_tokens, input_tokens, cached_tokens, output_tokens, reasoning_tokens, total_tokens)
         VALUES (?, ?, 'responses', 'm', 0, 'succeeded', 5, 6, 7, 8, 3, 2, 1, 10)`,
      )
      .run(draft.requestId, draft.caller[0]);
    old
      .prepare(
        `INSERT INTO usage (hour, caller, model, requests, failed, cancelled, input_tokens, cached_tokens, output_tokens,
           reasoning_tokens, cost_micro, duration_ms) VALUES (0, ?, 'm', 1, 0, 0, 8, 3, 2, 1, 0, 1)`,
      )
      .run(draft.caller[0]);
    old.close();
    const store = await shop.open();
    const record = await store.find(draft.caller, draft.requestId);
    expect(record?.usage?.input_tokens_details).to.deep.equal({ cached_tokens: 3, cache_write_tokens: 0 });
    const rows = await store.listUsage({ fromMs: 0, untilMs: 1, per: 'hour' });
    expect(rows).to.have.length(1);
    expect(rows[0]).to.include({ cachedTokens: 3, cacheWriteTokens: 0 });
  });

  it('may run beside a store', async () => {
    await shop.open();
    expect(await upgradeDatabase(shop.file)).to.deep.equal({ migrations: names, applied: [] });
  });
});

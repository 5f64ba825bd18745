/** What every engine makes of the databases that released versions have written; called by the tests of each. */
import { expect } from 'chai';
import { checkDatabase } from '../../src/store/maintenance.ts';
import type { SharedDatabase } from '../../src/store/database-url.ts';
import type { Store } from '../../src/core/books/store.ts';
import { newGroupDraft, newHold, newKeyId } from '../support/keys.ts';
import { newDraft, newOutcome, newRequestId } from '../support/records.ts';

/** A database of its own, which is empty at first. */
export interface OldDatabase {
  readonly place: SharedDatabase;
  /** Runs the migrations up to the one of this name. */
  migrateTo(last: string): Promise<void>;
  run(sql: string): Promise<readonly unknown[]>;
  /** As this version does at its start. */
  open(): Promise<Store>;
  /** After all stores. */
  drop(): Promise<void>;
}

interface Release {
  readonly name: string;
  /** Its last migration. */
  readonly last: string;
}

const TABLES = ['keys', 'ledger', 'requests', 'usage'];

/** Describes that databases of these releases keep each row, take what such a release writes beside this one, and can have groups. */
export function describeOldDatabases(
  engine: string,
  releases: readonly Release[],
  make: () => Promise<OldDatabase>,
): void {
  for (const { name, last } of releases) {
    describe(`a database of ${name} on ${engine}`, () => {
      let database: OldDatabase;
      let store: Store | undefined;

      beforeEach(async () => {
        database = await make();
        await database.migrateTo(last);
      });
      afterEach(async () => {
        await store?.close();
        store = undefined;
        await database.drop();
      });

      const readAll = async () =>
        Promise.all(
          TABLES.map((table) => database.run(`SELECT * FROM ${table} ORDER BY 1, 2, 3`) as Promise<readonly object[]>),
        );

      it('keeps every row as it was', async () => {
        for (let times = 0; times < 3; times += 1) await write(database);
        const before = await readAll();
        store = await database.open();
        const after = await readAll();
        for (const [at, table] of TABLES.entries()) {
          expect(after[at], table).to.have.length(before[at]?.length ?? 0);
          for (const [row, old] of (before[at] ?? []).entries()) expect(after[at]?.[row], table).to.include(old);
        }
        expect((await checkDatabase(database.place)).problems).to.deep.equal([]);
      });

      it('shows its records and keys, which are in no group', async () => {
        const { keyId, requestId } = await write(database);
        store = await database.open();
        expect(await store.find([keyId], requestId)).to.include({ status: 'succeeded', model: 'm', costMicro: 30 });
        expect(await store.findKey(keyId)).to.include({ group: null, balanceMicro: 100, daySpentMicro: 0 });
        const listed = await store.listSpending({ of: 'keys', percent: 0, limit: 5 });
        expect(listed.map(({ id, fundedMicro }) => ({ id, fundedMicro }))).to.deep.equal([
          { id: keyId, fundedMicro: 100 },
        ]);
      });

      it('takes what a gateway of that version writes beside this one', async () => {
        await write(database);
        store = await database.open();
        const { keyId, requestId } = await write(database);
        expect(await store.find([keyId], requestId)).to.include({ status: 'succeeded', costMicro: 30 });
        expect(await store.findKey(keyId)).to.include({ group: null, balanceMicro: 100 });
        expect((await checkDatabase(database.place)).problems).to.deep.equal([]);
      });

      it('lets its keys come into a group, whose credits hold from then on', async () => {
        const { keyId } = await write(database);
        store = await database.open();
        const { groupId } = await store.createGroup(newGroupDraft({ creditsMicro: 50 }));
        await store.updateKey(keyId, { groupId });
        const draft = newDraft({ hold: newHold(keyId, 30) });
        expect(await store.accept(draft)).to.include({ kind: 'accepted' });
        await store.finish(draft.requestId, newOutcome({ costMicro: 10 }));
        expect(await store.findKey(keyId)).to.include({ balanceMicro: 90 });
        expect(await store.findGroup(groupId)).to.include({ balanceMicro: 40, keys: 1 });
        const tooMuch = await store.accept(newDraft({ hold: newHold(keyId, 45) })).catch((error: unknown) => error);
        expect(tooMuch).to.include({ code: 'insufficient_credits' });
        expect((await checkDatabase(database.place)).problems).to.deep.equal([]);
      });
    });
  }
}

/** Writes a key with credits, what it has asked, and its usage, with the columns that every version has. */
async function write(database: OldDatabase) {
  const [keyId, requestId, failedId] = [newKeyId(), newRequestId(), newRequestId()];
  await database.run(`INSERT INTO keys (key_id, hash, prefix, name, created_at_ms, balance_micro, spend_per_day_micro)
    VALUES ('${keyId}', 'hash of ${keyId}', 'sk-abc', 'bob', 5, 100, 1000)`);
  for (const [kind, micro, of] of [
    ['grant', 130, 'NULL'],
    ['reserve', -40, `'${requestId}'`],
    ['release', 40, `'${requestId}'`],
    ['settle', -30, `'${requestId}'`],
  ]) {
    await database.run(`INSERT INTO ledger (key, kind, amount_micro, request_id, note, created_at_ms)
      SELECT seq, '${kind}', ${micro}, ${of}, '', 5 FROM keys WHERE key_id = '${keyId}'`);
  }
  await database.run(`INSERT INTO requests (request_id, caller, endpoint, model, stream, status, created_at_ms, completed_at_ms,
      estimated_input_tokens, input_tokens, cached_tokens, output_tokens, reasoning_tokens, total_tokens, cost_micro,
      error_code, idempotency_key, body, key, held_micro)
    SELECT '${requestId}', key_id, 'responses', 'm', 0, 'succeeded', 5, 6, 7, 8, 3, 2, 1, 10, 30, NULL, 'once', 'body', seq, 40
    FROM keys WHERE key_id = '${keyId}'`);
  await database.run(`INSERT INTO requests (request_id, caller, endpoint, model, stream, status, created_at_ms, completed_at_ms,
      estimated_input_tokens, error_code)
    VALUES ('${failedId}', '${keyId}', 'responses', 'm', 1, 'failed', 5, 6, 7, 'upstream_error')`);
  await database.run(`INSERT INTO usage (hour, caller, model, requests, failed, cancelled, input_tokens, cached_tokens, output_tokens,
      reasoning_tokens, cost_micro, duration_ms) VALUES (0, '${keyId}', 'm', 2, 1, 0, 8, 3, 2, 1, 30, 2)`);
  return { keyId, requestId };
}

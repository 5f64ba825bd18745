import { copyFileSync } from 'node:fs';
import { dirname } from 'node:path';
import Sqlite from 'better-sqlite3';
import { expect } from 'chai';
import { checkDatabase, upgradeDatabase } from '../../../src/store/maintenance.ts';
import { openStore } from '../../../src/store/open.ts';
import { createPrivateFile, makePrivateFolder } from '../../../src/store/private-files.ts';
import { changeMark, readMarking } from '../../../src/store/secret-mark.ts';
import { openDatabase } from '../../../src/store/sqlite/database.ts';
import { MIGRATIONS } from '../../../src/store/sqlite/migrations.ts';
import { StoreOpenError } from '../../../src/core/books/store.ts';
import {
  planTransfer,
  transferDatabase,
  TransferMismatch,
  type TransferOptions,
  type TransferPlan,
  type TransferProgress,
  type TransferReport,
} from '../../../src/store/transfer/transfer.ts';
import { newGroupDraft, newHold, newKeyDraft } from '../../support/keys.ts';
import { addManyRows } from '../../support/many-rows.ts';
import { startStoreProcess } from '../../support/other-process.ts';
import { createTestDatabase, findPostgres, type TestDatabase } from '../../support/postgres.ts';
import { CALLER, newDraft, newKeyedDraft, newOutcome } from '../../support/records.ts';
import { makeWorkshop, type Workshop } from '../../support/sqlite.ts';

const server = await findPostgres();
/** More than two batches of each of the large tables. */
const ROWS = 5000;

if (server !== undefined) {
  describe('a transfer from SQLite to PostgreSQL', () => {
    let shop: Workshop;
    let target: TestDatabase;
    /** What is copied for each test: a database without rows, and one with many. */
    let templates: Workshop;
    let emptyFile: string;
    let filledFile: string;

    before(async () => {
      target = await createTestDatabase(server);
      templates = makeWorkshop();
      emptyFile = `${templates.folder}/empty.db`;
      filledFile = `${templates.folder}/filled.db`;
      await upgradeDatabase({ kind: 'file', path: templates.file });
      copyFileSync(templates.file, emptyFile);
      addManyRows(templates.file, ROWS);
      copyFileSync(templates.file, filledFile);
    });
    after(async () => {
      await templates.clear();
      await target.drop();
    });
    beforeEach(() => {
      shop = makeWorkshop();
      makePrivateFolder(dirname(shop.file));
      createPrivateFile(shop.file);
      copyFileSync(emptyFile, shop.file);
    });
    afterEach(async () => {
      await shop.clear();
      // Cheaper than another database.
      await target.run('DROP SCHEMA public CASCADE; CREATE SCHEMA public');
    });

    function fill(): void {
      copyFileSync(filledFile, shop.file);
    }

    function transfer(options: Partial<TransferOptions> = {}): Promise<TransferReport> {
      return transferDatabase({
        file: shop.file,
        url: target.url,
        signal: new AbortController().signal,
        onProgress: () => undefined,
        clock: Date.now,
        ...options,
      });
    }

    function plan(file = shop.file): Promise<TransferPlan> {
      return planTransfer({ file, url: target.url });
    }

    /** Runs it until `isEnough`, as Ctrl-C would end it there. */
    async function interrupt(isEnough: (progress: TransferProgress) => boolean): Promise<void> {
      const controller = new AbortController();
      const onProgress = (progress: TransferProgress) => isEnough(progress) && controller.abort();
      const outcome = await transfer({ signal: controller.signal, onProgress }).catch((error: unknown) => error);
      expect(outcome).to.have.property('name', 'AbortError');
    }

    async function refusal(call: Promise<unknown>): Promise<string> {
      const error = await call.then(
        () => undefined,
        (error: unknown) => error,
      );
      if (!(error instanceof StoreOpenError)) throw new Error('it was not refused', { cause: error });
      return error.message;
    }

    function readSource(table: string): readonly string[] {
      const database = new Sqlite(shop.file, { readonly: true });
      const rows = database
        .prepare<[], Record<string, bigint | string | null>>(`SELECT * FROM ${table}`)
        .safeIntegers()
        .all();
      database.close();
      return rows.map(toLine).toSorted();
    }

    async function readTarget(table: string): Promise<readonly string[]> {
      const rows = (await target.run(`SELECT * FROM ${table}`)) as Record<string, string | number | null>[];
      return rows.map(toLine).toSorted();
    }

    function toLine(row: Record<string, bigint | string | number | null>): string {
      return JSON.stringify(
        Object.keys(row)
          .toSorted()
          .map((name) => [name, row[name] === null ? null : String(row[name])]),
      );
    }

    async function expectSame(): Promise<void> {
      for (const table of ['groups', 'keys', 'ledger', 'requests', 'usage', 'group_usage']) {
        expect(await readTarget(table), table).to.deep.equal(readSource(table));
      }
    }

    async function countTarget(table: string): Promise<number> {
      return (await target.run(`SELECT 1 FROM ${table}`)).length;
    }

    it('brings every value of every row as it is', async () => {
      fill();
      const { tables, sums } = await transfer();
      await expectSame();
      expect(tables).to.deep.equal([
        { name: 'accepted_callers', rows: 0 },
        { name: 'alerts', rows: 0 },
        { name: 'charged_currency', rows: 0 },
        { name: 'group_usage', rows: 0 },
        { name: 'groups', rows: 0 },
        { name: 'keys', rows: 1 },
        { name: 'ledger', rows: ROWS },
        { name: 'request_stats', rows: 0 },
        { name: 'requests', rows: ROWS },
        { name: 'secret_mark', rows: 0 },
        { name: 'usage', rows: ROWS / 100 },
        { name: 'usage_rollups', rows: 0 },
        { name: 'usage_sums', rows: 0 },
      ]);
      expect(sums).to.deep.equal({ ledger: String(-ROWS / 2), balances: String(-ROWS / 2), held: '0' });
    });

    it('tells how far it has come, first with what is copied and then with what is compared', async () => {
      fill();
      const told: TransferProgress[] = [];
      await transfer({ onProgress: (progress) => told.push(progress) });
      const ofRows = 2 * ROWS + ROWS / 100 + 1;
      for (const step of ['copy', 'compare']) {
        const rows = told.filter((progress) => progress.step === step).map((progress) => progress.rows);
        expect(rows).to.have.lengthOf.above(6);
        expect(rows).to.deep.equal(rows.toSorted((one, other) => one - other));
        expect(rows.at(-1)).to.equal(ofRows);
      }
      expect(new Set(told.map((progress) => progress.ofRows))).to.deep.equal(new Set([ofRows]));
    });

    for (const { when, isEnough } of [
      { when: 'while it copies', isEnough: ({ rows }: TransferProgress) => rows > ROWS + 1000 },
      { when: 'while it compares', isEnough: ({ step }: TransferProgress) => step === 'compare' },
    ]) {
      it(`brings nothing if it is interrupted ${when}, and everything in the next run`, async () => {
        fill();
        await interrupt(isEnough);
        for (const table of ['ledger', 'requests', 'keys']) expect(await countTarget(table), table).to.equal(0);
        await transfer();
        await expectSame();
      });
    }

    it('brings everything in the run after one whose connection was lost', async () => {
      fill();
      let lost: Promise<unknown> | undefined;
      const cut = () => {
        lost ??= target.run(`SELECT pg_terminate_backend(pid) FROM pg_stat_activity
          WHERE datname = current_database() AND application_name = 'responses-gateway'`);
      };
      const message = await refusal(transfer({ onProgress: ({ rows }) => (rows > 0 ? cut() : undefined) }));
      expect(message).to.match(/^The database postgres:\/\/\S+ cannot be used: .*\.$/);
      await lost;
      await transfer();
      await expectSame();
    });

    it('refuses to bring it a second time', async () => {
      addManyRows(shop.file, 10);
      await transfer();
      for (const call of [transfer, plan]) expect(await refusal(call())).to.match(/ is not empty: it has /);
      await expectSame();
    });

    it('puts a replacement for the one character that PostgreSQL has in no text, as the store there does', async () => {
      addManyRows(shop.file, 10);
      shop.tamper(`UPDATE requests SET model = 'a' || char(0) || 'b' WHERE seq = 1`);
      await transfer();
      expect(await target.run('SELECT model FROM requests WHERE seq = 1')).to.deep.equal([{ model: 'a\uFFFDb' }]);
    });

    for (const { what, mark } of [
      { what: 'that of the source', mark: 'of the source' },
      { what: 'none where the source has none', mark: undefined },
    ]) {
      it(`takes the secret of a gateway that has begun too early from an empty target, for ${what}`, async () => {
        const [source, server] = [
          { kind: 'file', path: shop.file } as const,
          { kind: 'postgres', url: target.url } as const,
        ];
        if (mark !== undefined) await changeMark(source, { from: undefined, to: mark });
        await changeMark(server, { from: undefined, to: 'of an empty database' });
        await transfer();
        expect((await readMarking(server)).mark).to.equal(mark);
      });
    }

    it('leaves the source as it was', async () => {
      addManyRows(shop.file, 10);
      const before = readSource('requests');
      await transfer();
      expect(readSource('requests')).to.deep.equal(before);
      expect(await checkDatabase({ kind: 'file', path: shop.file })).to.deep.include({ records: 10, problems: [] });
    });

    it('gives new rows places behind all that ever were, so that lists stay in their order', async () => {
      const source = await shop.open();
      const drafts = [newDraft(), newDraft(), newKeyedDraft('one')];
      for (const draft of drafts) {
        await source.accept(draft);
        await source.finish(draft.requestId, newOutcome());
      }
      const kept = await source.createKey(newKeyDraft({ creditsMicro: 10 }));
      const deleted = await source.createKey(newKeyDraft({ creditsMicro: 10 }));
      await source.deleteKey(deleted.keyId);
      await source.close();
      await transfer();
      const store = await openStore({ databaseUrl: target.url, recordRetentionDays: 30 });
      try {
        const [draft, again] = [newDraft(), newKeyedDraft('one')];
        expect(await store.accept(again)).to.include({ kind: 'duplicate' });
        expect(await store.accept(draft)).to.include({ kind: 'accepted' });
        const ids = [...drafts, draft].map(({ requestId }) => requestId).toReversed();
        const first = await store.list(CALLER, { limit: 2 });
        const rest = await store.list(CALLER, { limit: 10, ...(ids[1] !== undefined && { after: ids[1] }) });
        expect([first, rest].flatMap((page) => page?.records ?? []).map(({ requestId }) => requestId)).to.deep.equal(
          ids,
        );
        const made = await store.createKey(newKeyDraft({ creditsMicro: 10 }));
        expect((await store.listLedger(made.keyId, { limit: 10 }))?.entries).to.have.lengthOf(1);
        expect((await store.listKeys({ limit: 10 }))?.keys.map(({ keyId }) => keyId)).to.deep.equal([
          made.keyId,
          kept.keyId,
        ]);
      } finally {
        await store.close();
      }
      const [row] = await target.run('SELECT max(seq)::int AS seq FROM keys');
      expect(row, 'the place of a key which was deleted is not given again').to.deep.equal({ seq: 3 });
    });

    it('brings groups with their keys, their ledgers, their records and their usage', async () => {
      const source = await shop.open();
      const [{ groupId }, gone] = [
        await source.createGroup(newGroupDraft({ creditsMicro: 1000 })),
        await source.createGroup(newGroupDraft({ creditsMicro: 7 })),
      ];
      await source.deleteGroup(gone.groupId);
      const { keyId } = await source.createKey(newKeyDraft({ groupId }));
      const draft = newDraft({ caller: [keyId], hold: newHold(keyId, 30) });
      await source.accept(draft);
      await source.finish(draft.requestId, newOutcome({ costMicro: 12 }));
      await source.close();
      expect((await transfer()).sums).to.deep.equal({ ledger: '995', balances: '988', held: '0' });
      await expectSame();
      const store = await openStore({ databaseUrl: target.url, recordRetentionDays: 30 });
      try {
        expect(await store.findGroup(groupId)).to.include({ balanceMicro: 988, heldMicro: 0, keys: 1 });
        expect((await store.findKey(keyId))?.group).to.include({ groupId });
        await store.prune(0);
        expect(await countTarget('ledger'), 'without the entries of the deleted group').to.equal(4);
        await store.createGroup(newGroupDraft());
      } finally {
        await store.close();
      }
      const [row] = await target.run('SELECT max(seq)::int AS seq FROM groups');
      expect(row, 'the place of a group which was deleted is not given again').to.deep.equal({ seq: 3 });
    });

    it('sees to it that the entries of a deleted key go', async () => {
      const source = await shop.open();
      const { keyId } = await source.createKey(newKeyDraft({ creditsMicro: 10 }));
      await source.deleteKey(keyId);
      await source.close();
      await transfer();
      expect(await countTarget('ledger')).to.equal(1);
      const store = await openStore({ databaseUrl: target.url, recordRetentionDays: 30 });
      await store.prune(0);
      await store.close();
      expect(await countTarget('ledger')).to.equal(0);
    });

    it('closes what a dead gateway left unfinished, and settles its hold once', async () => {
      const source = await shop.open();
      const { keyId } = await source.createKey(newKeyDraft({ creditsMicro: 1000 }));
      await source.close();
      const draft = newDraft({ hold: newHold(keyId, 30) });
      await (await startStoreProcess({ databaseUrl: `file:${shop.file}`, drafts: [draft] })).kill();
      expect(await plan()).to.include({ unfinished: 1 });
      expect((await transfer()).closed).to.equal(1);
      const store = await openStore({ databaseUrl: target.url, recordRetentionDays: 30 });
      expect(await store.find(CALLER, draft.requestId)).to.include({
        status: 'failed',
        errorCode: 'gateway_interrupted',
      });
      expect(await store.findKey(keyId)).to.include({ balanceMicro: 999, heldMicro: 0 });
      await store.close();
    });

    it('brings an older source up to this version first', async () => {
      const file = `${shop.folder}/old/gateway.db`;
      makePrivateFolder(dirname(file));
      createPrivateFile(file);
      const old = openDatabase({ file, openWithinMs: 5000, migrations: MIGRATIONS.slice(0, 1) });
      old.exec(`
        INSERT INTO requests (request_id, caller, endpoint, model, stream, status, created_at_ms, completed_at_ms,
          estimated_input_tokens) VALUES ('req_old', 'caller', 'responses', 'm', 0, 'succeeded', 5, 6, 7)`);
      old.close();
      expect(await refusal(plan(file))).to.match(/is of an older version; db migrate/);
      await transfer({ file });
      expect(await target.run('SELECT request_id FROM requests')).to.deep.equal([{ request_id: 'req_old' }]);
    });

    it('refuses a source of a newer version', async () => {
      shop.tamper(`INSERT INTO migrations (name, applied_at_ms) VALUES ('9999_future', 0)`);
      expect(await refusal(transfer())).to.match(
        /was written by a newer version of this program \(it has "9999_future"\)/,
      );
      expect(await refusal(plan())).to.match(/newer version/);
    });

    it('refuses a target of a newer version', async () => {
      await transfer();
      await target.run(`INSERT INTO migrations (name, applied_at_ms) VALUES ('9999_future', 0)`);
      expect(await refusal(transfer())).to.match(/was written by a newer version of this program/);
      expect(await refusal(plan())).to.match(/newer version/);
    });

    it('refuses a source that a gateway has open, and one whose ledgers do not add up', async () => {
      const store = await shop.open();
      for (const call of [transfer, plan]) {
        expect(await refusal(call())).to.match(/is open in another process; stop the gateway first/);
      }
      await store.createKey(newKeyDraft({ creditsMicro: 10 }));
      await store.close();
      shop.tamper('UPDATE keys SET balance_micro = 11');
      for (const call of [transfer, plan]) {
        expect(await refusal(call())).to.match(/is not sound; .* its ledger adds up to 0\.00001\.$/);
      }
      expect(await countTarget('pg_tables WHERE schemaname = current_schema()')).to.equal(0);
    });

    it('keeps all others from writing the source meanwhile', async () => {
      addManyRows(shop.file, 10);
      const told: string[] = [];
      await transfer({
        onProgress() {
          const other = new Sqlite(shop.file, { timeout: 0 });
          try {
            other.exec('BEGIN IMMEDIATE');
          } catch (error) {
            told.push((error as Error).message);
          } finally {
            other.close();
          }
        },
      });
      expect(new Set(told)).to.deep.equal(new Set(['database is locked']));
    });

    it('refuses a target that holds anything, by name, and does not touch its version', async () => {
      const store = await openStore({ databaseUrl: target.url, recordRetentionDays: 30 });
      await store.createKey(newKeyDraft({ creditsMicro: 10 }));
      const living = await refusal(transfer());
      expect(living).to.match(
        /^postgres:\/\/\S+ is in use by a gateway, or was within the last \d+ seconds; stop it first\.$/,
      );
      await store.close();
      await target.run('DELETE FROM migrations WHERE name = (SELECT max(name) FROM migrations)');
      const versions = await countTarget('migrations');
      for (const call of [transfer, plan]) {
        expect(await refusal(call())).to.match(/ is not empty: it has 1 rows in keys, 1 rows in ledger\.$/);
      }
      expect(await countTarget('migrations')).to.equal(versions);
    });

    it('lets nobody use what an earlier version has brought in part', async () => {
      await upgradeDatabase({ kind: 'postgres', url: target.url });
      await target.run(`
        CREATE TABLE sqlite_transfer (table_name text PRIMARY KEY, finished_at timestamptz);
        INSERT INTO sqlite_transfer VALUES ('keys', NULL)`);
      for (const use of [
        () => openStore({ databaseUrl: target.url, recordRetentionDays: 30 }),
        () => checkDatabase({ kind: 'postgres', url: target.url }),
        () => transfer(),
      ]) {
        expect(await refusal(use())).to.match(/holds a part of another one, from a db migrate of an earlier version/);
      }
      await target.run('UPDATE sqlite_transfer SET finished_at = now()');
      expect(await checkDatabase({ kind: 'postgres', url: target.url })).to.deep.include({ problems: [] });
    });

    for (const { what, table, sql, told } of [
      {
        what: 'a value that is another',
        table: 'requests',
        sql: 'IF NEW.seq = 7 THEN NEW.output_tokens = 23; END IF;',
        told: [/^requests: 1 rows are missing or differ\.$/m],
      },
      {
        what: 'a value that is missing',
        table: 'requests',
        sql: 'IF NEW.seq = 11 THEN NEW.error_code = NULL; END IF;',
        told: [/^requests: 1 rows are missing or differ\.$/m],
      },
      {
        what: 'a row that is missing',
        table: 'usage',
        sql: 'IF NEW.hour = 0 THEN RETURN NULL; END IF;',
        told: [/^usage: \d rows are missing or differ\.$/m, /^usage: \d+ rows, where the source has 50\.$/m],
      },
      {
        what: 'a row that is too many',
        table: 'ledger',
        sql: `IF NEW.seq = 1 THEN
          INSERT INTO ledger (seq, key, kind, amount_micro, note, created_at_ms) OVERRIDING SYSTEM VALUE
            VALUES (${ROWS + 1}, 9, 'grant', 4, '', 5);
        END IF;`,
        told: [
          /^ledger: 5001 rows, where the source has 5000\.$/m,
          /^The sum of ledger is -2496 millionths, where the source has -2500\.$/m,
        ],
      },
      {
        what: 'a ledger that does not add up',
        table: 'keys',
        sql: 'NEW.balance_micro = 5;',
        told: [
          /^keys: 1 rows are missing or differ\.$/m,
          /its balance is 0\.000005, but its ledger adds up to -0\.0025\.$/m,
        ],
      },
    ]) {
      it(`finds ${what}, names the table, and keeps nothing`, async () => {
        fill();
        await upgradeDatabase({ kind: 'postgres', url: target.url });
        await target.run(`
          CREATE FUNCTION spoil() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN ${sql} RETURN NEW; END $$;
          CREATE TRIGGER spoil BEFORE INSERT ON ${table} FOR EACH ROW EXECUTE FUNCTION spoil()`);
        const error = await transfer().catch((error: unknown) => error);
        if (!(error instanceof TransferMismatch)) throw new Error('no difference was found', { cause: error });
        expect(error.message).to.match(/^postgres:\/\/\S+ would not be what the source is, so nothing was kept:$/m);
        for (const line of told) expect(error.message).to.match(line);
        for (const name of ['requests', 'ledger', 'keys']) expect(await countTarget(name), name).to.equal(0);
      });
    }

    it('changes nothing on either side when it only plans', async () => {
      addManyRows(shop.file, 10);
      const { tables } = await plan();
      expect(tables).to.deep.include({ name: 'requests', rows: 10 });
      expect(await countTarget('pg_tables WHERE schemaname = current_schema()')).to.equal(0);
    });

    it('refuses a server that is not there, and a file that is not there', async () => {
      const url = 'postgres://who:canary@127.0.0.1:1/gateway';
      const message = await refusal(transfer({ url }));
      expect(message).to.match(/^The database postgres:\/\/127\.0\.0\.1:1\/gateway cannot be used: .*ECONNREFUSED/);
      expect(message).not.to.contain('canary');
      expect(await refusal(transfer({ file: `${shop.folder}/none.db` }))).to.match(/^There is no database /);
    });
  });
}

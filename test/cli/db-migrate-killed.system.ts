import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { expect } from 'chai';
import { Client } from 'pg';
import type { RequestRecord } from '../../src/contract/types.ts';
import type { AdminKey, IssuedKey } from '../../src/contract/operator-types.ts';
import { upgradeDatabase } from '../../src/store/maintenance.ts';
import { callerOf, type Caller } from '../records/caller.ts';
import { run } from '../support/cli.ts';
import { openGateway, type TestGateway } from '../support/gateway.ts';
import { addManyRows } from '../support/many-rows.ts';
import { createTestDatabase, findPostgres, type TestDatabase } from '../support/postgres.ts';
import { useRealSockets } from '../support/real-sockets.ts';
import { makeWorkshop, type Workshop } from '../support/sqlite.ts';
import { until } from '../support/time.ts';

const MAIN = join(import.meta.dirname, '../../src/cli/main.ts');
const server = await findPostgres();

/** Of requests, and as many of the ledger. */
const ROWS = 20_000;
const ALL_ROWS = 2 * ROWS;
/** The parts of the requests after which the command is killed. */
const KILLS = [0.1, 0.8];
/** Far more than it needs (some 150 MB beside those of Node itself), and far less than all rows in memory. */
const MOST_MEMORY_BYTES = 700_000_000;

/** The process says at its end what it had in memory at most. */
const TELL_MEMORY = `data:text/javascript,
  process.on('exit', () => console.error('at most ' + process.resourceUsage().maxRSS + ' kB'));`;

/** A trigger that waits for the lock 1 as soon as so many requests have come. */
const HOLD_FUNCTION = `
  CREATE FUNCTION hold() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
    IF (SELECT count(*) FROM requests) >= TG_ARGV[0]::int THEN PERFORM pg_advisory_xact_lock(1); END IF;
    RETURN NULL;
  END $$`;

if (server !== undefined) {
  describe('db migrate, killed in the middle', () => {
    useRealSockets();
    let shop: Workshop;
    let target: TestDatabase;
    let gateway: TestGateway;
    let managed: Readonly<Record<string, string>>;

    beforeEach(async () => {
      shop = makeWorkshop();
      target = await createTestDatabase(server);
      const pricesFile = join(shop.folder, 'prices.json');
      writeFileSync(pricesFile, '{"currency": "USD", "models": {"demo": {"input": "2", "output": "10"}}}');
      managed = { AUTH_MODE: 'managed', PRICES_FILE: pricesFile };
    });
    afterEach(async () => {
      await gateway.close();
      await shop.clear();
      await target.drop();
    });

    it(`brings ${ROWS} requests at last, and a gateway on PostgreSQL goes on where the one on SQLite stopped`, async () => {
      const before = { ...managed, DATABASE_URL: `file:${shop.file}` };
      gateway = await openGateway(before);
      const { id, secret } = await json<IssuedKey>(['keys', 'create', '--name', 'alice', '--credits', '10'], before);
      const old = await useGateway(callerOf(gateway.url, secret));
      const books = await json<AdminKey>(['keys', 'show', id], before);
      const refused = await run(['db', 'migrate', '--to', target.url], { env: before });
      expect(refused.stderr).to.match(/is open in another process; stop the gateway first/);
      await gateway.close();
      addManyRows(shop.file, ROWS);

      await upgradeDatabase({ kind: 'postgres', url: target.url });
      await target.run(HOLD_FUNCTION);
      for (const part of KILLS) await killAt(part * ROWS, before);
      await target.run('DROP FUNCTION hold CASCADE');
      const startedAtMs = performance.now();
      const memoryBytes = await complete(before);
      const seconds = (performance.now() - startedAtMs) / 1000;
      console.log(
        `    ${ALL_ROWS} rows copied and compared in ${seconds.toFixed(1)} s, with ${Math.round(memoryBytes / 1e6)} MB`,
      );
      expect(memoryBytes).to.be.below(MOST_MEMORY_BYTES);

      const secretFile = join(shop.file, '../gateway.secret');
      const after = { ...managed, DATABASE_URL: target.url, GATEWAY_SECRET: readFileSync(secretFile, 'utf8').trim() };
      gateway = await openGateway(after);
      const caller = callerOf(gateway.url, secret);
      expect(await json<AdminKey>(['keys', 'show', id], after)).to.deep.equal(books);
      await expectKnown(caller, old);
      expect(await run('db check', { env: after })).to.include({ status: 0 });
    });

    async function json<Value>(line: readonly string[], env: Readonly<Record<string, string>>): Promise<Value> {
      const { status, stdout, stderr } = await run([...line, '--json'], { env });
      expect(status, stderr).to.equal(0);
      return JSON.parse(stdout) as Value;
    }

    interface Old {
      /** Newest first, as the caller's list has them. */
      readonly records: readonly RequestRecord[];
    }

    function ask(caller: Caller, name: string): Promise<Response> {
      return caller.create({ model: 'demo', input: name }, { headers: { 'idempotency-key': name } });
    }

    async function useGateway(caller: Caller): Promise<Old> {
      for (const name of ['one', 'two', 'three', 'four']) {
        const reply = await ask(caller, name);
        expect(reply.status, await reply.text()).to.equal(200);
      }
      return { records: await list(caller, '') };
    }

    async function list(caller: Caller, query: string): Promise<readonly RequestRecord[]> {
      const reply = await caller.get(`/api/v1/requests${query}`);
      const { data } = (await reply.json()) as { readonly data: readonly RequestRecord[] };
      return data;
    }

    async function expectKnown(caller: Caller, { records }: Old): Promise<void> {
      const sameSomewhereElse = (record: RequestRecord) => ({ ...record, status_url: '' });
      const repeated = await ask(caller, 'two');
      const original = (await repeated.json()) as RequestRecord;
      expect(repeated.status).to.equal(409);
      expect(original.request_id).to.equal(records[2]?.request_id);
      const added = await ask(caller, 'five');
      expect(added.status, await added.text()).to.equal(200);
      const [newest, ...older] = await list(caller, '');
      expect(newest?.request_id).to.equal(added.headers.get('x-request-id'));
      expect(older.map(sameSomewhereElse)).to.deep.equal(records.map(sameSomewhereElse));
      const page = await list(caller, `?limit=2&after=${records[0]?.request_id}`);
      expect(page.map(({ request_id: id }) => id)).to.deep.equal(records.slice(1, 3).map(({ request_id: id }) => id));
    }

    function start(env: Readonly<Record<string, string>>) {
      return spawn(process.execPath, ['--import', TELL_MEMORY, MAIN, 'db', 'migrate', '--to', target.url, '--json'], {
        cwd: shop.folder,
        env,
        stdio: ['ignore', 'pipe', 'pipe'],
      });
    }

    /** Starts it, and ends it as a loss of power would, when so many requests have come. Until then nobody sees or uses them. */
    async function killAt(rows: number, env: Readonly<Record<string, string>>): Promise<void> {
      const holder = new Client({ connectionString: target.url });
      await holder.connect();
      await holder.query(`SELECT pg_advisory_lock(1); SET lock_timeout = 100`);
      await target.run(`DROP TRIGGER IF EXISTS hold ON requests;
        CREATE TRIGGER hold BEFORE INSERT ON requests EXECUTE FUNCTION hold(${rows})`);
      const child = start(env);
      const exit = once(child, 'exit');
      const said = text(child.stderr);
      await until(async () => child.exitCode !== null || (await isHeld()));
      if (child.exitCode !== null) expect.fail(`it ended before it was killed: ${await said}`);
      expect(await target.run('SELECT 1 FROM requests LIMIT 1')).to.deep.equal([]);
      const begun = await holder
        .query(`INSERT INTO owners VALUES ('a gateway', now())`)
        .catch((error: unknown) => error);
      expect(begun)
        .to.have.property('message')
        .that.matches(/lock timeout/);
      child.kill('SIGKILL');
      await exit;
      await holder.end();
      expect(child.signalCode, await said).to.equal('SIGKILL');
      expect(await target.run('SELECT 1 FROM requests LIMIT 1')).to.deep.equal([]);
    }

    async function isHeld(): Promise<boolean> {
      const waiting = await target.run(`SELECT 1 FROM pg_stat_activity
        WHERE datname = current_database() AND wait_event_type = 'Lock' AND wait_event = 'advisory'`);
      return waiting.length > 0;
    }

    async function complete(env: Readonly<Record<string, string>>): Promise<number> {
      const child = start(env);
      const exit = once(child, 'exit');
      const said = text(child.stderr);
      child.stdout.resume();
      await exit;
      expect(child.exitCode, await said).to.equal(0);
      return Number(/^at most (\d+) kB$/m.exec(await said)?.[1]) * 1024;
    }
  });
}

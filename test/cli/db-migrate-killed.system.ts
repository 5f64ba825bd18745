import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { setTimeout as delay } from 'node:timers/promises';
import { expect } from 'chai';
import type { AdminKey, IssuedKey, RequestRecord } from '../../src/contract/types.ts';
import { callerOf, type Caller } from '../records/caller.ts';
import { run } from '../support/cli.ts';
import { openGateway, type TestGateway } from '../support/gateway.ts';
import { addManyRows } from '../support/many-rows.ts';
import { createTestDatabase, findPostgres, type TestDatabase } from '../support/postgres.ts';
import { useRealSockets } from '../support/real-sockets.ts';
import { makeWorkshop, type Workshop } from '../support/sqlite.ts';

const MAIN = join(import.meta.dirname, '../../src/cli/main.ts');
const server = await findPostgres();

/** Of requests, and as many of the ledger. */
const ROWS = 20_000;
const ALL_ROWS = 2 * ROWS;
/** The parts of all rows after which the command is killed. */
const KILLS = [0.1, 0.45, 0.8];
/** Far more than it needs (some 150 MB beside those of Node itself), and far less than all rows in memory. */
const MOST_MEMORY_BYTES = 700_000_000;

if (server !== undefined) {
  describe('db migrate, killed in the middle', function () {
    useRealSockets();
    this.timeout(300_000);
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

      for (const part of KILLS) await killAt(part * ALL_ROWS, before);
      const startedAtMs = performance.now();
      const { printed, memoryBytes } = await complete(before);
      const seconds = (performance.now() - startedAtMs) / 1000;
      const { resumed_at_rows: resumedAtRows } = JSON.parse(printed) as { readonly resumed_at_rows: number };
      console.log(
        `    the rest, ${ALL_ROWS - resumedAtRows} of ${ALL_ROWS} rows, copied and all of them compared in ` +
          `${seconds.toFixed(1)} s, with ${Math.round(memoryBytes / 1e6)} MB`,
      );
      expect(memoryBytes).to.be.below(MOST_MEMORY_BYTES);
      expect(resumedAtRows).to.be.within((KILLS.at(-1) ?? 0) * ALL_ROWS, ALL_ROWS);

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
      return spawn(process.execPath, [MAIN, 'db', 'migrate', '--to', target.url, '--json'], {
        cwd: shop.folder,
        env,
        stdio: ['ignore', 'pipe', 'pipe'],
      });
    }

    /** Starts it, and ends it as a loss of power would, as soon as so many rows have arrived. */
    async function killAt(rows: number, env: Readonly<Record<string, string>>): Promise<void> {
      const child = start(env);
      const exit = once(child, 'exit');
      const said = text(child.stderr);
      while (child.exitCode === null && (await countArrived()) < rows) await delay(5);
      child.kill('SIGKILL');
      await exit;
      expect(child.signalCode, await said).to.equal('SIGKILL');
      expect(await countArrived()).to.be.below(ALL_ROWS);
    }

    async function countArrived(): Promise<number> {
      const [found] = await target.run(`SELECT to_regclass('sqlite_transfer') IS NOT NULL AS has`);
      if (!(found as { readonly has: boolean }).has) return 0;
      const [row] = await target.run('SELECT sum(arrived_rows)::int AS rows FROM sqlite_transfer');
      return (row as { readonly rows: number }).rows;
    }

    async function complete(env: Readonly<Record<string, string>>) {
      const child = start(env);
      const exit = once(child, 'exit');
      const [printed, said] = [text(child.stdout), text(child.stderr)];
      let memoryBytes = 0;
      while (child.exitCode === null) {
        memoryBytes = Math.max(memoryBytes, readPeak(child.pid));
        await Promise.race([delay(50), exit]);
      }
      expect(child.exitCode, await said).to.equal(0);
      return { printed: await printed, memoryBytes };
    }

    /** What the process had in memory at most so far; 0 where the system does not tell. */
    function readPeak(pid: number | undefined): number {
      const file = `/proc/${pid}/status`;
      if (statSync(file, { throwIfNoEntry: false }) === undefined) return 0;
      return Number(/^VmHWM:\s+(\d+) kB$/m.exec(readFileSync(file, 'utf8'))?.[1] ?? 0) * 1024;
    }
  });
}

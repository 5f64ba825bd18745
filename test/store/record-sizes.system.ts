/**
 * What a record takes in the database: the table in `src/docs/database.md`. `SIZED_RECORDS=100000 mocha
 * test/store/record-sizes.system.ts` prints it for as many as that.
 */
import { randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import Sqlite from 'better-sqlite3';
import { expect } from 'chai';
import { Client } from 'pg';
import { openStore } from '../../src/store/open.ts';
import type { RecordDraft, Store } from '../../src/core/books/store.ts';
import { cpuTimeMs } from '../support/cpu-time.ts';
import { newHold, newKeyDraft } from '../support/keys.ts';
import { isPostgresInstalled, startPostgresServer, type PostgresServer } from '../support/postgres-server.ts';
import { newDraft, newOutcome } from '../support/records.ts';

const RECORDS = Number(process.env['SIZED_RECORDS'] ?? 3000);
const AT_ONCE = 250;
const COST_MICRO = 92;

type NewDraft = () => RecordDraft;

const newHmac = (): string => randomBytes(24).toString('base64url').slice(0, 22);
const newIdempotency = () => ({ key: [newHmac()], body: [newHmac()] }) as const;
const caller = [newHmac()] as const;

/** Twice as much is a defect, such as an index that nobody needs. */
const KINDS: readonly {
  readonly name: string;
  readonly open: (store: Store) => NewDraft | Promise<NewDraft>;
  readonly atMostBytes: { readonly sqlite: number; readonly postgres: number };
}[] = [
  {
    name: 'plain',
    open: () => () => newDraft({ caller }),
    atMostBytes: { sqlite: 1000, postgres: 1200 },
  },
  {
    name: 'with idempotency key',
    open: () => () => newDraft({ caller, idempotency: newIdempotency() }),
    atMostBytes: { sqlite: 1200, postgres: 1600 },
  },
  {
    name: 'managed, with idempotency key',
    async open(store) {
      const { keyId } = await store.createKey(newKeyDraft({ creditsMicro: 1e12 }));
      return () => newDraft({ caller: [keyId], idempotency: newIdempotency(), hold: newHold(keyId, 1000) });
    },
    atMostBytes: { sqlite: 2000, postgres: 2600 },
  },
];

/** Returns the CPU time of this process for each record, in microseconds. */
async function fill(databaseUrl: string, open: (store: Store) => NewDraft | Promise<NewDraft>): Promise<number> {
  const store = await openStore({ databaseUrl, recordRetentionDays: 30 });
  const draft = await open(store);
  const startedMs = cpuTimeMs();
  for (let made = 0; made < RECORDS; made += AT_ONCE) {
    const drafts = Array.from({ length: AT_ONCE }, draft);
    await Promise.all(drafts.map((each) => store.accept(each)));
    const outcome = newOutcome({ costMicro: COST_MICRO });
    await Promise.all(drafts.map(({ requestId }) => store.finish(requestId, outcome)));
  }
  const tookMs = cpuTimeMs() - startedMs;
  await store.close();
  return (tookMs * 1000) / RECORDS;
}

function print(name: string, figures: Readonly<Record<string, number>>): void {
  const shown = Object.entries(figures).map(([figure, value]) => `${Math.round(value)} ${figure}`);
  console.log(`  ${name}: ${shown.join(', ')}`);
}

describe(`the sizes of ${RECORDS} records on SQLite`, () => {
  let folder: string;
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'sizes-'));
  });
  afterEach(() => rmSync(folder, { recursive: true, force: true }));

  /** With what is in the log, and without free pages. */
  function measure(file: string): number {
    const database = new Sqlite(file);
    database.pragma('wal_checkpoint(TRUNCATE)');
    database.exec('VACUUM');
    database.pragma('wal_checkpoint(TRUNCATE)');
    database.close();
    return statSync(file).size;
  }

  for (const { name, open, atMostBytes } of KINDS) {
    it(`are at most ${atMostBytes.sqlite} bytes each, ${name}`, async () => {
      const file = join(folder, 'sizes.db');
      const micros = await fill(`file:${file}`, open);
      const bytes = measure(file) / RECORDS;
      print(name, { 'bytes kept': bytes, 'µs of CPU': micros });
      expect(bytes).to.be.at.most(atMostBytes.sqlite);
    });
  }
});

if (isPostgresInstalled()) {
  describe(`the sizes of ${RECORDS} records on PostgreSQL`, () => {
    let server: PostgresServer;
    let client: Client;

    before(async () => {
      server = await startPostgresServer({ settings: 'fsync = off\nautovacuum = off\nmax_wal_size = 10GB\n' });
    });
    after(() => server.close());
    beforeEach(async () => {
      client = new Client({ connectionString: server.url });
      await client.connect();
    });
    afterEach(async () => {
      await client.query('DROP SCHEMA public CASCADE; CREATE SCHEMA public');
      await client.end();
    });

    async function read(expression: string): Promise<number> {
      const { rows } = await client.query<{ value: number }>(`SELECT (${expression})::float8 AS value`);
      return rows[0]?.value ?? Number.NaN;
    }

    const readSize = (table: string) => read(`pg_total_relation_size('${table}') / ${RECORDS}.0`);
    const readLog = () => read(`pg_wal_lsn_diff(pg_current_wal_lsn(), '0/0') / ${RECORDS}.0`);

    for (const { name, open, atMostBytes } of KINDS) {
      it(`are at most ${atMostBytes.postgres} bytes each, ${name}`, async () => {
        const logBefore = await readLog();
        const micros = await fill(server.url, open);
        const log = (await readLog()) - logBefore;
        const [before, entriesBefore] = [await readSize('requests'), await readSize('ledger')];
        await client.query('VACUUM FULL');
        const [kept, entries] = [await readSize('requests'), await readSize('ledger')];
        print(name, {
          'bytes kept': kept,
          'bytes of the ledger': entries,
          'bytes before VACUUM': before,
          'of the ledger before it': entriesBefore,
          'bytes of log': log,
          'µs of CPU of the gateway': micros,
        });
        expect(kept + entries).to.be.at.most(atMostBytes.postgres);
      });
    }
  });
} else console.log('  not run, since PostgreSQL is not installed: the sizes of its records');

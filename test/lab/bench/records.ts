/**
 * `node test/lab/bench/records.ts --beside ../other`: what a record costs the process of the gateway, the thread of the
 * database included, in batches of several sizes and on both engines. The checkouts take turns of a few milliseconds in one
 * process, and each turn is compared with the one beside it, so that a busy machine slows both.
 */
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import type { openStore as Open } from '../../../src/store/open.ts';
import type { Store } from '../../../src/core/books/store.ts';
import { createTestDatabase, findPostgres } from '../../support/postgres.ts';
import type { newDraft as Draft, newOutcome as Outcome } from '../../support/records.ts';
import { formatTable } from './report.ts';
import { median } from './statistics.ts';

const { values } = parseArgs({ options: { beside: { type: 'string' }, rounds: { type: 'string', default: '60' } } });
const here = resolve(import.meta.dirname, '../../..');
const checkouts = [here, ...(values.beside === undefined ? [] : [resolve(values.beside)])];
const server = await findPostgres();

interface Side {
  readonly store: Store;
  readonly newDraft: typeof Draft;
  readonly newOutcome: typeof Outcome;
  /** CPU time of a record in each turn. */
  readonly us: number[];
  batches: number;
}

const WAYS = {
  async 'begun and ended'({ store, newOutcome }: Side, drafts: readonly ReturnType<typeof Draft>[]) {
    await Promise.all(drafts.map((draft) => store.accept(draft)));
    await Promise.all(drafts.map(({ requestId }) => store.finish(requestId, newOutcome())));
  },
  async 'written at once'({ store, newOutcome }: Side, drafts: readonly ReturnType<typeof Draft>[]) {
    await Promise.all(drafts.map((draft) => store.record(draft, newOutcome())));
  },
};

const WARM_UP = 12;
/** Long enough for the clock of CPU time, and so short that a busy machine does not change in between. */
const BATCHES_OF_A_TURN = { most: 32, records: 256 };

const head = [
  'CPU µs of a record',
  ...checkouts.map((each) => basename(each)),
  ...(checkouts.length > 1 ? ['ratio'] : []),
];
const rows: string[][] = [];
for (const engine of server === undefined ? ['SQLite'] : ['SQLite', 'PostgreSQL']) {
  for (const [way, write] of Object.entries(WAYS)) {
    for (const batch of [1, 16, 64])
      rows.push([`${engine}: ${way}, ${batch} at a time`, ...(await compare(engine, write, batch))]);
  }
}
console.log(formatTable(head, rows));
process.exit();

async function compare(engine: string, write: (typeof WAYS)[keyof typeof WAYS], batch: number): Promise<string[]> {
  const folder = mkdtempSync(join(tmpdir(), 'records-'));
  const opened = await Promise.all(
    checkouts.map((checkout, index) => open(checkout, engine, join(folder, `${index}.db`))),
  );
  const sides = opened.map(({ side }) => side);
  for (let turn = -WARM_UP; turn < Number(values.rounds); turn += 1) {
    for (const side of turn % 2 === 0 ? sides : sides.toReversed()) {
      const us = await takeTurn(side, write, batch);
      if (turn >= 0) side.us.push(us);
    }
  }
  for (const each of opened) await each.drop();
  rmSync(folder, { recursive: true });
  const [own, other] = sides;
  const ratios = own?.us.flatMap((us, turn) => (other?.us[turn] === undefined ? [] : us / other.us[turn])) ?? [];
  return [...sides.map(({ us }) => median(us).toFixed(1)), ...(ratios.length === 0 ? [] : [median(ratios).toFixed(2)])];
}

async function takeTurn(side: Side, write: (typeof WAYS)[keyof typeof WAYS], batch: number): Promise<number> {
  const batches = Math.min(BATCHES_OF_A_TURN.most, BATCHES_OF_A_TURN.records / batch);
  const before = process.cpuUsage();
  for (let written = 0; written < batches; written += 1) {
    // One sum of usage for all would have thousands of versions, which a database without a vacuum reads each time.
    const caller = [`caller-${(side.batches += 1)}`] as const;
    await write(
      side,
      Array.from({ length: batch }, () => side.newDraft({ caller })),
    );
  }
  const { user, system } = process.cpuUsage(before);
  return (user + system) / (batches * batch);
}

async function open(checkout: string, engine: string, file: string) {
  if (!existsSync(join(checkout, 'node_modules'))) throw new Error(`${checkout} has no packages: run npm ci there`);
  const { openStore } = (await import(join(checkout, 'src/store/open.ts'))) as { openStore: typeof Open };
  const { newDraft, newOutcome } = (await import(join(checkout, 'test/support/records.ts'))) as {
    newDraft: typeof Draft;
    newOutcome: typeof Outcome;
  };
  const database = engine === 'SQLite' || server === undefined ? undefined : await createTestDatabase(server);
  const store = await openStore({ databaseUrl: database?.url ?? `file:${file}`, recordRetentionDays: 1 });
  const side: Side = { store, newDraft, newOutcome, us: [], batches: 0 };
  return {
    side,
    async drop() {
      await store.close();
      await database?.drop();
    },
  };
}

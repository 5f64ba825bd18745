/**
 * `node test/lab/bench/records.ts --beside ../other`: what a record costs the process of the gateway, the thread of the
 * database included, in batches of several sizes and on both engines. The checkouts take turns in each round.
 */
import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { basename, join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { createTestDatabase, findPostgres } from '../../support/postgres.ts';
import { formatTable } from './report.ts';
import { median } from './statistics.ts';

const { values } = parseArgs({ options: { beside: { type: 'string' }, rounds: { type: 'string', default: '5' } } });
const here = resolve(import.meta.dirname, '../../..');
const checkouts = [here, ...(values.beside === undefined ? [] : [resolve(values.beside)])];
const server = await findPostgres();
const engines = ['SQLite', ...(server === undefined ? [] : ['PostgreSQL'])];
/** By engine and way, of each checkout. */
const figures = new Map<string, number[][]>();

for (let round = 0; round < Number(values.rounds); round += 1) {
  for (const engine of engines) {
    for (const [index, checkout] of checkouts.entries()) {
      for (const [name, us] of Object.entries(await measure(checkout, engine))) {
        const row = `${engine}: ${name}`;
        const known = figures.get(row) ?? checkouts.map(() => []);
        known[index]?.push(us);
        figures.set(row, known);
      }
    }
  }
}

const [, other] = checkouts;
const head = ['CPU µs of a record', 'here', ...(other === undefined ? [] : [basename(other), 'ratio'])];
const rows = [...figures].map(([name, [own = [], others = []]]) => {
  const [here, there] = [median(own), others.length === 0 ? undefined : median(others)];
  return [name, here.toFixed(1), ...(there === undefined ? [] : [there.toFixed(1), (here / there).toFixed(2)])];
});
console.log(formatTable(head, rows));
process.exit();

async function measure(checkout: string, engine: string): Promise<Readonly<Record<string, number>>> {
  const database = engine === 'SQLite' || server === undefined ? undefined : await createTestDatabase(server);
  try {
    const file = join(import.meta.dirname, 'targets/records.ts');
    const packages = join(checkout, 'node_modules');
    if (!existsSync(packages)) throw new Error(`${checkout} has no packages: run npm ci there`);
    const { stdout, stderr, status } = spawnSync(process.execPath, [file, checkout, database?.url ?? ''], {
      encoding: 'utf8',
    });
    if (status !== 0) throw new Error(stderr);
    return JSON.parse(stdout) as Readonly<Record<string, number>>;
  } finally {
    await database?.drop();
  }
}

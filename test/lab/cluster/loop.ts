/**
 * `npm run lab cluster`, with another number of minutes as its argument: three gateways on one PostgreSQL under random load,
 * which are killed and paused while their database is restarted. Ends with 1 when a promise is broken.
 */
import { parseArgs } from 'node:util';
import { isPostgresInstalled, startPostgresServer } from '../../support/postgres-server.ts';
import { publishFigures } from '../../support/generate-figures.ts';
import { createRandom } from './chaos/random.ts';
import { describeChaos } from './chaos/report.ts';
import { runChaos } from './chaos/run.ts';

const { positionals, values } = parseArgs({
  allowPositionals: true,
  options: { minutes: { type: 'string' }, seed: { type: 'string' } },
});
const minutes = Number(values.minutes ?? positionals[0] ?? 10);
const seed = Number(values.seed ?? Math.floor(Math.random() * 2 ** 32));
if (!isPostgresInstalled()) {
  console.log('not run, since PostgreSQL is not installed: the gateways under faults');
  process.exit(1);
}
// Whatever was started ends with this process.
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(1));
const server = await startPostgresServer();
console.log(`${minutes} minutes with --seed ${seed}`);
try {
  const onProgress = (text: string) => process.stdout.write(process.stdout.isTTY ? `\r${text}` : `${text}\n`);
  const report = await runChaos({ server, random: createRandom(seed), minutes, onProgress });
  console.log(`\n${await describeChaos(report)}\n`);
  for (const promise of report.verdict.broken) console.log(`BROKEN: ${promise}`);
  if (report.verdict.broken.length === 0) {
    console.log('all promises were kept');
    const faults = [...report.faults.counts].map(([name, times]) => `${times} × ${name}`);
    publishFigures(
      'lab cluster',
      `${report.diary.attempts.length} requests to three gateways on one PostgreSQL during ${faults.join(', ')}`,
    );
  } else process.exitCode = 1;
} finally {
  await server.close();
}
process.exit();

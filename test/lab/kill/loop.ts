/**
 * `npm run lab kill -- 500 'over WebSockets'`: so many rounds of each kind, or of the kinds that are named. It is the long
 * version of test/gateway/kill.system.ts.
 */

import { CUSTOMERS, type CustomerKind } from './customers.ts';
import { publishFigures } from '../../support/generate-figures.ts';
import { runKillRounds, type KillReport } from './rounds.ts';

let startMs = 0;
const sums = { rounds: 0, acknowledged: 0, interrupted: 0, killedStarts: 0 };
const rounds = Number(process.argv[2] ?? 200);
const kinds = Object.keys(CUSTOMERS) as CustomerKind[];
const named = process.argv.slice(3);
for (const kind of kinds.filter((kind) => named.length === 0 || named.includes(kind))) {
  startMs = performance.now();
  process.stdout.write(`${kind}:\n`);
  const report = await runKillRounds(rounds, kind, (soFar) => process.stdout.write(`\r${describe(soFar)}`));
  process.stdout.write(`\r${describe(report)}\nall promises were kept\n`);
  for (const name of Object.keys(sums) as (keyof typeof sums)[]) sums[name] += report[name];
}
publishFigures(
  'lab kill',
  `${sums.rounds} times kill -9: ${sums.acknowledged} requests that clients knew of, ${sums.interrupted} of them ` +
    `interrupted; ${sums.killedStarts} starts killed too`,
);

function describe({ rounds: over, acknowledged, told, interrupted, cancels, killedStarts }: KillReport): string {
  const seconds = ((performance.now() - startMs) / 1000).toFixed(0);
  return (
    `${over} of ${rounds} kills in ${seconds} s: ${acknowledged} requests acknowledged, ${told} of them ` +
    `told how they ended, ${interrupted} interrupted, ${cancels} cancels promised, ${killedStarts} starts killed`
  );
}

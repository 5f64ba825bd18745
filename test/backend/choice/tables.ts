/** `npm run lab choice`: prints the tables of README.md, and writes them there with `PUBLISH=1`. */

import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { toTable } from '../../support/generate-matrix.ts';
import { manyGateways, oneGateway } from './scenarios.ts';
import { quantileOf, simulate, type Found, type Scenario } from './simulate.ts';

const README_PATH = join(import.meta.dirname, 'README.md');
const PART = /(<!-- choice -->\n).*?(<!-- \/choice -->)/s;

type Columns = Readonly<Record<string, (found: Found, scenario: Scenario) => string>>;

const ONE_GATEWAY: Columns = {
  failed: ({ answered }, { requests }) => percentOf(1 - answered / requests),
  'waits p50, p99': ({ queueMs }) => pairOf(queueMs, toMs),
  'first byte p50, p99': ({ firstByteMs }) => pairOf(firstByteMs, toMs),
  spilled: ({ spills, answered }) => percentOf(spills / answered),
  'cache hits': ({ hitRate }) => percentOf(hitRate),
  outages: (_, { outages }) => String(outages.length),
  rests: ({ rests }) => String(rests),
  'lost tries per outage': ({ lostPerOutage }) => lostPerOutage.toFixed(1),
};

const MANY_GATEWAYS: Columns = {
  failed: ({ answered }, { requests }) => percentOf(1 - answered / requests),
  'first byte p50, p99': ({ firstByteMs }) => pairOf(firstByteMs, toMs),
  'cache hits': ({ hitRate }) => percentOf(hitRate),
  'max/mean of all': ({ imbalance }) => imbalance.toFixed(2),
  'max/mean at a time p50, p99': ({ imbalances }) => pairOf(imbalances, (value) => value.toFixed(1)),
  'busiest second p50, p99': ({ herds }) => pairOf(herds, (value) => value.toFixed(1)),
  'lost tries per outage': ({ lostPerOutage }) => lostPerOutage.toFixed(1),
};

const tables = [
  await tableOf('one gateway, 10 replicas', ONE_GATEWAY, oneGateway(100_000)),
  await tableOf(
    '200 gateways, 100 replicas',
    MANY_GATEWAYS,
    manyGateways({ gateways: 200, replicas: 100, requests: 1_000_000 }),
  ),
];
if (process.env['PUBLISH'] === '1') {
  const readme = readFileSync(README_PATH, 'utf8');
  const text = tables.join('\n\n');
  writeFileSync(
    README_PATH,
    readme.replace(PART, (_, start: string, end: string) => `${start}\n${text}\n\n${end}`),
  );
}

async function tableOf(title: string, columns: Columns, scenarios: Readonly<Record<string, Scenario>>) {
  const rows: string[][] = [];
  for (const [name, scenario] of Object.entries(scenarios)) {
    const found = await simulate(scenario);
    rows.push([name, ...Object.values(columns).map((toText) => toText(found, scenario))]);
    console.error(rows.at(-1)?.join(' | '));
  }
  const table = toTable([title, ...Object.keys(columns)], rows);
  console.log(`${table}\n`);
  return table;
}

function pairOf(values: readonly number[], toText: (value: number) => string): string {
  return `${toText(quantileOf(values, 0.5))}, ${toText(quantileOf(values, 0.99))}`;
}

function toMs(ms: number): string {
  return `${ms.toLocaleString('en')} ms`;
}

function percentOf(part: number): string {
  return `${(part * 100).toFixed(2)} %`;
}

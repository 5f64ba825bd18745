/**
 * `npm run lab strange -- --seed N --cases M`: up to three oddities at once, and the bytes of a
 * stream as well; ends with 1 at the first fault, shrunk to the fewest oddities. With `--peer NAME`
 * another translator is asked at `--url`, or a gateway of these sources without it. Its chat backend
 * is this program at `--port`. `PUBLISH=1` writes what was found into the guides.
 */

import { parseArgs } from 'node:util';
import { publishFigures } from '../../support/generate-figures.ts';
import { SEED } from '../../support/property.ts';
import { loadAnswers } from './cases.ts';
import { askPeer } from './peer.ts';
import { openGateway, TEST_KEY } from '../../support/gateway.ts';
import { publishPeer } from '../../support/generate-strange.ts';
import { search } from './search.ts';

const { values } = parseArgs({
  options: {
    seed: { type: 'string' },
    cases: { type: 'string' },
    peer: { type: 'string' },
    version: { type: 'string', default: '' },
    url: { type: 'string' },
    key: { type: 'string', default: TEST_KEY },
    model: { type: 'string', default: 'm' },
    port: { type: 'string', default: '8799' },
  },
});

if (values.peer === undefined) searchAll(Number(values.seed ?? SEED), Number(values.cases ?? 100_000));
else await tryPeer(values.peer);

async function tryPeer(name: string): Promise<void> {
  const { version, key, model, port } = values;
  const own =
    values.url === undefined ? await openGateway({ UPSTREAM_BASE_URL: `http://127.0.0.1:${port}/v1` }) : undefined;
  try {
    const url = values.url ?? `${own?.url}/api/v1`;
    const groups = await askPeer({ url, key, model, port: Number(port) });
    for (const { group, tried, right } of groups) console.log(`${group.padEnd(20)} ${right} of ${tried}`);
    if (process.env['PUBLISH'] === '1')
      publishPeer(name, { version, date: new Date().toISOString().slice(0, 10), groups });
  } finally {
    await own?.close();
  }
}

function searchAll(seed: number, cases: number): void {
  const begun = process.cpuUsage();
  const { tried, text } = search(loadAnswers(), { seed, cases });
  const { user, system } = process.cpuUsage(begun);
  console.log(`${tried} cases with --seed ${seed}, in ${((user + system) / 1e6).toFixed(1)} s of processor time`);
  if (text === undefined) {
    console.log('all were understood');
    publishFigures('lab strange', `${tried} answers and requests with up to three oddities each`);
  } else {
    console.log(`${text}\n\nTo see it again: npm run lab strange -- --seed ${seed}`);
    process.exitCode = 1;
  }
}

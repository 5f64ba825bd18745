/**
 * `npm run lab strange -- --seed N --cases M`: up to three oddities at once, and the bytes of a
 * stream as well; ends with 1 at the first fault, shrunk to the fewest oddities. With `--peer URL`
 * another translator is asked, whose chat backend is this program at `--port`.
 */

import { parseArgs } from 'node:util';
import { publishFigures } from '../../support/generate-figures.ts';
import { SEED } from '../../support/property.ts';
import { loadAnswers } from './cases.ts';
import { askPeer } from './peer.ts';
import { search } from './search.ts';

const { values } = parseArgs({
  options: {
    seed: { type: 'string' },
    cases: { type: 'string' },
    peer: { type: 'string' },
    key: { type: 'string', default: 'test-key' },
    model: { type: 'string', default: 'm' },
    port: { type: 'string', default: '8799' },
  },
});

if (values.peer === undefined) {
  searchAll(Number(values.seed ?? SEED), Number(values.cases ?? 100_000));
} else {
  const { peer: url, key, model, port } = values;
  for (const { group, tried, right } of await askPeer({ url, key, model, port: Number(port) }))
    console.log(`${group.padEnd(20)} ${right} of ${tried}`);
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

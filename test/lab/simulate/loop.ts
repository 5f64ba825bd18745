/** `npm run lab simulate -- --seed N --histories M`: ends with 1 when a history breaks a promise. */

import { parseArgs } from 'node:util';
import { SEED } from '../../support/property.ts';
import { publishFigures } from '../../support/generate-figures.ts';
import { simulate } from './check.ts';

const { values } = parseArgs({
  options: { seed: { type: 'string' }, histories: { type: 'string' }, path: { type: 'string' } },
});
const seed = Number(values.seed ?? SEED);
const histories = Number(values.histories ?? 10_000);
const begun = process.cpuUsage();
const { tried, text, path } = await simulate({
  seed,
  histories,
  ...(values.path !== undefined && { path: values.path }),
});
const { user, system } = process.cpuUsage(begun);
console.log(`${tried} histories with --seed ${seed}, in ${((user + system) / 1e6).toFixed(1)} s of processor time`);
if (text === undefined) {
  console.log('all promises were kept');
  publishFigures('lab simulate', `${tried} histories of requests to two gateways, in any order of events`);
} else {
  console.log(`${text}\n\nTo see it again: npm run lab simulate -- --seed ${seed} --path ${path}`);
  process.exitCode = 1;
}

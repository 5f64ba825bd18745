/**
 * `npm run lab cost -- --beside ../other`: what each attack by a made-up key costs the gateway, from its first byte to its last
 * answer, with nobody else beside it. The checkouts take turns. `--only handshakes` tries one attack.
 */
import { basename, join, resolve } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { formatTable } from '../bench/report.ts';
import { median } from '../bench/statistics.ts';
import { ATTACKS, type Attack } from './attacks.ts';
import { answerInJson, openScene, type Figures } from './scene.ts';

const { values } = parseArgs({
  options: {
    beside: { type: 'string' },
    rounds: { type: 'string', default: '3' },
    only: { type: 'string', default: '' },
  },
});
const here = resolve(import.meta.dirname, '../../..');
const checkouts = [here, ...(values.beside === undefined ? [] : [resolve(values.beside)])];
/** An attack is over when nothing has come of it for so long; a flood never is. */
const QUIET_MS = 2000;
const KEYS = ['a-made-up-key'];
const WARM_UP = 300;
/** What the start has left behind is collected half a second after it, and is no cost of an attack. */
const SETTLED_MS = 1500;

const rows: string[][] = [];
for (const attack of ATTACKS.filter(({ move }) => move.includes(values.only))) {
  const found = checkouts.map((): Figures[] => []);
  for (let round = 0; round < Number(values.rounds); round++)
    for (const [at, checkout] of checkouts.entries()) found[at]?.push(await costOf(attack, checkout));
  const show = (read: (figures: Figures) => number): string[] =>
    found.map((all) => String(Math.round(median(all.map(read)))));
  rows.push([
    `${attack.atOnce} ${attack.move}`,
    ...show(({ cpuMs }) => cpuMs),
    ...show(({ fullCollections }) => fullCollections),
    ...show(({ residentBytes }) => residentBytes / 1024 / 1024),
  ]);
}
const head = ['CPU ms', 'full collections', 'MiB'].flatMap((what) =>
  checkouts.map((checkout) => `${what}, ${basename(checkout)}`),
);
console.log(formatTable(['attack', ...head], rows));
process.exit();

async function costOf({ move, atOnce }: Attack, checkout: string): Promise<Figures> {
  const scene = await openScene({}, answerInJson, 1, join(checkout, 'src/main.ts'));
  try {
    await scene.serve('an-honest-key', (done) => done >= WARM_UP);
    await delay(SETTLED_MS);
    const before = await scene.figures();
    const attackers = await scene.attack({ keys: KEYS, moves: [move], pace: { atOnce } });
    const countSeen = (): number => Object.values(attackers.seen[move] ?? {}).reduce((sum, times) => sum + times, 0);
    for (let known = -1; known !== countSeen() || known === 0;) {
      known = countSeen();
      await delay(QUIET_MS);
    }
    const after = await scene.figures();
    await attackers.stop();
    return {
      ...after,
      cpuMs: after.cpuMs - before.cpuMs,
      fullCollections: after.fullCollections - before.fullCollections,
    };
  } finally {
    await scene.close();
  }
}

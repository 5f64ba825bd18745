/**
 * `npm run bench`: the gateway beside what people would use instead. The targets take turns within each round, so that
 * whatever else the machine does hits all of them; read the ratios, not the figures.
 */
import { execFileSync } from 'node:child_process';
import { publish } from '../support/generate-benchmarks.ts';
import { GROUPS, toLoads } from './groups.ts';
import type { Load } from './load.ts';
import { jsonLoad } from './loads/json.ts';
import { streamLoad } from './loads/streams.ts';
import { describeMachine } from './machine.ts';
import { describeMarks } from './marks.ts';
import { readOptions } from './options.ts';
import { stayOn } from './processes.ts';
import { createProgress } from './progress.ts';
import { describeRun } from './report.ts';
import { createResults } from './results.ts';
import { openStage, writeResult } from './stage.ts';
import { summarize } from './summary.ts';
import { ON_POSTGRES, type Target } from './targets.ts';

const { groups, rounds, quick, beside } = readOptions();
/** So many windows without any progress end a warm-up, and so many in all. */
const STEADY = quick ? 1 : 3;
const MAX_WARM_UPS = quick ? 2 : 15;
const results = createResults();
stayOn('load');
// Whatever was started ends with this process.
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(1));
const stage = await openStage(beside);
const loads = toLoads(groups, stage, quick);
const machine = describeMachine(stage.folder);
try {
  await measureAll();
} catch (error) {
  // What has been measured until then is still worth a look.
  console.error(error);
  process.exitCode = 1;
} finally {
  await stage.close();
}
const names = stage.kinds.map(({ name }) => name);
console.log(describeRun({ machine, rounds, loads, results, targets: names }));
console.log(describeMarks(results, machine));
console.log(`All rounds: ${writeResult('json', { machine, results })}`);
if (isWhole()) {
  publish(summarize({ results, machine, rounds, ...readMoment() }));
  console.log('src/docs/bench.json and src/docs/benchmarks.md have the figures of this run.');
}

/** Whether nothing is missing that the guide shows: it has the figures of one run, and not of several. */
function isWhole(): boolean {
  return (
    process.exitCode === undefined &&
    !quick &&
    beside === undefined &&
    groups.length === Object.keys(GROUPS).length &&
    names.includes(ON_POSTGRES)
  );
}

/** The day, and the sources that were measured. */
function readMoment(): { date: string; commit: string } {
  const commit = execFileSync('git', ['rev-parse', '--short', 'HEAD'], { encoding: 'utf8' }).trim();
  return { date: new Date().toISOString().slice(0, 10), commit };
}

async function measureAll(): Promise<void> {
  const steps = Array.from({ length: rounds }, (_, index) => toSteps(index + 1)).flat();
  const asked = stage.kinds.filter(({ name }) => steps.some((step) => step.name === name));
  const progress = createProgress(asked.length + steps.length);
  const targets = new Map<string, Target>();
  for (const { name } of asked) {
    progress.step(`warm-up: ${name}`);
    const target = await stage.start(name);
    await warmUp(target);
    targets.set(name, target);
  }
  for (const { round, load, name } of steps) {
    progress.step(`round ${round} of ${rounds}: ${load.name}: ${name}`);
    const target = targets.get(name);
    if (target !== undefined) results.add(load.name, name, await load.measure(target));
  }
  progress.done();
}

function toSteps(round: number): { round: number; load: Load; name: string }[] {
  return loads
    .filter(({ once = false }) => round === 1 || !once)
    .flatMap((load) =>
      stage.kinds.filter(({ name }) => load.targets?.includes(name) ?? true).map(({ name }) => ({ round, load, name })),
    );
}

/** What is called often is compiled, again and better, as long as it takes less CPU each time. */
async function warmUp(target: Target): Promise<void> {
  const window = { warmUpMs: 0, countedMs: quick ? 600 : 1000 };
  await untilSteady(jsonLoad(64, window), 'CPU µs per request', target);
  await untilSteady(streamLoad(16, window), 'CPU µs per chunk', target);
}

async function untilSteady(load: Load, figure: string, target: Target): Promise<void> {
  let least = Number.POSITIVE_INFINITY;
  for (let window = 0, sinceLess = 0; window < MAX_WARM_UPS && sinceLess < STEADY; window += 1) {
    const micros = (await load.measure(target))[figure] ?? 0;
    sinceLess = micros < 0.97 * least ? 0 : sinceLess + 1;
    least = Math.min(least, micros);
  }
}

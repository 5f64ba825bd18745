/**
 * `npm run lab bench`: the gateway beside what people would use instead. The targets take turns within each round, so that
 * whatever else the machine does hits all of them; read the ratios, not the figures.
 */
import { execFileSync } from 'node:child_process';
import { publish } from '../../support/generate-benchmarks.ts';
import { describeGoals } from './goals.ts';
import { GROUPS, toLoads, type GroupedLoad } from './groups.ts';
import type { Load } from './load.ts';
import { jsonLoad } from './loads/json.ts';
import { streamLoad } from './loads/streams.ts';
import { describeMachine } from './machine.ts';
import { readOptions } from './options.ts';
import { stayOn } from './processes.ts';
import { createProgress } from './progress.ts';
import { describePairs, describeRun, formatTable } from './report.ts';
import { createResults } from './results.ts';
import { openStage, writeResult } from './stage.ts';
import { summarize } from './summary.ts';
import { MANAGED_ON_POSTGRES, type Target, type TargetKind } from './targets.ts';

interface Step {
  readonly round: number;
  /** Of all its measurements with this target, from 1 on. */
  readonly number: number;
  readonly load: GroupedLoad;
  readonly kind: TargetKind;
}

const { groups, rounds, quick, beside } = readOptions();
/** In a pair each window is short beside the warm-up of its processes, and they take turns in it: A B, B A. */
const WINDOWS = beside === undefined ? 1 : 4;
/** So many windows without any progress end a warm-up, and so many in all. */
const STEADY = quick ? 1 : 3;
const MAX_WARM_UPS = quick ? 1 : 15;
/** A target that hangs loses its row, and no more. */
const STEP_LIMIT_MS = 300_000;

const results = createResults();
const targets = new Map<string, Target>();
const groupMs = new Map<string, number>();
const failures: string[] = [];
stayOn('load');
// Whatever was started ends with this process.
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(1));
const stage = await openStage(beside);
const loads = toLoads(groups, stage, quick);
const machine = describeMachine(stage.folder);
try {
  await measureAll();
} finally {
  await stage.close();
}
const names = stage.kinds.map(({ name }) => name);
console.log(describeRun({ machine, rounds: results.rounds, loads, results, targets: names }));
console.log(`${formatTable(['group', 'seconds'], [...groupMs].map(toSeconds))}\n`);
if (beside === undefined) console.log(describeGoals(results));
for (const { name, standsFor } of stage.kinds)
  if (standsFor !== undefined) console.log(describePairs(results, loads, [standsFor, name]));
for (const failure of failures) console.log(`not measured: ${failure}`);
console.log(`All rounds: ${writeResult('json', { machine, results, failures })}`);
if (isWhole()) {
  publish(summarize({ results, machine, rounds, ...readMoment() }));
  console.log('src/docs/bench.json, src/docs/decisions.md and test/lab/bench/journal.md have the figures of this run.');
}
process.exit(failures.length > 0 ? 1 : 0);

/** Whether all was asked for that the guide shows: it has the figures of one run, and not of several. */
function isWhole(): boolean {
  const isAll = groups.length === Object.keys(GROUPS).length && names.includes(MANAGED_ON_POSTGRES);
  return isAll && !quick && beside === undefined;
}

/** The day, and the sources that were measured. */
function readMoment(): { date: string; commit: string } {
  const commit = execFileSync('git', ['rev-parse', '--short', 'HEAD'], { encoding: 'utf8' }).trim();
  return { date: new Date().toISOString().slice(0, 10), commit };
}

async function measureAll(): Promise<void> {
  const steps = toSteps();
  const kinds = stage.kinds.filter((kind) => steps.some((step) => step.kind === kind));
  const warmUps = beside === undefined ? 1 : rounds;
  const progress = createProgress(warmUps * kinds.length + steps.length);
  let warm = 0;
  for (const { round, number, load, kind } of steps) {
    if (warm < Math.min(round, warmUps)) {
      warm = round;
      for (const kind of kinds) {
        progress.step(`warm-up: ${kind.name}`);
        await attempt('warm-up', kind.name, kind, () => startAnew(kind));
      }
    }
    progress.step(`round ${round} of ${rounds}: ${load.name}: ${kind.name}`);
    await attempt(load.group, `${load.name}, round ${round}: ${kind.name}`, kind, async () => {
      results.add(number, load.name, kind.name, await load.measure(await findTarget(kind)));
    });
  }
  progress.done();
}

function toSteps(): Step[] {
  return numbersTo(rounds).flatMap((round) =>
    loads.flatMap((load) => {
      const isOver = load.once && round > 1;
      const kinds = stage.kinds.filter(({ name, standsFor = name }) => !isOver && load.targets.includes(standsFor));
      return numbersTo(WINDOWS).flatMap((window) =>
        (window % 2 === 1 ? kinds : kinds.toReversed()).map((kind) => ({
          round,
          number: (round - 1) * WINDOWS + window,
          load,
          kind,
        })),
      );
    }),
  );
}

function numbersTo(last: number): number[] {
  return Array.from({ length: last }, (_, index) => index + 1);
}

/** Goes on after a failure, which costs this step alone: the next one gets a new process. */
async function attempt(group: string, name: string, kind: TargetKind, step: () => Promise<unknown>): Promise<void> {
  const startMs = performance.now();
  let timer: NodeJS.Timeout | undefined;
  const limit = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`no end after ${STEP_LIMIT_MS} ms`)), STEP_LIMIT_MS);
  });
  try {
    await Promise.race([step(), limit]);
  } catch (error) {
    failures.push(`${name}: ${error instanceof Error ? error.message : String(error)}`);
    end(kind);
  } finally {
    clearTimeout(timer);
    groupMs.set(group, (groupMs.get(group) ?? 0) + performance.now() - startMs);
  }
}

/** Two processes of one program differ by a tenth of their CPU and more, for as long as they live. */
async function startAnew(kind: TargetKind): Promise<void> {
  end(kind);
  await findTarget(kind);
}

function end({ name }: TargetKind): void {
  targets.get(name)?.child.kill();
  targets.delete(name);
}

/** Returns it as it runs and warm. */
async function findTarget(kind: TargetKind): Promise<Target> {
  const running = targets.get(kind.name);
  if (running !== undefined) return running;
  const target = await stage.start(kind.name);
  targets.set(kind.name, target);
  await warmUp(target);
  return target;
}

/** What is called often is compiled, again and better, as long as it takes less CPU each time. */
async function warmUp(target: Target): Promise<void> {
  const window = { warmUpMs: 0, countedMs: quick ? 300 : 1000 };
  await untilSteady(jsonLoad(64, window), 'CPU µs per request', target);
  await untilSteady(streamLoad(16, window), 'CPU µs per chunk', target);
  await untilSteady(streamLoad(16, window, 'different'), 'CPU µs per chunk', target);
}

async function untilSteady(load: Load, figure: string, target: Target): Promise<void> {
  let least = Number.POSITIVE_INFINITY;
  for (let window = 0, sinceLess = 0; window < MAX_WARM_UPS && sinceLess < STEADY; window += 1) {
    const micros = (await load.measure(target))[figure] ?? 0;
    sinceLess = micros < 0.97 * least ? 0 : sinceLess + 1;
    least = Math.min(least, micros);
  }
}

function toSeconds([group, ms]: [string, number]): string[] {
  return [group, (ms / 1000).toFixed(0)];
}

/** `npm run lab profile`: where the CPU of a target goes under a load. Only its main thread is seen, not the writer of the records. */
import type { Profiler } from 'node:inspector';
import { Command, Option } from 'commander';
import type { Window } from './load.ts';
import { agentsLoad } from './loads/agents.ts';
import { jsonLoad } from './loads/json.ts';
import { streamLoad } from './loads/streams.ts';
import { stayOn } from './processes.ts';
import { formatNumber, formatTable } from './report.ts';
import { openStage, writeResult } from './stage.ts';
import { RECORDS } from './targets.ts';

interface Wanted {
  readonly concurrency: number;
  readonly bytes: number;
}

const LOADS = {
  json: ({ concurrency }: Wanted, window: Window) => jsonLoad(concurrency, window),
  streams: ({ concurrency }: Wanted, window: Window) => streamLoad(concurrency, window),
  agents: ({ concurrency: agents, bytes }: Wanted, window: Window) => agentsLoad({ agents, bytes }, window),
} as const;
type Frame = Profiler.Profile['nodes'][number]['callFrame'];

stayOn('load');
const stage = await openStage();
try {
  const names = stage.kinds.map(({ name }) => name);
  const options = new Command('npm run lab profile --')
    .description('Writes a CPU profile of a target under a load, and shows which functions used the time.')
    .addOption(new Option('--load <load>', 'what to ask').choices(Object.keys(LOADS)).default('json'))
    .addOption(new Option('--concurrency <number>', 'how many at a time,').argParser(Number).default(64))
    .addOption(new Option('--bytes <number>', 'the history of agents').argParser(Number).default(100_000))
    .addOption(new Option('--target <name>', 'what to profile').choices(names).default(RECORDS))
    .addOption(new Option('--seconds <number>', 'for how long').argParser(Number).default(5))
    .addOption(new Option('--top <number>', 'how many functions to show').argParser(Number).default(30))
    .parse()
    .opts<{
      load: keyof typeof LOADS;
      concurrency: number;
      bytes: number;
      target: string;
      seconds: number;
      top: number;
    }>();
  const target = await stage.start(options.target);
  const load = LOADS[options.load](options, { warmUpMs: 2000, countedMs: 1000 * options.seconds });
  await target.child.ask('startProfile');
  const figures = await load.measure(target);
  const profile = await target.child.ask<Profiler.Profile>('stopProfile');
  console.log(formatTable([`${load.name}: ${target.name}`, ''], Object.entries(figures).map(toFigureRow)));
  console.log(`\n${describeSelfTimes('function', toName, profile, options.top)}`);
  console.log(`\n${describeSelfTimes('file or package', toPlace, profile, options.top)}`);
  console.log(`\nFor the profiler of a browser: ${writeResult('cpuprofile', profile)}`);
} finally {
  await stage.close();
}

function toFigureRow([figure, value]: [string, number]): string[] {
  return [figure, formatNumber(value)];
}

/** Where the time was spent, of all in which the program was busy: in the own code of a function, or of all of a place together. */
function describeSelfTimes(title: string, nameOf: (frame: Frame) => string, profile: Profiler.Profile, top: number) {
  const { nodes, samples = [], timeDeltas = [] } = profile;
  const names = new Map(nodes.map(({ id, callFrame }) => [id, nameOf(callFrame)]));
  const micros = new Map<string, number>();
  for (const [index, id] of samples.entries()) {
    const name = names.get(id) ?? '';
    micros.set(name, (micros.get(name) ?? 0) + (timeDeltas[index] ?? 0));
  }
  micros.delete('(idle)');
  const total = [...micros.values()].reduce((sum, value) => sum + value, 0);
  const rows = [...micros]
    .toSorted(([, a], [, b]) => b - a)
    .slice(0, top)
    .map(([name, value]) => [name, ((100 * value) / total).toFixed(1), (value / 1000).toFixed(0)]);
  return formatTable([title, 'self %', 'self ms'], rows);
}

function toName({ functionName, url, lineNumber }: Frame): string {
  const name = functionName === '' ? '(anonymous)' : functionName;
  return url === '' ? name : `${name} ${toPath(url)}:${lineNumber + 1}`;
}

/** A file of ours; a package of others; Node and what is built into it. */
function toPlace({ functionName, url }: Frame): string {
  if (url === '') return functionName.startsWith('(') ? functionName : '(native)';
  const path = toPath(url);
  if (path.startsWith('src/') || path.startsWith('test/')) return path;
  return path.startsWith('node:') ? 'node' : (/^(?:@[^/]+\/)?[^/]+/.exec(path)?.[0] ?? path);
}

function toPath(url: string): string {
  return url.replace(/^file:.*?\/(?=(?:node_modules|src|test)\/)/, '').replace('node_modules/', '');
}

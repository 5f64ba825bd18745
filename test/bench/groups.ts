import type { Load } from './load.ts';
import { clusterLoad } from './loads/cluster.ts';
import { inputLoads } from './loads/inputs.ts';
import { jsonLoad } from './loads/json.ts';
import { latencyLoad } from './loads/latencies.ts';
import { leakLoad } from './loads/leak.ts';
import { memoryLoad } from './loads/memory.ts';
import { pacedLoad } from './loads/paced.ts';
import { slowDiskLoad } from './loads/slow-disk.ts';
import { startUpLoad } from './loads/start-up.ts';
import { streamLoad } from './loads/streams.ts';
import type { Stage } from './stage.ts';
import { ON_POSTGRES } from './targets.ts';

interface Group {
  /** One line for the help. */
  readonly about: string;
  /** Left out of a quick look unless it is asked for by name. */
  readonly isLong?: boolean;
  readonly loads: (stage: Stage, quick: boolean) => Load[];
}

const CONCURRENCIES = [1, 16, 64];

/** What `--only` can name, in the order of the tables. */
export const GROUPS = {
  json: {
    about: 'JSON answers, 1, 16 and 64 at a time',
    loads: (_stage, quick) => CONCURRENCIES.map((concurrency) => jsonLoad(concurrency, toWindow(quick))),
  },
  streams: {
    about: 'streams without delay, 1, 16 and 64 at a time',
    loads: (_stage, quick) => CONCURRENCIES.map((concurrency) => streamLoad(concurrency, toWindow(quick))),
  },
  paced: {
    about: '64 and 1,000 streams with a delta from time to time',
    loads: (_stage, quick) => [
      pacedLoad({ streams: 64, everyMs: 20, deltas: 25, spreadMs: 500, countedMs: quick ? 1000 : 2500 }),
      // Each of these streams runs from the spread of the starts to the end of the count.
      quick
        ? pacedLoad({ streams: 1000, everyMs: 100, deltas: 25, spreadMs: 1000, countedMs: 1500 })
        : pacedLoad({ streams: 1000, everyMs: 100, deltas: 50, spreadMs: 2000, countedMs: 3000 }),
    ],
  },
  inputs: {
    about: 'long conversations, many tools, a large picture',
    loads: (_stage, quick) => inputLoads({ warmUpMs: quick ? 50 : 200, countedMs: quick ? 200 : 400 }),
  },
  latency: {
    about: 'how soon aborts and cancels arrive',
    loads: ({ backend }, quick) => [latencyLoad(backend, quick ? 10 : 50)],
  },
  cluster: {
    about: 'what more gateways on one PostgreSQL cost, and what a request costs it',
    isLong: true,
    loads: ({ kinds }, quick) =>
      kinds.some(({ name }) => name === ON_POSTGRES)
        ? [clusterLoad({ warmUpMs: 500, countedMs: quick ? 1000 : 5000 })]
        : [],
  },
  start: { about: 'from the start to the first answer', loads: (stage) => [startUpLoad(stage)] },
  disk: {
    about: 'the event loop while commits wait',
    isLong: true,
    loads: (_stage, quick) => [slowDiskLoad(toWindow(quick))],
  },
  memory: {
    about: 'open streams, and a client that never reads',
    isLong: true,
    loads: (stage) => [memoryLoad(stage)],
  },
  leak: {
    about: 'memory after 50,000 requests and 5,000 aborted streams',
    isLong: true,
    loads: (stage) => [leakLoad(stage)],
  },
} satisfies Record<string, Group>;

export type GroupName = keyof typeof GROUPS;

export function toLoads(names: readonly GroupName[], stage: Stage, quick: boolean): Load[] {
  return names.flatMap((name) => GROUPS[name].loads(stage, quick));
}

function toWindow(quick: boolean) {
  return { warmUpMs: 200, countedMs: quick ? 400 : 1000 };
}

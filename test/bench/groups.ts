import { atPace, FIRST_DELTAS, JSON_OF_BACKENDS, PACED, STREAMS_OF_BACKENDS } from './goals.ts';
import type { Load } from './load.ts';
import { agentsLoad, HISTORIES } from './loads/agents.ts';
import { clusterLoad } from './loads/cluster.ts';
import { headOfLineLoad, LARGE } from './loads/head-of-line.ts';
import { inputLoads, sizeLoads } from './loads/inputs.ts';
import { boundsLoad, jsonLoad } from './loads/json.ts';
import { lateLoad } from './loads/late.ts';
import { latencyLoad } from './loads/latencies.ts';
import { leakLoad } from './loads/leak.ts';
import { memoryLoad } from './loads/memory.ts';
import { atHalfCore, pacedLoad } from './loads/paced.ts';
import { slowDiskLoad } from './loads/slow-disk.ts';
import { startUpLoad } from './loads/start-up.ts';
import { streamLoad } from './loads/streams.ts';
import { syncLoad } from './loads/sync.ts';
import { CHUNKS, type ChunkKind } from './scripts.ts';
import type { Stage } from './stage.ts';
import {
  BACKEND_COUNTS,
  DIRECT,
  EXPRESS,
  HTTP_PROXY,
  IN_MEMORY,
  MANAGED,
  MANAGED_ON_POSTGRES,
  NO_RECORDS,
  ON_POSTGRES,
  ON_TWO_CORES,
  PROXY_ON_TWO_CORES,
  RECORDS,
  TRANSLATOR,
  TWO_WORKERS,
  withBackends,
} from './targets.ts';

interface Group {
  /** One line for the help. */
  readonly about: string;
  /** Left out of a quick look unless it is asked for by name. */
  readonly isLong?: boolean;
  readonly loads: (stage: Stage, quick: boolean) => Load[];
}

export interface GroupedLoad extends Load {
  readonly targets: readonly string[];
  readonly group: GroupName;
}

const CONCURRENCIES = [1, 16, 64];
const RIVALS = [DIRECT, HTTP_PROXY, TRANSLATOR, IN_MEMORY, RECORDS];
const PROXIES = [HTTP_PROXY, TRANSLATOR, RECORDS];
const ALL = [...RIVALS, EXPRESS, NO_RECORDS, MANAGED, ON_POSTGRES, MANAGED_ON_POSTGRES];

/** What `--only` can name, in the order of the tables. */
export const GROUPS = {
  agents: {
    about: 'turns of agents, which carry the whole history: 8 and 64 at a time, bursts and deltas at 20 ms',
    loads: (_stage, quick) => {
      const window = { warmUpMs: quick ? 200 : 500, countedMs: quick ? 1000 : 2000 };
      return [
        ...on(
          [HTTP_PROXY, TRANSLATOR, IN_MEMORY, RECORDS, MANAGED, MANAGED_ON_POSTGRES],
          HISTORIES.map((bytes) => agentsLoad({ agents: 8, bytes }, window)),
        ),
        ...on(PROXIES, [
          agentsLoad({ agents: 64, bytes: 400_000 }, window),
          agentsLoad({ agents: 64, bytes: 100_000, everyMs: 20 }, { ...window, countedMs: quick ? 4000 : 8000 }),
        ]),
      ];
    },
  },
  json: {
    about: 'JSON answers, 1, 16 and 64 at a time, and within bounds of p99',
    loads: (stage, quick) => [
      ...on([DIRECT], [syncLoad(stage)]),
      ...on(
        ALL,
        CONCURRENCIES.map((concurrency) => jsonLoad(concurrency, toWindow(quick))),
      ),
      ...on(RIVALS, [boundsLoad({ warmUpMs: 100, countedMs: quick ? 100 : 500 })]),
    ],
  },
  streams: {
    about: 'streams without delay, 1, 16 and 64 at a time, with chunks of several kinds',
    loads: (_stage, quick) => [
      ...on(
        ALL,
        CONCURRENCIES.map((concurrency) => streamLoad(concurrency, toWindow(quick))),
      ),
      ...on(
        PROXIES,
        [16, 64].map((concurrency) => streamLoad(concurrency, toWindow(quick), 'different')),
      ),
      ...on(
        PROXIES,
        OTHER_KINDS.map((kind) => streamLoad(16, toWindow(quick), kind)),
      ),
    ],
  },
  backends: {
    about: 'what one, three and thirty backends in BACKENDS_FILE cost',
    loads: (_stage, quick) =>
      on(
        [RECORDS, ...BACKEND_COUNTS.map(withBackends)],
        [
          { ...jsonLoad(64, toWindow(quick)), name: JSON_OF_BACKENDS },
          { ...streamLoad(64, toWindow(quick)), name: STREAMS_OF_BACKENDS },
        ],
      ),
  },
  paced: {
    about: '64, 500 and 1,000 streams with a delta from time to time',
    loads: (stage, quick) => {
      const counted = { spreadMs: 500, countedMs: quick ? 1000 : 4100 };
      const everyMsOf = atHalfCore(stage);
      const many = (streams: number) => async () => {
        const everyMs = await everyMsOf(streams);
        // Each of these streams runs from the spread of the starts to the end of the count.
        const ms = quick ? { spreadMs: 1000, countedMs: 1000 } : { spreadMs: 1500, countedMs: 3000 };
        return { streams, everyMs, deltas: Math.ceil((ms.spreadMs + ms.countedMs) / everyMs), ...ms };
      };
      return [
        ...on(
          [...RIVALS, MANAGED],
          [
            pacedLoad(PACED, () => ({
              streams: 64,
              everyMs: 20,
              deltas: 25,
              ...counted,
              countedMs: quick ? 1000 : 2500,
            })),
          ],
        ),
        // Enough of them begin for a p99 of their first deltas.
        ...on(RIVALS, [pacedLoad(FIRST_DELTAS, () => ({ streams: 64, everyMs: 20, deltas: 12, ...counted }))]),
        ...on(
          RIVALS,
          [500, 1000].map((streams) => pacedLoad(atPace(streams), many(streams))),
        ),
      ];
    },
  },
  late: {
    about: 'backends that take a while to answer',
    loads: (_stage, quick) =>
      on(RIVALS, [
        lateLoad({ stream: false, ms: 20, concurrency: 1, samples: quick ? 10 : 100 }),
        lateLoad({ stream: true, ms: 20, concurrency: 8, samples: quick ? 20 : 400 }),
        lateLoad({ stream: true, ms: 50, concurrency: 8, samples: quick ? 20 : 300 }),
      ]),
  },
  inputs: {
    about: 'small and large prompts, long conversations, many tools, a large picture',
    loads: (_stage, quick) => {
      const window = { warmUpMs: quick ? 50 : 200, countedMs: quick ? 200 : 500 };
      return on(PROXIES, [...sizeLoads(window), ...inputLoads(window)]);
    },
  },
  'head-of-line': {
    about: 'small requests and running streams beside something large',
    isLong: true,
    loads: (_stage, quick) =>
      on(
        [HTTP_PROXY, RECORDS],
        LARGE.map(([part, bytes]) => headOfLineLoad(part, bytes, quick ? 400 : 2000)),
      ),
  },
  'two-cores': {
    about: 'one process and two (WORKERS) on two cores, which the load shares',
    isLong: true,
    loads: (_stage, quick) =>
      on(
        [PROXY_ON_TWO_CORES, ON_TWO_CORES, TWO_WORKERS],
        [
          { ...jsonLoad(64, toWindow(quick)), name: 'JSON at 64, two cores' },
          { ...streamLoad(64, toWindow(quick)), name: 'chunks at 64, two cores' },
        ],
      ),
  },
  latency: {
    about: 'how soon aborts and cancels arrive',
    loads: ({ backend }, quick) => on([RECORDS], [latencyLoad(backend, quick ? 10 : 50)]),
  },
  cluster: {
    about: 'what more gateways on one PostgreSQL cost, and what a request costs it',
    isLong: true,
    loads: (_stage, quick) =>
      on([ON_POSTGRES, MANAGED_ON_POSTGRES], [clusterLoad({ warmUpMs: 500, countedMs: quick ? 1000 : 5000 })]),
  },
  start: {
    about: 'from the start to the first answer, and what an idle gateway holds',
    loads: (stage) => on([RECORDS], [startUpLoad(stage)]),
  },
  disk: {
    about: 'the event loop while commits wait',
    isLong: true,
    loads: (_stage, quick) => on([RECORDS], [slowDiskLoad(toWindow(quick))]),
  },
  memory: {
    about: 'open streams, a client that never reads, and what a burst leaves',
    isLong: true,
    // The minimal translator does not wait for a client that never reads, and would not end.
    loads: (stage) => on([HTTP_PROXY, IN_MEMORY, RECORDS], [memoryLoad(stage)]),
  },
  leak: {
    about: 'memory after 50,000 requests and 5,000 aborted streams',
    isLong: true,
    loads: (stage) => on([RECORDS], [leakLoad(stage)]),
  },
} satisfies Record<string, Group & { loads: (stage: Stage, quick: boolean) => Omit<GroupedLoad, 'group'>[] }>;

export type GroupName = keyof typeof GROUPS;

const OTHER_KINDS = (Object.keys(CHUNKS) as ChunkKind[]).filter((kind) => kind !== 'repeated' && kind !== 'different');
export function toLoads(names: readonly GroupName[], stage: Stage, quick: boolean): GroupedLoad[] {
  return names.flatMap((group) => GROUPS[group].loads(stage, quick).map((load) => ({ ...load, group })));
}

function on(targets: readonly string[], loads: readonly Load[]) {
  return loads.map((load) => ({ ...load, targets }));
}

function toWindow(quick: boolean) {
  return { warmUpMs: 200, countedMs: quick ? 400 : 1000 };
}

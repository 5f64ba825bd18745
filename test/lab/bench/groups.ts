import type { Load } from './load.ts';
import { agentsLoad, HISTORIES } from './loads/agents.ts';
import { besideLoad, LARGE } from './loads/beside.ts';
import { jsonLoad } from './loads/json.ts';
import { memoryLoad } from './loads/memory.ts';
import { pacedLoad, PACES } from './loads/paced.ts';
import { startUpLoad } from './loads/start-up.ts';
import { streamLoad } from './loads/streams.ts';
import { CHUNKS, type ChunkKind } from './scripts.ts';
import type { Stage } from './stage.ts';
import { HTTP_PROXY, IN_MEMORY, MANAGED, MANAGED_ON_POSTGRES, RECORDS, TRANSLATOR } from './targets.ts';

interface Group {
  /** One line for the help. */
  readonly about: string;
  readonly loads: (stage: Stage, quick: boolean) => GroupLoad[];
}

interface GroupLoad extends Load {
  readonly targets: readonly string[];
}

export interface GroupedLoad extends GroupLoad {
  readonly group: GroupName;
}

const CONCURRENCIES = [1, 16, 64];
const PROXIES = [HTTP_PROXY, TRANSLATOR, RECORDS];
const ALL = [HTTP_PROXY, TRANSLATOR, IN_MEMORY, RECORDS, MANAGED, MANAGED_ON_POSTGRES];

/** What `--only` can name, in the order of the tables. */
export const GROUPS = {
  agents: {
    about: 'turns of agents, which carry the whole history: 8 and 64 at a time, bursts and deltas at 20 ms',
    loads: (_stage, quick) => {
      const window = { warmUpMs: quick ? 200 : 500, countedMs: quick ? 1000 : 2000 };
      return [
        ...HISTORIES.map((bytes) => on(ALL, agentsLoad({ agents: 8, bytes }, window))),
        on(PROXIES, agentsLoad({ agents: 64, bytes: 400_000 }, window)),
        on(
          PROXIES,
          agentsLoad({ agents: 64, bytes: 100_000, everyMs: 20 }, { ...window, countedMs: quick ? 4000 : 8000 }),
        ),
      ];
    },
  },
  json: {
    about: 'JSON answers, 1, 16 and 64 at a time',
    loads: (_stage, quick) => CONCURRENCIES.map((concurrency) => on(ALL, jsonLoad(concurrency, toWindow(quick)))),
  },
  streams: {
    about: 'streams without delay, 1, 16 and 64 at a time, with chunks of several kinds',
    loads: (_stage, quick) => [
      ...CONCURRENCIES.map((concurrency) => on(ALL, streamLoad(concurrency, toWindow(quick)))),
      ...(Object.keys(CHUNKS) as ChunkKind[])
        .filter((kind) => kind !== 'repeated')
        .map((kind) => on(PROXIES, streamLoad(16, toWindow(quick), kind))),
    ],
  },
  paced: {
    about: '64 and 500 streams with a delta from time to time',
    loads: (_stage, quick) =>
      PACES.map((pace) => on(PROXIES, pacedLoad({ ...pace, countedMs: quick ? 1000 : pace.countedMs }))),
  },
  beside: {
    about: 'small requests and running streams beside large ones',
    loads: (_stage, quick) => LARGE.map((large) => on(PROXIES, besideLoad(large, quick ? 400 : 2000))),
  },
  start: {
    about: 'from the start to the first answer, and what resides after it',
    loads: (stage) => [on([RECORDS], startUpLoad(stage))],
  },
  memory: {
    about: 'open streams, a client that never reads, and what a burst leaves',
    // The minimal translator does not wait for a client that never reads, and would not end.
    loads: (stage) => [on([HTTP_PROXY, IN_MEMORY, RECORDS], memoryLoad(stage))],
  },
} satisfies Record<string, Group>;

export type GroupName = keyof typeof GROUPS;

export function toLoads(names: readonly GroupName[], stage: Stage, quick: boolean): GroupedLoad[] {
  return names.flatMap((group) => GROUPS[group].loads(stage, quick).map((load) => ({ ...load, group })));
}

function on(targets: readonly string[], load: Load): GroupLoad {
  return { ...load, targets };
}

function toWindow(quick: boolean) {
  return { warmUpMs: 200, countedMs: quick ? 400 : 1000 };
}

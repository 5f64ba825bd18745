/** What a whole run of the bench has found, as `src/docs/bench.json` keeps it for the guide on benchmarks. */

import { assess, GOAL_COLUMNS, GOALS } from './goals.ts';
import { agentsName, FIRST_BYTE, HEIGHT, HISTORIES, TURN_CPU } from './loads/agents.ts';
import { besideName, LARGE } from './loads/beside.ts';
import { jsonName } from './loads/json.ts';
import { AFTER, AT_HEIGHT, HELD, UNREAD } from './loads/memory.ts';
import { PACES, pacedName } from './loads/paced.ts';
import { FIRST, RESIDENT, START_CPU, UNCOMPILED } from './loads/start-up.ts';
import { streamsName } from './loads/streams.ts';
import type { Machine } from './machine.ts';
import { formatNumber } from './report.ts';
import type { Results } from './results.ts';
import { HTTP_PROXY, IN_MEMORY, MANAGED, MANAGED_ON_POSTGRES, RECORDS, TRANSLATOR } from './targets.ts';
import { CHUNKS, type ChunkKind } from './scripts.ts';

export interface BenchSummary {
  readonly date: string;
  /** Of the sources that were measured. */
  readonly commit: string;
  readonly rounds: number;
  readonly machine: {
    readonly node: string;
    readonly cpu: string;
    readonly cores: number;
    readonly isPinned: boolean;
    readonly fsyncP50Ms: string;
    readonly fsyncP99Ms: string;
  };
  readonly tables: Readonly<Record<TableName, SummaryTable>>;
}

export type TableName = 'agents' | 'goals' | 'throughput' | 'chunks' | 'delay' | 'beside' | 'memory';

export interface SummaryTable {
  /** The first one is about the names of the rows. */
  readonly columns: readonly string[];
  /** The name of each row, and its figures as the guide shows them. */
  readonly rows: readonly (readonly string[])[];
}

interface Run {
  readonly results: Results;
  readonly machine: Machine;
  readonly rounds: number;
  readonly date: string;
  readonly commit: string;
}

const PROXIES = [HTTP_PROXY, TRANSLATOR, RECORDS];
const PROXY_COLUMNS = ['`http-proxy`', TRANSLATOR, 'gateway'];
const ALL = [HTTP_PROXY, TRANSLATOR, IN_MEMORY, RECORDS, MANAGED, MANAGED_ON_POSTGRES];
const ALL_COLUMNS = ['`http-proxy`', TRANSLATOR, 'in memory', 'gateway', 'managed keys', 'the same on PostgreSQL'];

/** The figures of the guide, out of all those of a run. */
export function summarize({ results, machine, rounds, date, commit }: Run): BenchSummary {
  const row = (name: string, targets: readonly string[], load: string, figure: string) => [
    name,
    ...targets.map((target) => formatNumber(results.median(load, target, figure))),
  ];
  const ofStart = (name: string, figure: string) => {
    const found = formatNumber(results.median('start', RECORDS, figure));
    return [name, '–', '–', found];
  };
  const ofMemory = (name: string, figure: string) => row(name, [HTTP_PROXY, IN_MEMORY, RECORDS], 'memory', figure);
  const many = agentsName(64, 400_000);

  return {
    date,
    commit,
    rounds,
    machine: {
      ...machine,
      fsyncP50Ms: formatNumber(machine.fsyncP50Ms),
      fsyncP99Ms: formatNumber(machine.fsyncP99Ms),
    },
    tables: {
      agents: {
        columns: ['8 agents', ...ALL_COLUMNS],
        rows: [
          ...HISTORIES.map((bytes) => agentsName(8, bytes)).flatMap((load) => [
            row(`CPU ms per turn, ${load}`, ALL, load, TURN_CPU),
            row(`first byte p99 ms, ${load}`, ALL, load, FIRST_BYTE),
          ]),
          row(`MB at the height, ${many}`, ALL, many, HEIGHT),
        ],
      },
      goals: { columns: GOAL_COLUMNS, rows: assess(GOALS, results) },
      throughput: {
        columns: ['CPU µs', ...ALL_COLUMNS],
        rows: [1, 16, 64].flatMap((count) => [
          row(`per request, ${jsonName(count)}`, ALL, jsonName(count), 'CPU µs per request'),
          row(`per chunk, bursts at ${count}`, ALL, streamsName(count), 'CPU µs per chunk'),
        ]),
      },
      chunks: {
        columns: ['CPU µs per chunk', ...PROXY_COLUMNS],
        rows: (Object.keys(CHUNKS) as ChunkKind[]).map((kind) =>
          row(kind, PROXIES, streamsName(16, kind), 'CPU µs per chunk'),
        ),
      },
      delay: {
        columns: ['streams with a delta from time to time', ...PROXY_COLUMNS],
        rows: PACES.map(pacedName).flatMap((load) => [
          row(`CPU µs per chunk, ${load}`, PROXIES, load, 'CPU µs per chunk'),
          row('delay of a delta, p50 ms', PROXIES, load, 'delay p50 ms'),
          row('the same, p99 ms', PROXIES, load, 'delay p99 ms'),
        ]),
      },
      beside: {
        columns: ['p99 in milliseconds', ...PROXY_COLUMNS],
        rows: LARGE.flatMap((large) => [
          row(`small requests ${besideName(large)}`, PROXIES, besideName(large), 'beside it: small p99 ms'),
          row(`deltas ${besideName(large)}`, PROXIES, besideName(large), 'beside it: delta p99 ms'),
        ]),
      },
      memory: {
        columns: ['figure', '`http-proxy`', 'in memory', 'gateway'],
        rows: [
          ofMemory('KB for each of 1,000 open streams', HELD),
          ofMemory('MB for a client that never reads', UNREAD),
          ofMemory('MB at the height of a burst', AT_HEIGHT),
          ofMemory('MB some seconds after it', AFTER),
          ofStart('CPU s of `node` from the start to the first answer', START_CPU),
          ofStart('ms from the start to the first answer', FIRST),
          ofStart('the same, if Node keeps nothing of what it compiles', UNCOMPILED),
          ofStart('MB resident when started', RESIDENT),
        ],
      },
    },
  };
}

/** What the gateway sets out to reach, beside what a run has found. The table names them; it fails no run. */
import { headOfLineName } from './loads/head-of-line.ts';
import { sizeName } from './loads/inputs.ts';
import { lateName } from './loads/late.ts';
import { HELD } from './loads/memory.ts';
import { START_CPU } from './loads/start-up.ts';
import { streamsName } from './loads/streams.ts';
import { SYNC } from './loads/sync.ts';
import { formatNumber, formatTable } from './report.ts';
import type { Results } from './results.ts';
import { median } from './statistics.ts';
import { BACKEND_COUNTS, DIRECT, HTTP_PROXY, IN_MEMORY, RECORDS, TRANSLATOR, withBackends } from './targets.ts';

export interface Goal {
  readonly name: string;
  readonly atLeast?: number;
  readonly atMost?: number;
  /** Of one round, out of what was measured in it. */
  readonly value: (at: At) => number;
}

type At = (load: string, target: string, figure: string) => number;

/** Figures by the names that their loads give them. */
export const PER_SECOND = 'requests/s';
export const REQUEST_CPU = 'CPU µs per request';
export const CHUNK_CPU = 'CPU µs per chunk';
export const PACED = '64 streams, a delta each 20 ms';
export const FIRST_DELTAS = '64 short streams';
export const JSON_OF_BACKENDS = 'JSON at 64, by BACKENDS_FILE';
export const STREAMS_OF_BACKENDS = 'chunks at 64, by BACKENDS_FILE';
/** How so many streams are called at the pace of `atHalfCore`. */
export const atPace = (streams: number) => `${streams} streams, http-proxy at half a core`;

const ratio =
  (load: string, figure: string, target: string, base: string) =>
  (at: At): number =>
    at(load, target, figure) / at(load, base, figure);
/** What the records add to a figure of the same gateway in memory. */
const added = (at: At, load: string, figure: string): number => at(load, RECORDS, figure) - at(load, IN_MEMORY, figure);

export const GOALS: readonly Goal[] = [
  ...(
    [
      [64, 0.7],
      [16, 0.6],
    ] as const
  ).map(([count, atLeast]) => ({
    name: `JSON requests/s at ${count}, × http-proxy`,
    atLeast,
    value: ratio(`JSON at ${count}`, PER_SECOND, RECORDS, HTTP_PROXY),
  })),
  {
    name: 'JSON at 1: p50 over in memory and a sync, ms',
    atMost: 0.3,
    value: (at) => added(at, 'JSON at 1', 'p50 ms') - at(SYNC, DIRECT, 'p50 ms'),
  },
  {
    name: 'the same with a backend that takes 20 ms',
    atMost: 0,
    value: (at) =>
      added(at, lateName({ stream: false, ms: 20, concurrency: 1 }), 'added p50 ms') - at(SYNC, DIRECT, 'p50 ms'),
  },
  ...[16, 64].map((count) => ({
    name: `chunks/s in bursts at ${count}, repeated, × http-proxy`,
    atLeast: 1,
    value: ratio(streamsName(count), 'chunks/s', RECORDS, HTTP_PROXY),
  })),
  ...[16, 64].map((count) => ({
    name: `the same at ${count}, all different, × translator`,
    atLeast: 1.1,
    value: ratio(streamsName(count, 'different'), 'chunks/s', RECORDS, TRANSLATOR),
  })),
  ...(
    [
      [PACED, '64'],
      [atPace(500), '500'],
    ] as const
  ).flatMap(([load, streams]) => [
    {
      name: `CPU per paced chunk of ${streams} streams, × translator`,
      atMost: 1,
      value: ratio(load, CHUNK_CPU, RECORDS, TRANSLATOR),
    },
    { name: '- stretch: × http-proxy', atMost: 1.25, value: ratio(load, CHUNK_CPU, RECORDS, HTTP_PROXY) },
  ]),
  ...[500, 1000].flatMap((streams) => [
    {
      name: `delay p99 of ${streams} streams, × translator`,
      atMost: 1,
      value: ratio(atPace(streams), 'delay p99 ms', RECORDS, TRANSLATOR),
    },
    {
      name: '- stretch: × http-proxy',
      atMost: 1.5,
      value: ratio(atPace(streams), 'delay p99 ms', RECORDS, HTTP_PROXY),
    },
  ]),
  ...(
    [
      ['p50', 1.5],
      ['p99', 2],
    ] as const
  ).map(([rank, atMost]) => ({
    name: `first delta ${rank}, 64 paced streams, × in memory`,
    atMost,
    value: ratio(FIRST_DELTAS, `first delta ${rank} ms`, RECORDS, IN_MEMORY),
  })),
  {
    name: 'first delta p50 after 50 ms, over in memory, ms',
    atMost: 0.2,
    value: (at) => added(at, lateName({ stream: true, ms: 50, concurrency: 8 }), 'added p50 ms'),
  },
  { name: 'KB per open stream', atMost: 60, value: (at) => at('memory', RECORDS, HELD) },
  {
    name: 'p99 of small requests beside a 30 MB body, × alone',
    atMost: 3,
    value: (at) => {
      const load = headOfLineName('body', 30_000_000);
      return at(load, RECORDS, 'beside it: small p99 ms') / at(load, RECORDS, 'alone: small p99 ms');
    },
  },
  ...[400_000, 4_000_000].map((bytes) => ({
    name: `CPU of ${sizeName(bytes)}, × parse + stringify`,
    atMost: 2,
    value: (at: At) => at(sizeName(bytes), RECORDS, '× parse + stringify'),
  })),
  { name: 'CPU from the start to the first answer, s', atMost: 0.45, value: (at) => at('start', RECORDS, START_CPU) },
  ...BACKEND_COUNTS.flatMap((count) => [
    {
      name: `CPU per request, BACKENDS_FILE of ${count}, × without`,
      atMost: 1.1,
      value: ratio(JSON_OF_BACKENDS, REQUEST_CPU, withBackends(count), RECORDS),
    },
    {
      name: `CPU per chunk, BACKENDS_FILE of ${count}, × without`,
      atMost: 1.1,
      value: ratio(STREAMS_OF_BACKENDS, CHUNK_CPU, withBackends(count), RECORDS),
    },
  ]),
];

/** What has to be measured for these goals: pairs of a load and a target. */
export function neededFor(goals: readonly Goal[]): (load: string, target: string) => boolean {
  const needed = new Set<string>();
  for (const { value } of goals) {
    value((load, target) => {
      needed.add(JSON.stringify([load, target]));
      return Number.NaN;
    });
  }
  return (load, target) => needed.has(JSON.stringify([load, target]));
}

export const GOAL_COLUMNS = ['goal', 'aim', 'found', 'from', 'to', 'reached'];

/** A row for each goal: the median of its rounds, the least and the most of them, and whether the median reaches it. */
export function assess(goals: readonly Goal[], results: Results): string[][] {
  return goals.map(({ name, atLeast, atMost, value }) => {
    const values = Array.from({ length: results.rounds }, (_, index) =>
      value((load, target, figure) => results.at(index + 1, load, target, figure)),
    ).filter((one) => Number.isFinite(one));
    const found = median(values);
    const reached = found >= (atLeast ?? -Infinity) && found <= (atMost ?? Infinity) ? 'yes' : 'no';
    return [
      name,
      atLeast === undefined ? `≤ ${formatNumber(atMost ?? Number.NaN)}` : `≥ ${formatNumber(atLeast)}`,
      formatNumber(found),
      formatNumber(Math.min(...values)),
      formatNumber(Math.max(...values)),
      Number.isNaN(found) ? '–' : reached,
    ];
  });
}

/** A line for each goal of which the run has measured what it takes. */
export function describeGoals(results: Results): string {
  const rows = assess(GOALS, results).filter(([, , found]) => found !== '–');
  return rows.length === 0 ? '' : `${formatTable(GOAL_COLUMNS, rows)}\n`;
}

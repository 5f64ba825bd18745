/** What a whole run of the bench has found, as `src/docs/bench.json` keeps it for the guide on benchmarks. */

import { assess, atPace, CHUNK_CPU, FIRST_DELTAS, GOAL_COLUMNS, GOALS, PER_SECOND, REQUEST_CPU } from './goals.ts';
import { headOfLineName, LARGE } from './loads/head-of-line.ts';
import { PARSE, PER_BYTE, SIZES, sizeName, turnsName } from './loads/inputs.ts';
import { BOUNDS_MS, BOUNDS, STEPS } from './loads/json.ts';
import { STOPS } from './loads/latencies.ts';
import { AFTER, AT_HEIGHT, HELD, UNREAD } from './loads/memory.ts';
import { FIRST, IDLE, START_CPU, UNCOMPILED } from './loads/start-up.ts';
import { streamsName } from './loads/streams.ts';
import type { Machine } from './machine.ts';
import type { Picture } from './picture.ts';
import { formatNumber } from './report.ts';
import type { Results } from './results.ts';
import {
  DIRECT,
  HTTP_PROXY,
  IN_MEMORY,
  MANAGED,
  NO_RECORDS,
  ON_POSTGRES,
  ON_TWO_CORES,
  PROXY_ON_TWO_CORES,
  RECORDS,
  TRANSLATOR,
  TWO_WORKERS,
} from './targets.ts';
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
  readonly pictures: readonly Picture[];
}

export type TableName =
  | 'goals'
  | 'throughput'
  | 'bounds'
  | 'chunks'
  | 'cost'
  | 'delay'
  | 'sizes'
  | 'beside'
  | 'stopping'
  | 'memory';

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

/** The figures of the guide, out of all those of a run. */
export function summarize({ results, machine, rounds, date, commit }: Run): BenchSummary {
  const show = (load: string, target: string, figure: string) => formatNumber(results.median(load, target, figure));
  const ratio = (load: string, figure: string, target: string, base: string) =>
    showTimes(results.median(load, target, figure) / results.median(load, base, figure));
  const besideProxy = (name: string, load: string, figure: string) => [
    name,
    ...[TRANSLATOR, IN_MEMORY, RECORDS, MANAGED, ON_POSTGRES].map((target) => ratio(load, figure, target, HTTP_PROXY)),
  ];
  const ofAll = (name: string, load: string, figure: string) => [
    name,
    ...RIVALS.map((target) => show(load, target, figure)),
  ];
  const stop = (name: string, figure: string) => [
    name,
    show(STOPS, RECORDS, `${figure} p50`),
    show(STOPS, RECORDS, `${figure} max`),
  ];
  const ofMemory = (name: string, figure: string) => [
    name,
    ...[HTTP_PROXY, IN_MEMORY, RECORDS].map((target) => show('memory', target, figure)),
  ];
  const ofStart = (name: string, figure: string) => [name, '–', '–', show('start', RECORDS, figure)];
  const beside = (name: string, load: string) => [
    name,
    ...[HTTP_PROXY, RECORDS].flatMap((target) =>
      ['alone: small p99 ms', 'beside it: small p99 ms', 'beside it: delta p99 ms'].map((figure) =>
        show(load, target, figure),
      ),
    ),
  ];
  const turns =
    results.median(turnsName(1000), RECORDS, REQUEST_CPU) / results.median(turnsName(100), RECORDS, REQUEST_CPU);

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
      goals: { columns: GOAL_COLUMNS, rows: assess(GOALS, results) },
      throughput: {
        columns: ['× `http-proxy`', TRANSLATOR, 'in memory', 'gateway', 'with managed keys', 'on PostgreSQL'],
        rows: [
          besideProxy('JSON requests/s at 16', 'JSON at 16', PER_SECOND),
          besideProxy('JSON requests/s at 64', 'JSON at 64', PER_SECOND),
          besideProxy('streamed chunks/s at 16', streamsName(16), 'chunks/s'),
          besideProxy('streamed chunks/s at 64', streamsName(64), 'chunks/s'),
          besideProxy('CPU per chunk of 500 slow streams', atPace(500), CHUNK_CPU),
          ...[
            ['JSON requests/s at 64', 'JSON at 64, two cores', PER_SECOND],
            ['streamed chunks/s at 64', 'chunks at 64, two cores', 'chunks/s'],
          ].flatMap(([name = '', load = '', figure = '']) =>
            [
              ['on two cores', ON_TWO_CORES],
              ['with WORKERS=2', TWO_WORKERS],
            ].map(([how, target = '']) => [
              `${name}, ${how}`,
              '–',
              '–',
              ratio(load, figure, target, PROXY_ON_TWO_CORES),
              '–',
              '–',
            ]),
          ),
        ],
      },
      bounds: {
        columns: ['JSON requests/s', 'asked directly', '`http-proxy`', TRANSLATOR, 'in memory', 'gateway'],
        rows: BOUNDS_MS.map((boundMs) =>
          ofAll(`with a p99 of at most ${boundMs} ms`, BOUNDS, `requests/s at p99 ≤ ${boundMs} ms`),
        ),
      },
      chunks: {
        columns: ['CPU µs per chunk', '`http-proxy`', TRANSLATOR, 'gateway'],
        rows: (Object.keys(CHUNKS) as ChunkKind[]).map((kind) => [
          kind,
          ...[HTTP_PROXY, TRANSLATOR, RECORDS].map((target) => show(streamsName(16, kind), target, CHUNK_CPU)),
        ]),
      },
      cost: {
        columns: ['CPU', 'of a JSON request', 'of a streamed chunk'],
        rows: [
          ['with records, × without', RECORDS, NO_RECORDS],
          ['with records, × those in memory', RECORDS, IN_MEMORY],
          ['with managed keys, × records alone', MANAGED, RECORDS],
        ].map(([name = '', target = '', base = '']) => [
          name,
          ratio('JSON at 64', REQUEST_CPU, target, base),
          ratio(streamsName(64), CHUNK_CPU, target, base),
        ]),
      },
      delay: {
        columns: ['milliseconds', 'asked directly', '`http-proxy`', TRANSLATOR, 'in memory', 'gateway'],
        rows: [
          ofAll('first delta of 64 streams: p50', FIRST_DELTAS, 'first delta p50 ms'),
          ofAll('the same: p99', FIRST_DELTAS, 'first delta p99 ms'),
          ...[500, 1000].flatMap((streams) => [
            ofAll(`delay of a delta of ${streams} streams: p50`, atPace(streams), 'delay p50 ms'),
            ofAll('the same: p99', atPace(streams), 'delay p99 ms'),
          ]),
        ],
      },
      sizes: {
        columns: ['CPU ns per byte of input', 'parse + stringify', '`http-proxy`', TRANSLATOR, 'gateway'],
        rows: SIZES.map((bytes) => [
          sizeName(bytes),
          show(sizeName(bytes), RECORDS, PARSE),
          ...[HTTP_PROXY, TRANSLATOR, RECORDS].map((target) => show(sizeName(bytes), target, PER_BYTE)),
        ]),
      },
      beside: {
        columns: [
          'p99 in milliseconds',
          ...['`http-proxy`', 'gateway'].flatMap((name) => [
            `${name}: small alone`,
            'small beside it',
            'deltas beside it',
          ]),
        ],
        rows: LARGE.map(([part, bytes]) => beside(headOfLineName(part, bytes), headOfLineName(part, bytes))),
      },
      stopping: {
        columns: ['milliseconds', 'p50', 'max of 50'],
        rows: [
          stop('client gone → backend sees it', 'abort seen by backend'),
          stop('cancel → `202`', 'cancel answered'),
          stop('cancel → backend sees it', 'cancel seen by backend'),
          stop('cancel → record says `cancelled`', 'cancel recorded'),
        ],
      },
      memory: {
        columns: ['figure', '`http-proxy`', 'in memory', 'gateway'],
        rows: [
          ofMemory('KB for each of 1,000 open streams', HELD),
          ofMemory('MB for a client that never reads', UNREAD),
          ofMemory('MB at the height of a burst', AT_HEIGHT),
          ofMemory('MB some seconds after it', AFTER),
          ['CPU for 1,000 turns of input, × 100 turns', '–', '–', showTimes(turns)],
          ofStart('CPU s of `node` from the start to the first answer', START_CPU),
          ofStart('ms from the start to the first answer', FIRST),
          ofStart('the same, if Node keeps nothing of what it compiles', UNCOMPILED),
          ofStart('MB resident when idle', IDLE),
        ],
      },
    },
    pictures: [
      {
        title: 'p99 of JSON answers, by how many are answered',
        x: 'requests/s',
        y: 'ms',
        // The backend alone is so quick that the others would be one heap.
        curves: RIVALS.slice(1).map((target) => ({
          name: target,
          points: STEPS.map((count) => [
            results.median(BOUNDS, target, `at ${count}: requests/s`),
            results.median(BOUNDS, target, `at ${count}: p99 ms`),
          ]),
        })),
      },
      {
        title: 'CPU per byte of input, by the size of the prompt',
        x: 'kB',
        y: 'ns',
        curves: [
          ['parse + stringify', RECORDS, PARSE],
          ...[HTTP_PROXY, TRANSLATOR, RECORDS].map((target) => [target, target, PER_BYTE]),
        ].map(([name = '', target = '', figure = '']) => ({
          name,
          points: SIZES.map((bytes) => [bytes / 1000, results.median(sizeName(bytes), target, figure)]),
        })),
      },
    ].map(toDrawn),
  };
}

const RIVALS = [DIRECT, HTTP_PROXY, TRANSLATOR, IN_MEMORY, RECORDS];

/** Keeps three digits, and only what was measured: there is no number for the rest in JSON. */
function toDrawn(picture: Picture): Picture {
  const curves = picture.curves.map(({ name, points }) => ({
    name,
    points: points
      .filter((point) => point.every((value) => Number.isFinite(value) && value > 0))
      .map((point) => point.map((value) => Number(value.toPrecision(3)))),
  }));
  return { ...picture, curves };
}

function showTimes(ratio: number): string {
  return Number.isNaN(ratio) ? formatNumber(ratio) : `${formatNumber(ratio)} ×`;
}

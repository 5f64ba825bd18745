/** What a whole run of the bench has found, as `src/docs/bench.json` keeps it for the guide on benchmarks. */

import { turnsName } from './loads/inputs.ts';
import type { Machine } from './machine.ts';
import { CHUNK_CPU, JSON_AT_64, MANY, PACED, REQUEST_CPU, STOPS, STREAMS_AT_64 } from './marks.ts';
import { formatNumber } from './report.ts';
import type { Results } from './results.ts';
import { DIRECT, HTTP_PROXY, MANAGED, NO_RECORDS, ON_POSTGRES, RECORDS } from './targets.ts';

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

export type TableName = 'throughput' | 'cost' | 'delay' | 'stopping' | 'memory';

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
    ...[NO_RECORDS, RECORDS, MANAGED, ON_POSTGRES].map((target) => ratio(load, figure, target, HTTP_PROXY)),
  ];
  const ofAll = (name: string, load: string, figure: string) => [
    name,
    ...[DIRECT, HTTP_PROXY, NO_RECORDS, RECORDS].map((target) => show(load, target, figure)),
  ];
  const stop = (name: string, figure: string) => [
    name,
    show(STOPS, RECORDS, `${figure} p50`),
    show(STOPS, RECORDS, `${figure} max`),
  ];
  const ofBoth = (name: string, load: string, figure: string) => [
    name,
    show(load, RECORDS, figure),
    show(load, HTTP_PROXY, figure),
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
      throughput: {
        columns: ['beside `http-proxy`', 'gateway, no records', 'gateway', 'with managed keys', 'on PostgreSQL'],
        rows: [
          besideProxy('JSON requests/s at 16', 'JSON at 16', 'requests/s'),
          besideProxy('JSON requests/s at 64', JSON_AT_64, 'requests/s'),
          besideProxy('streamed chunks/s at 16', 'streams of 200 chunks at 16', 'chunks/s'),
          besideProxy('streamed chunks/s at 64', STREAMS_AT_64, 'chunks/s'),
          besideProxy('CPU per chunk of 1,000 slow streams', MANY, CHUNK_CPU),
        ],
      },
      cost: {
        columns: ['CPU', 'of a JSON request', 'of a streamed chunk'],
        rows: [
          [
            'with records, beside without',
            ratio(JSON_AT_64, REQUEST_CPU, RECORDS, NO_RECORDS),
            ratio(STREAMS_AT_64, CHUNK_CPU, RECORDS, NO_RECORDS),
          ],
          [
            'with managed keys, beside records alone',
            ratio(JSON_AT_64, REQUEST_CPU, MANAGED, RECORDS),
            ratio(STREAMS_AT_64, CHUNK_CPU, MANAGED, RECORDS),
          ],
        ],
      },
      delay: {
        columns: ['milliseconds', 'asked directly', '`http-proxy`', 'gateway, no records', 'gateway'],
        rows: [
          ofAll('first delta, 64 streams of a delta each 20 ms: p50', PACED, 'first delta p50 ms'),
          ofAll('the same: p99', PACED, 'first delta p99 ms'),
          ofAll('delay of a delta, 1,000 streams of one each 100 ms: p50', MANY, 'delay p50 ms'),
          ofAll('the same: p99', MANY, 'delay p99 ms'),
        ],
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
        columns: ['figure', 'gateway', '`http-proxy`'],
        rows: [
          ofBoth('KB for each of 1,000 open streams', 'memory', 'KB per stream of 1000'),
          ofBoth('MB for a client that never reads', 'memory', 'MB when a client never reads'),
          ['CPU for 1,000 turns of input, beside 100 turns', showTimes(turns), '–'],
          ['ms from `npm start` to the first answer', show('start', RECORDS, 'ms to the first answer'), '–'],
          [
            'the same, if Node keeps nothing of what it compiles',
            show('start', RECORDS, 'ms with nothing compiled'),
            '–',
          ],
        ],
      },
    },
  };
}

function showTimes(ratio: number): string {
  return Number.isNaN(ratio) ? formatNumber(ratio) : `${formatNumber(ratio)} ×`;
}

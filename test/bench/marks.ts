/** What the gateway sets out to reach, beside what a run has found. The table names them; it fails no run. */
import { turnsName } from './loads/inputs.ts';
import type { Machine } from './machine.ts';
import { formatNumber, formatTable } from './report.ts';
import type { Results } from './results.ts';
import { DIRECT, HTTP_PROXY, MANAGED, NO_RECORDS, RECORDS } from './targets.ts';

interface Mark {
  readonly name: string;
  readonly value: number;
  readonly atLeast?: number;
  readonly atMost?: number;
}

/** Loads and figures by the names that their files give them. */
export const JSON_AT_64 = 'JSON at 64';
export const STREAMS_AT_64 = 'streams of 200 chunks at 64';
export const PACED = '64 streams, a delta each 20 ms';
export const MANY = '1000 streams, a delta each 100 ms';
export const STOPS = 'aborts and cancels, ms';
export const REQUEST_CPU = 'CPU µs per request';
export const CHUNK_CPU = 'CPU µs per chunk';

/** A line for each mark of which the run has measured what it takes. */
export function describeMarks(results: Results, machine: Machine): string {
  const rows = toMarks(results, machine)
    .filter(({ value }) => !Number.isNaN(value))
    .map(({ name, value, atLeast, atMost }) => [
      name,
      formatNumber(value),
      atLeast === undefined ? `≤ ${formatNumber(atMost ?? Number.NaN)}` : `≥ ${formatNumber(atLeast)}`,
      value >= (atLeast ?? -Infinity) && value <= (atMost ?? Infinity) ? 'yes' : 'no',
    ]);
  return rows.length === 0 ? '' : `${formatTable(['mark', 'found', 'aim', 'reached'], rows)}\n`;
}

function toMarks(results: Results, { fsyncP50Ms, fsyncP99Ms }: Machine): Mark[] {
  const median = (load: string, target: string, figure: string) => results.median(load, target, figure);
  const ratio = (load: string, figure: string, target: string, base: string) =>
    median(load, target, figure) / median(load, base, figure);
  const over = (load: string, figure: string) => median(load, RECORDS, figure) - median(load, DIRECT, figure);
  return [
    {
      name: 'JSON at 64, requests/s × http-proxy',
      value: ratio(JSON_AT_64, 'requests/s', RECORDS, HTTP_PROXY),
      atLeast: 0.55,
    },
    ...[16, 64].map((count) => ({
      name: `streams at ${count}, chunks/s × http-proxy`,
      value: ratio(`streams of 200 chunks at ${count}`, 'chunks/s', RECORDS, HTTP_PROXY),
      atLeast: 0.8,
    })),
    {
      name: '64 paced streams, first delta over direct p50 ms (0.8 + fsync)',
      value: over(PACED, 'first delta p50 ms'),
      atMost: 0.8 + fsyncP50Ms,
    },
    {
      name: '64 paced streams, first delta over direct p99 ms (3 + fsync)',
      value: over(PACED, 'first delta p99 ms'),
      atMost: 3 + fsyncP99Ms,
    },
    { name: '1000 streams, delay p50 ms', value: median(MANY, RECORDS, 'delay p50 ms'), atMost: 0.4 },
    { name: '1000 streams, delay p99 ms', value: median(MANY, RECORDS, 'delay p99 ms'), atMost: 8 },
    { name: 'KB per stream of 1000', value: median('memory', RECORDS, 'KB per stream of 1000'), atMost: 75 },
    {
      name: 'CPU of 1,000 turns × that of 100',
      value: median(turnsName(1000), RECORDS, REQUEST_CPU) / median(turnsName(100), RECORDS, REQUEST_CPU),
      atMost: 12,
    },
    { name: 'start to the first answer, ms', value: median('start', RECORDS, 'ms to the first answer'), atMost: 1000 },
    {
      name: 'CPU of a JSON request × without records',
      value: ratio(JSON_AT_64, REQUEST_CPU, RECORDS, NO_RECORDS),
      atMost: 1.6,
    },
    {
      name: 'CPU of a chunk × without records',
      value: ratio(STREAMS_AT_64, CHUNK_CPU, RECORDS, NO_RECORDS),
      atMost: 1.1,
    },
    {
      name: 'CPU of a JSON request with managed keys × without',
      value: ratio(JSON_AT_64, REQUEST_CPU, MANAGED, RECORDS),
      atMost: 1.3,
    },
    {
      name: 'CPU of a chunk with managed keys × without',
      value: ratio(STREAMS_AT_64, CHUNK_CPU, MANAGED, RECORDS),
      atMost: 1.3,
    },
  ];
}

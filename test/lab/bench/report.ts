import type { Column, Load } from './load.ts';
import type { Machine } from './machine.ts';
import type { Results } from './results.ts';
import { median } from './statistics.ts';
import { HTTP_PROXY } from './targets.ts';

type Row = readonly string[];

interface Run {
  readonly machine: Machine;
  readonly rounds: number;
  readonly loads: readonly Load[];
  readonly results: Results;
  readonly targets: readonly string[];
}

/** The machine, and one table for each load with a line for each target that was measured. */
export function describeRun({ machine, rounds, loads, results, targets }: Run): string {
  const { node, cpu, cores, fsyncP50Ms, fsyncP99Ms } = machine;
  const pinned = machine.isPinned
    ? 'each target alone on one core, load and backend on another'
    : 'no core of their own';
  return [
    `Node ${node}, ${cores} × ${cpu}, ${pinned}; medians of ${rounds}, ± half of what lies between the least and the most`,
    `fsync of the disk: p50 ${formatNumber(fsyncP50Ms)} ms, p99 ${formatNumber(fsyncP99Ms)} ms`,
    '',
    ...loads.flatMap((load) => describeLoad(results, load, targets)),
  ].join('\n');
}

/** What the size of a window does not change. */
const PAIRED = /^CPU|p99 ms$|^MB/;

/** By how much the figures of one target differ from those of another, as the median of the ratios of each round. */
export function describePairs(
  results: Results,
  loads: readonly Load[],
  [name, base]: readonly [string, string],
): string {
  const rows = loads.flatMap((load) =>
    load.columns
      .filter(({ figure }) => PAIRED.test(figure))
      .flatMap(({ figure }) => {
        const ratios = Array.from({ length: results.rounds }, (_, index) => {
          const of = (target: string) => results.at(index + 1, load.name, target, figure);
          return of(name) / of(base);
        }).filter(Number.isFinite);
        if (ratios.length === 0) return [];
        const found = [median(ratios), Math.min(...ratios), Math.max(...ratios)];
        return [[`${load.name}: ${figure}`, ...found.map(formatNumber)]];
      }),
  );
  return rows.length === 0 ? '' : `${formatTable([`${name} × ${base}`, 'found', 'from', 'to'], rows)}\n`;
}

function describeLoad(results: Results, { name, columns }: Load, targets: readonly string[]): string[] {
  const measured = targets.filter((target) =>
    columns.some(({ figure }) => !Number.isNaN(results.median(name, target, figure))),
  );
  if (measured.length === 0) return [];
  const header = [
    name,
    ...columns.flatMap(({ figure, beside }) => (beside === undefined ? [figure] : [figure, beside])),
  ];
  const rows = measured.map((target) => [
    target,
    ...columns.flatMap((column) =>
      toCells(
        column,
        (other) => results.median(name, other, column.figure),
        target,
        results.spread(name, target, column.figure),
      ),
    ),
  ]);
  return [formatTable(header, rows), ''];
}

function toCells({ beside }: Column, of: (target: string) => number, target: string, spread: number): Row {
  const value = of(target);
  const shown = formatNumber(value) + (spread > 0 ? ` ±${Math.round(spread)}%` : '');
  if (beside === undefined) return [shown];
  const ratio = value / of(HTTP_PROXY);
  return [shown, Number.isFinite(ratio) ? ratio.toFixed(2) : '–'];
}

/** A table that reads well in a terminal and is one in Markdown too, as the formatter has it. */
export function formatTable(header: Row, rows: readonly Row[]): string {
  const widths = header.map((title, column) =>
    Math.max(3, title.length, ...rows.map((row) => (row[column] ?? '').length)),
  );
  const line = (cells: Row) => `| ${cells.map((cell, column) => pad(cell, widths[column] ?? 0, column)).join(' | ')} |`;
  const rule = line(widths.map((width, column) => (column === 0 ? '-'.repeat(width) : `${'-'.repeat(width - 1)}:`)));
  return [line(header), rule, ...rows.map(line)].join('\n');
}

function pad(cell: string, width: number, column: number): string {
  return column === 0 ? cell.padEnd(width) : cell.padStart(width);
}

/** Three digits that say something. */
export function formatNumber(value: number): string {
  if (!Number.isFinite(value)) return '–';
  const digits = Math.abs(value) >= 100 ? 0 : Math.abs(value) >= 10 ? 1 : 2;
  return value.toFixed(digits);
}

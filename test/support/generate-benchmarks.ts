import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { formatTable } from '../lab/bench/report.ts';
import type { BenchSummary, SummaryTable } from '../lab/bench/summary.ts';

const DOCS = join(import.meta.dirname, '../../src/docs');
/** The guide, and the journal of whoever makes the gateway faster. */
export const BENCHMARK_PATHS = [
  join(DOCS, 'decisions.md'),
  join(import.meta.dirname, '../lab/bench/journal.md'),
] as const;
const SUMMARY_PATH = join(DOCS, 'bench.json');

/** From `<!-- bench: delay -->` to `<!-- /bench -->`. */
const PART = /(<!-- bench: (\w+) -->\n).*?(<!-- \/bench -->)/gs;

/** Keeps what a run has found, and shows it in the guide and in the journal. */
export function publish(summary: BenchSummary): void {
  writeFileSync(SUMMARY_PATH, `${JSON.stringify(summary, null, 2)}\n`);
  writeDocs();
}

function writeDocs(): void {
  const texts = generateBenchmarks();
  for (const [index, path] of BENCHMARK_PATHS.entries()) writeFileSync(path, texts[index] ?? '');
}

export function readSummary(): BenchSummary {
  return JSON.parse(readFileSync(SUMMARY_PATH, 'utf8')) as BenchSummary;
}

/** The texts of `BENCHMARK_PATHS`, with the figures of the file that the bench wrote between their marks. */
export function generateBenchmarks(): readonly string[] {
  return fillIn(
    BENCHMARK_PATHS.map((path) => readFileSync(path, 'utf8')),
    readSummary(),
  );
}

/** Throws when what a mark names is not in the summary, or when no text shows something that is. */
export function fillIn(texts: readonly string[], summary: BenchSummary): readonly string[] {
  const parts = new Map<string, string>([
    ['machine', describeMachine(summary)],
    ['turns', drawTurns(summary.tables.agents)],
    ...Object.entries(summary.tables).map(([name, { columns, rows }]) => [name, formatTable(columns, rows)] as const),
  ]);
  const filled = texts.map((text) =>
    text.replaceAll(PART, (_, start: string, name: string, end: string) => {
      const part = parts.get(name);
      if (part === undefined) throw new Error(`the bench has no figures for "${name}", or they stand there twice`);
      parts.delete(name);
      return `${start}\n${part}\n\n${end}`;
    }),
  );
  if (parts.size > 0) throw new Error(`no text has <!-- bench: ${[...parts.keys()].join(', ')} -->`);
  return filled;
}

const TURN = /^CPU ms per turn, .* at (.+)$/;
const TARGETS = [1, 2, 4, 6];
const BAR = 40;

/** What a turn costs by the size of its history, as bars that a forge shows as well as the pages do. */
function drawTurns({ columns, rows }: SummaryTable): string {
  const turns = rows.filter(([name = '']) => TURN.test(name));
  const most = Math.max(...turns.flatMap((row) => TARGETS.map((target) => Number(row[target]))));
  const names = TARGETS.map((target) =>
    (columns[target] ?? '').replaceAll('`', '').replace('the same', 'managed keys'),
  );
  const width = Math.max(...names.map((name) => name.length));
  const bars = turns.flatMap((row) =>
    TARGETS.map((target, index) => {
      const size = index === 0 ? (TURN.exec(row[0] ?? '')?.[1] ?? '') : '';
      const bar = '█'.repeat(Math.max(1, Math.round((Number(row[target]) * BAR) / most)));
      // The figure comes first, since a phone shows the beginning of a line.
      return `${size.padStart(6)}  ${(names[index] ?? '').padEnd(width)}  ${(row[target] ?? '').padStart(5)} ${bar}`;
    }),
  );
  return ['```text', ...bars, '```'].join('\n');
}

function describeMachine({ date, commit, rounds, machine }: BenchSummary): string {
  const { node, cpu, cores, isPinned, fsyncP50Ms, fsyncP99Ms } = machine;
  return [
    `The figures are medians of ${rounds} ${rounds === 1 ? 'round' : 'rounds'} on ${date}, at the commit ${commit}, with Node ${node.replace('v', '')} on ${cores} cores (${cpu}).`,
    isPinned
      ? 'Each target ran alone on one core, with the load and the backend on another, and with records on disk and synced.'
      : 'No target had a core of its own. Records were on disk and synced.',
    `A sync of the disk took ${fsyncP50Ms} ms (p99 ${fsyncP99Ms} ms).`,
  ].join('\n');
}

if (process.argv[1] === import.meta.filename) writeDocs();

import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { formatTable } from '../lab/bench/report.ts';
import type { BenchSummary } from '../lab/bench/summary.ts';

const DOCS = join(import.meta.dirname, '../../src/docs');
export const BENCHMARKS_PATH = join(DOCS, 'benchmarks.md');
const SUMMARY_PATH = join(DOCS, 'bench.json');

/** From `<!-- bench: delay -->` to `<!-- /bench -->`. */
const PART = /(<!-- bench: (\w+) -->\n).*?(<!-- \/bench -->)/gs;

/** Keeps what a run has found, and shows it in the guide. */
export function publish(summary: BenchSummary): void {
  writeFileSync(SUMMARY_PATH, `${JSON.stringify(summary, null, 2)}\n`);
  writeDocs();
}

function writeDocs(): void {
  writeFileSync(BENCHMARKS_PATH, generateBenchmarks());
}

export function readSummary(): BenchSummary {
  return JSON.parse(readFileSync(SUMMARY_PATH, 'utf8')) as BenchSummary;
}

/** The guide on benchmarks with the figures of the file that the bench wrote between its marks. */
export function generateBenchmarks(): string {
  return fillIn(readFileSync(BENCHMARKS_PATH, 'utf8'), readSummary());
}

/** Throws when what a mark names is not in the summary, or when the guide leaves out something that is. */
export function fillIn(guide: string, summary: BenchSummary): string {
  const parts = new Map<string, string>([
    ['machine', describeMachine(summary)],
    ...Object.entries(summary.tables).map(([name, { columns, rows }]) => [name, formatTable(columns, rows)] as const),
  ]);
  const filled = guide.replaceAll(PART, (_, start: string, name: string, end: string) => {
    const part = parts.get(name);
    if (part === undefined) throw new Error(`the bench has no figures for "${name}", or they stand there twice`);
    parts.delete(name);
    return `${start}\n${part}\n\n${end}`;
  });
  if (parts.size > 0) throw new Error(`the guide on benchmarks has no <!-- bench: ${[...parts.keys()].join(', ')} -->`);
  return filled;
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

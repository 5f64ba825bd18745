import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { readMatrix, toTable } from './generate-matrix.ts';

const DOCS = join(import.meta.dirname, '../../src/docs');
export const GUARANTEES_PATH = join(DOCS, 'guarantees.md');
const FIGURES_PATH = join(DOCS, 'figures.json');
const PART = /(<!-- figures -->\n).*?(<!-- \/figures -->)/s;

/** The last run of a long program that found every guarantee kept. */
export interface Figures {
  /** UTC. */
  readonly date: string;
  /** As it was typed. */
  readonly command: string;
  readonly found: string;
}

export type LongProgram = 'lab kill' | 'lab cluster' | 'lab simulate' | 'lab strange';

/** Keeps what a run has found, and shows it in the guide of guarantees. Only with `PUBLISH=1`. */
export function publishFigures(program: LongProgram, found: string): void {
  if (process.env['PUBLISH'] !== '1') return;
  const args = process.argv.slice(2);
  const command = [`npm run ${program}`, ...(args.length === 0 ? [] : ['--', ...args])].join(' ');
  const figures = { ...readFigures(), [program]: { date: new Date().toISOString().slice(0, 10), command, found } };
  writeFileSync(FIGURES_PATH, `${JSON.stringify(figures, null, 2)}\n`);
  writeFileSync(GUARANTEES_PATH, generateFigures());
}

export function readFigures(): Readonly<Partial<Record<LongProgram, Figures>>> {
  return existsSync(FIGURES_PATH) ? (JSON.parse(readFileSync(FIGURES_PATH, 'utf8')) as object) : {};
}

/** Returns the guide of guarantees with the figures of the last runs between its marks. */
export function generateFigures(): string {
  const { date, clients, backends } = readMatrix();
  const rows = [
    ...Object.values(readFigures()).map((figures) => [`\`${figures.command}\``, figures.found, figures.date]),
    [
      '`npm run lab turns`',
      `${Object.keys(clients).length} clients in front of ${Object.keys(backends).length} backends, each as in [the table](clients.md#tested-versions)`,
      date,
    ],
  ];
  const table = toTable(['program', 'what happened in its last run, with every guarantee kept', 'on'], rows);
  return readFileSync(GUARANTEES_PATH, 'utf8').replace(
    PART,
    (_, start: string, end: string) => `${start}\n${table}\n\n${end}`,
  );
}

if (process.argv[1] === import.meta.filename) writeFileSync(GUARANTEES_PATH, generateFigures());

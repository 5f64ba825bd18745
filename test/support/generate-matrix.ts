import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

const ROOT = join(import.meta.dirname, '../..');
const MATRIX_PATH = join(ROOT, 'src/docs/turns.json');
/** What the guide shows between `<!-- turns: name -->` and `<!-- /turns -->`. */
export const MATRIX_DOCUMENTS: readonly string[] = [join(ROOT, 'src/docs/clients.md')];
const PART = /(<!-- turns: (\w+) -->\n).*?(<!-- \/turns -->)/gs;

export interface Matrix {
  /** UTC. */
  readonly date: string;
  readonly scenarios: readonly string[];
  readonly clients: Readonly<Record<string, { readonly package: string; readonly version: string }>>;
  /** By backend and client: a mark for each scenario, `✓`, `✗` or `·` where the client cannot ask for it. */
  readonly backends: Readonly<Record<string, Readonly<Record<string, string | null>>>>;
}

/** Keeps what a run of `npm run lab turns` has found, and shows it in the guide. */
export function publishMatrix(matrix: Matrix): void {
  writeFileSync(MATRIX_PATH, `${JSON.stringify(matrix, null, 2)}\n`);
  writeAll();
}

export function readMatrix(): Matrix {
  return JSON.parse(readFileSync(MATRIX_PATH, 'utf8')) as Matrix;
}

/** Returns the document with its tables as the last run has found them. Throws for a mark that names none. */
export function fillInMatrix(document: string, matrix: Matrix): string {
  return document.replaceAll(PART, (_, start: string, name: string, end: string) => {
    const part = PARTS[name];
    if (part === undefined) throw new Error(`the run of the clients has no part "${name}"`);
    return `${start}\n${part(matrix)}\n\n${end}`;
  });
}

const PARTS: Readonly<Record<string, (matrix: Matrix) => string>> = {
  clients: showClients,
  scenarios: showScenarios,
};

/** Backends down, clients across: whether all works that the client can ask for. */
function showClients({ date, clients, backends }: Matrix): string {
  const names = Object.keys(clients);
  const head = ['backend', ...names.map((name) => `${name} ${clients[name]?.version}`)];
  const rows = Object.entries(backends).map(([backend, marks]) => [
    backend,
    ...names.map((name) => toShare(marks[name] ?? '')),
  ]);
  return `${toTable(head, rows)}\n\nThis is what \`npm run lab turns\` found on ${date}.`;
}

function toShare(marks: string): string {
  const asked = marks.replaceAll('·', '').length;
  const done = marks.replaceAll(/[^✓]/g, '').length;
  if (asked === 0) return 'not run';
  return done === asked ? '✓' : `${done} of ${asked}`;
}

/** Backends down, scenarios across; a client is named where it differs from the others. */
function showScenarios({ scenarios, clients, backends }: Matrix): string {
  const head = ['backend', ...scenarios.map((scenario) => scenario.replace('-', ' '))];
  const rows = Object.entries(backends).map(([backend, marks]) => [
    backend,
    ...scenarios.map((_, at) => {
      const asking = Object.keys(clients).filter((client) => !['·', ''].includes((marks[client] ?? '').charAt(at)));
      const failing = asking.filter((client) => marks[client]?.charAt(at) !== '✓');
      if (failing.length === 0) return 'yes';
      return failing.length === asking.length ? 'no' : `not ${failing.join(', ')}`;
    }),
  ]);
  return toTable(head, rows);
}

/** Returns a table of Markdown. */
export function toTable(head: readonly string[], rows: readonly (readonly string[])[]): string {
  return [head, head.map(() => '---'), ...rows].map((cells) => `| ${cells.join(' | ')} |`).join('\n');
}

function writeAll(): void {
  for (const path of MATRIX_DOCUMENTS) {
    writeFileSync(path, fillInMatrix(readFileSync(path, 'utf8'), readMatrix()));
  }
}

if (process.argv[1] === import.meta.filename) writeAll();

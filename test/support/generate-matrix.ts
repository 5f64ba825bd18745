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

/** Clients down: what works everywhere, or what does not and where; what no client can have is not theirs. */
function showClients({ date, scenarios, clients, backends }: Matrix): string {
  const rows = Object.entries(clients).map(([client, { package: name, version }]) => {
    const failing = Map.groupBy(scenarios.keys(), (at) => failingAt(at, client, backends).join(', '));
    failing.delete('');
    const told = [...failing].map(
      ([where, at]) => `${at.map((at) => toWords(scenarios[at] ?? '')).join(', ')}: not ${where}`,
    );
    const isRun = Object.values(backends).some((marks) => /[✓✗]/.test(marks[client] ?? ''));
    return [client, isRun ? told.join('; ') || '✓' : 'not run', `\`${name}\``, version];
  });
  return `${toTable(['client', 'works with', 'package', 'version'], rows)}\n\nThis is what \`npm run lab turns\` found on ${date}.`;
}

/** The backends with which a scenario works for others, and not for this client. */
function failingAt(at: number, client: string, backends: Matrix['backends']): string[] {
  return Object.entries(backends)
    .filter(([, marks]) => marks[client]?.charAt(at) === '✗')
    .filter(([, marks]) => Object.values(marks).some((mark) => mark?.charAt(at) === '✓'))
    .map(([backend]) => backend.split(',')[0] ?? '');
}

/** Backends down, scenarios across; a client is named where it differs from the others. */
function showScenarios({ scenarios, clients, backends }: Matrix): string {
  const head = ['backend', ...scenarios.map(toWords)];
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

function toWords(scenario: string): string {
  return scenario.replace('-', ' ');
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

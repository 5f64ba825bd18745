import { readFileSync, rmSync, statSync } from 'node:fs';
import { InvalidArgumentError, type Command } from 'commander';
import type { PreparedKeys } from '../admin/administration.ts';
import { messageOf } from '../core/errors.ts';
import { recordOf } from '../core/map-values.ts';
import { LIMITS } from '../core/money/limits.ts';
import { writePrivateFile } from '../store/private-files.ts';
import { withAdministration } from './administration.ts';
import { CliError } from './context.ts';
import { CsvError, formatCsvLine, parseCsv, type CsvRow } from './csv.ts';
import { formatNumberOf } from './format.ts';
import { addCommand } from './command.ts';
import { keyParsers, toKeyBody, warnOfMode, warnOfTokens, type KeyOptions } from './key-options.ts';
import type { Cli } from './printer.ts';

const MAX_KEYS = 1000;
const MAX_FILE_BYTES = 1024 * 1024;
const MAX_PROBLEMS = 20;

/** The columns are those that the CSV of `keys list` has, and `credits`. */
const COLUMNS = {
  name: 'name',
  group: 'group',
  credits: 'credits',
  models: 'models',
  ...recordOf(LIMITS, ({ wire, option }) => [wire, option]),
  expires_at: 'expires',
} as const satisfies Readonly<Record<string, keyof KeyOptions>>;
type ColumnName = keyof typeof COLUMNS;

export function addImport(keys: Command, cli: Cli): void {
  addCommand(keys, 'import', {
    what: 'create a key for each line of a CSV file; if any line is wrong, none is created',
    note: `Columns (only name is required): ${Object.keys(COLUMNS).join(', ')}.
A cell takes what the option of keys create takes. An empty cell leaves the option out.`,
    examples: [
      ['keys import teams.csv --dry-run', 'reports mistakes by line and column'],
      ['keys import teams.csv --out secrets.csv', 'all keys, or none'],
    ],
  })
    .argument('<file>', `CSV with a header line and up to ${MAX_KEYS} keys`)
    .option(
      '--out <file>',
      'write the secrets as CSV to this new file, which only you can read, instead of printing them',
    )
    .option('--dry-run', 'check every line without creating keys')
    .action((file: string, { out, dryRun = false }: { readonly out?: string; readonly dryRun?: boolean }) =>
      withAdministration(
        cli,
        async ({ administration, config }) => {
          const lines = readKeys(file, cli);
          const prepared = await administration.keys.prepare(lines.map(({ options }) => toKeyBody(options)));
          refuseProblems(
            file,
            prepared.problems.map(({ at, param, message }) => {
              const column = param.split('.').at(-1) ?? '';
              return `line ${lines[at]?.line}, column ${column}: ${message}`;
            }),
          );
          warnOfMode(cli, config);
          const rates = lines.flatMap(({ options: { tpm } }) => (typeof tpm === 'number' ? tpm : []));
          warnOfTokens(cli, { tpm: Math.min(...rates) }, config.defaultMaxOutputTokens);
          const count = formatNumberOf('key', lines.length);
          if (dryRun) {
            cli.printer.show({ object: 'key_import', keys: lines.length, dry_run: true }, () => [
              `${file}: ${count} could be created. Nothing was changed.`,
            ]);
            return;
          }
          if (out !== undefined) {
            const issued = await createWithFile(out, prepared);
            cli.printer.show({ object: 'key_import', keys: issued.length, dry_run: false, file: out }, () => [
              `${count} created. The secrets are in ${out}, which only you can read.`,
            ]);
            return;
          }
          const data = await prepared.create();
          cli.printer.show({ object: 'list', data }, () => toSecretLines(data));
          cli.printer.note('The secrets are shown only once. The gateway keeps only hashes of them.');
        },
        { beginsKeys: true },
      ),
    );
}

interface KeyLine {
  readonly line: number;
  readonly options: KeyOptions;
}

function readKeys(file: string, cli: Cli): readonly KeyLine[] {
  const [head, ...rows] = readRows(file);
  if (head === undefined || rows.length === 0)
    throw new CliError(
      `${file}: There are no keys. The first line names the columns, and every other line describes a key.`,
    );
  if (rows.length > MAX_KEYS)
    throw new CliError(`${file}: There are ${rows.length} keys; the limit is ${MAX_KEYS} at a time.`);
  const names = readNames(file, head);
  const parse = keyParsers(cli);
  const problems: string[] = [];
  const lines = rows.map(({ line, cells }): KeyLine => {
    if (cells.length !== names.length)
      problems.push(`line ${line}: There are ${formatNumberOf('cell', cells.length)} instead of ${names.length}.`);
    const options = names.flatMap((name, index) => {
      const text = cells[index]?.trim() ?? '';
      if (text === '') {
        if (name === 'name') problems.push(`line ${line}, column name: It is empty.`);
        return [];
      }
      try {
        return [[COLUMNS[name], parse[COLUMNS[name]](text)] as const];
      } catch (error) {
        if (!(error instanceof InvalidArgumentError)) throw error;
        problems.push(`line ${line}, column ${name}: ${error.message}`);
        return [];
      }
    });
    return { line, options: Object.fromEntries(options) };
  });
  refuseProblems(file, problems);
  return lines;
}

function readRows(file: string): readonly CsvRow[] {
  try {
    return parseCsv(readText(file));
  } catch (error) {
    throw error instanceof CsvError ? new CliError(`${file}, ${error.message}`, { cause: error }) : error;
  }
}

function readText(file: string): string {
  try {
    if (statSync(file).size > MAX_FILE_BYTES) throw new CliError('It is larger than 1 MiB.');
    return readFileSync(file, 'utf8');
  } catch (error) {
    throw new CliError(`${file} cannot be read: ${messageOf(error)}`, { cause: error });
  }
}

function readNames(file: string, { line, cells }: CsvRow): readonly ColumnName[] {
  const names = cells.map((cell) => cell.trim());
  const known = Object.keys(COLUMNS).join(', ');
  const unknown = names.find((name) => !isColumn(name));
  if (unknown !== undefined)
    throw new CliError(
      `${file}, line ${line}: There is no column ${JSON.stringify(unknown)}; use ${known}, with commas between them.`,
    );
  if (new Set(names).size < names.length) throw new CliError(`${file}, line ${line}: A column is named twice.`);
  if (!names.includes('name')) throw new CliError(`${file}, line ${line}: The column name is missing.`);
  return names.filter(isColumn);
}

function isColumn(name: string): name is ColumnName {
  return Object.hasOwn(COLUMNS, name);
}

function refuseProblems(file: string, problems: readonly string[]): void {
  if (problems.length === 0) return;
  const more = problems.length - MAX_PROBLEMS;
  const shown = problems.slice(0, MAX_PROBLEMS).map((problem) => `${file}, ${problem}`);
  throw new CliError([...shown, ...(more > 0 ? [`And ${more} more.`] : []), 'No key was created.'].join('\n'));
}

/** Writes the secrets first, since nobody can read them later. */
async function createWithFile(out: string, prepared: PreparedKeys): ReturnType<PreparedKeys['create']> {
  if (!writeSecrets(out, toSecretLines(prepared.secrets))) {
    throw new CliError(`${out} already exists and is never overwritten. No key was created.`);
  }
  try {
    return await prepared.create();
  } catch (error) {
    rmSync(out, { force: true });
    throw error;
  }
}

function writeSecrets(out: string, lines: readonly string[]): boolean {
  try {
    return writePrivateFile(out, `${lines.join('\n')}\n`);
  } catch (error) {
    throw new CliError(`${out} cannot be written: ${messageOf(error)}. No key was created.`, { cause: error });
  }
}

function toSecretLines(keys: PreparedKeys['secrets']): readonly string[] {
  return ['name,secret,id', ...keys.map(({ name, secret, id }) => formatCsvLine([name, secret, id]))];
}

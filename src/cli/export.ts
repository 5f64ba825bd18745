import { Option, type Command } from 'commander';
import type { CliContext, Output } from './context.ts';
import { formatCsvLine, type CsvValue } from './csv.ts';
import { formatNumberOf } from './format.ts';
import { createProgress } from './progress.ts';

/** A column of the CSV, named as programs know it. */
export interface Field<Row> {
  readonly name: string;
  readonly of: (row: Row) => CsvValue;
}

/** Returns the columns whose names are those of fields of the row. */
export function fieldsNamed<Name extends string>(...names: Name[]): Field<Readonly<Record<Name, CsvValue>>>[] {
  return names.map((name) => ({ name, of: (row) => row[name] }));
}

export interface Export<Row> {
  readonly pages: AsyncIterable<readonly Row[]> | readonly (readonly Row[])[];
  readonly fields: readonly Field<Row>[];
  readonly toJson: (row: Row) => object;
}

export function addExportOptions(command: Command): Command {
  return command
    .addOption(new Option('--csv', 'print everything as CSV, with a header line').conflicts('jsonl'))
    .option('--jsonl', 'print everything as JSON Lines, one object per line');
}

export function isExport(command: Command): boolean {
  const { csv = false, jsonl = false, json = false }: ExportOptions = command.optsWithGlobals();
  if (json && (csv || jsonl)) command.error("error: option '--json' cannot be used with '--csv' or '--jsonl'");
  return csv || jsonl;
}

interface ExportOptions {
  readonly csv?: boolean;
  readonly jsonl?: boolean;
  readonly json?: boolean;
}

/** Prints the rows page by page, as fast as they are read. Returns false, without a word, where nobody asks for this. */
export async function exportRows<Row>(
  { stdout, stderr }: CliContext,
  command: Command,
  { pages, fields, toJson }: Export<Row>,
): Promise<boolean> {
  if (!isExport(command)) return false;
  const { csv = false }: ExportOptions = command.opts();
  const toLine = csv
    ? (row: Row) => formatCsvLine(fields.map(({ of }) => of(row)))
    : (row: Row) => JSON.stringify(toJson(row));
  if (csv) await write(stdout, `${formatCsvLine(fields.map(({ name }) => name))}\n`);
  // On the terminal of the rows themselves it would stand between them.
  const progress = stdout.isTTY === true ? undefined : createProgress({ stderr });
  let count = 0;
  try {
    for await (const rows of pages) {
      await write(stdout, rows.map((row) => `${toLine(row)}\n`).join(''));
      count += rows.length;
      progress?.begin(formatNumberOf('row', count));
    }
  } finally {
    progress?.stop();
  }
  return true;
}

function write(stdout: Output, text: string): Promise<void> {
  return new Promise((resolve) => {
    stdout.write(text, () => resolve());
  });
}

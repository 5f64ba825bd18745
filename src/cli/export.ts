import { Option, type Command } from 'commander';
import type { Config } from '../config/config.ts';
import { UsageError, type Output } from './context.ts';
import { formatCsvLine, type CsvValue } from './csv.ts';
import { formatNumberOf } from './format.ts';
import type { Cli, Paint } from './printer.ts';
import { createProgress } from './progress.ts';

/** A column of the CSV, named as programs know it. */
export interface Field<Row> {
  readonly name: string;
  readonly of: (row: Row) => CsvValue;
}

export function fieldsNamed<Name extends string>(...names: Name[]): Field<Readonly<Record<Name, CsvValue>>>[] {
  return names.map((name) => ({ name, of: (row) => row[name] }));
}

export interface Rows<Row> {
  readonly pages: AsyncIterable<readonly Row[]> | readonly (readonly Row[])[];
  readonly fields: readonly Field<Row>[];
  /** Absent where a row is what programs get. */
  readonly toJson?: (row: Row) => object;
  /** Returns what is printed where nobody asks for CSV or JSON Lines. */
  readonly show: () => Shown | Promise<Shown>;
  readonly config: Pick<Config, 'prices'>;
}

interface Shown {
  readonly value: object;
  readonly lines: (paint: Paint) => readonly string[];
}

export function addExportOptions(command: Command): Command {
  return command
    .addOption(new Option('--csv', 'print everything as CSV, with a header line').conflicts('jsonl'))
    .option('--jsonl', 'print everything as JSON Lines, one object per line');
}

export interface ExportOptions {
  readonly csv?: boolean;
  readonly jsonl?: boolean;
}

/** Prints rows with the unit of their amounts, or all of them for programs, page by page, as fast as they are read. */
export async function printRows<Row>(
  { stdout, stderr, printer }: Cli,
  { csv = false, jsonl = false }: ExportOptions,
  { pages, fields, toJson, show, config: { prices } }: Rows<Row>,
): Promise<void> {
  if (!csv && !jsonl) {
    const { value, lines } = await show();
    printer.show(value, lines);
    if (!printer.isJson && prices !== null) printer.note(`Amounts are in ${prices.currency}.`);
    return;
  }
  if (printer.isJson) throw new UsageError("error: option '--json' cannot be used with '--csv' or '--jsonl'");
  const toLine = csv
    ? (row: Row) => formatCsvLine(fields.map(({ of }) => of(row)))
    : (row: Row) => JSON.stringify(toJson === undefined ? row : toJson(row));
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
}

function write(stdout: Output, text: string): Promise<void> {
  return new Promise((resolve) => {
    stdout.write(text, () => resolve());
  });
}

export class CsvError extends Error {
  override readonly name = 'CsvError';
}

export interface CsvRow {
  /** The line on which it begins, counted from 1. */
  readonly line: number;
  readonly cells: readonly string[];
}

const CELL = /(?:"([^"]*(?:""[^"]*)*)"|([^",\r\n]*))(,|\r?\n|$)/y;

/** Returns the rows of a CSV text (RFC 4180) without empty lines. Throws CsvError that names the line. */
export function parseCsv(text: string): readonly CsvRow[] {
  const rows: CsvRow[] = [];
  const cell = new RegExp(CELL);
  cell.lastIndex = text.startsWith('\u{feff}') ? 1 : 0;
  let cells: string[] = [];
  let begin = 1;
  let line = 1;
  for (;;) {
    const found = cell.exec(text);
    if (found === null) throw new CsvError(`line ${line}: A quote is not closed, or is within a cell.`);
    const [all, quoted, plain = '', end] = found;
    cells.push(quoted?.replaceAll('""', '"') ?? plain);
    line += all.split('\n').length - 1;
    if (end === ',') continue;
    if (cells.some((text) => text !== '')) rows.push({ line: begin, cells });
    if (end === '') return rows;
    cells = [];
    begin = line;
  }
}

export type CsvValue = string | number | null;

export function formatCsvLine(values: readonly CsvValue[]): string {
  return values.map(toCell).join(',');
}

function toCell(value: CsvValue): string {
  if (value === null) return '';
  const text = typeof value === 'string' ? withoutFormula(value) : String(value);
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

/** A spreadsheet would run a text that begins so, full-width too, and callers choose the names of models. */
function withoutFormula(text: string): string {
  return /^[=+\-@\t\r]/.test(text.slice(0, 1).normalize('NFKC')) && !/^-\d+(?:\.\d+)?$/.test(text) ? `'${text}` : text;
}

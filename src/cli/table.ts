import { toVisible } from '../core/visible.ts';
import type { Paint, Style } from './printer.ts';

export interface Column<Row> {
  readonly title: string;
  readonly of: (row: Row) => string;
  readonly align?: 'right';
  readonly style?: (row: Row) => Style | undefined;
}

/** Returns rows as lines under a title for each column; one line without rows. */
export function formatTable<Row>(columns: readonly Column<Row>[], rows: readonly Row[], paint: Paint): string[] {
  if (rows.length === 0) return ['None.'];
  const cells = rows.map((row) => columns.map((column) => toVisible(column.of(row))));
  const widths = columns.map(({ title }, index) =>
    Math.max(title.length, ...cells.map((texts) => texts[index]?.length ?? 0)),
  );
  const pad = (text: string, index: number): string => {
    const width = widths[index] ?? 0;
    return columns[index]?.align === 'right' ? text.padStart(width) : text.padEnd(width);
  };
  const head = columns.map(({ title }, index) => paint('bold', pad(title, index)));
  const body = cells.map((texts, at) =>
    texts.map((text, index) => {
      const row = rows[at];
      const style = row === undefined ? undefined : columns[index]?.style?.(row);
      return style === undefined ? pad(text, index) : paint(style, pad(text, index));
    }),
  );
  return [head, ...body].map((texts) => texts.join('  ').trimEnd());
}

export function formatFields(fields: readonly (readonly [name: string, value: string])[], paint: Paint): string[] {
  const width = Math.max(...fields.map(([name]) => name.length));
  return fields.map(([name, value]) => `${paint('bold', name.padEnd(width))}  ${toVisible(value)}`);
}

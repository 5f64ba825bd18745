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
  const head = columns.map(({ title }) => ({ text: title, style: 'bold' as const }));
  const body = rows.map((row) => columns.map(({ of, style }) => ({ text: toVisible(of(row)), style: style?.(row) })));
  const lines = [head, ...body];
  const widths = columns.map((_, index) => Math.max(...lines.map((cells) => cells[index]?.text.length ?? 0)));
  return lines.map((cells) =>
    cells
      .map(({ text, style }, index) => {
        const width = widths[index] ?? 0;
        const padded = columns[index]?.align === 'right' ? text.padStart(width) : text.padEnd(width);
        return style === undefined ? padded : paint(style, padded);
      })
      .join('  ')
      .trimEnd(),
  );
}

export function formatFields(fields: readonly (readonly [name: string, value: string])[], paint: Paint): string[] {
  const width = Math.max(...fields.map(([name]) => name.length));
  return fields.map(([name, value]) => `${paint('bold', name.padEnd(width))}  ${toVisible(value)}`);
}

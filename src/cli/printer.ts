import { styleText } from 'node:util';
import type { Command } from 'commander';
import type { CliContext } from './context.ts';

export type Style = 'bold' | 'dim' | 'red' | 'green' | 'yellow' | 'cyan';
export type Paint = (style: Style, text: string) => string;

export interface Printer {
  readonly isJson: boolean;
  show(value: unknown, lines: (paint: Paint) => readonly string[]): void;
  note(text: string): void;
  /** Notes for people the unit of the amounts of a table, if it has one. */
  noteCurrency(config: { readonly prices: { readonly currency: string } | null }): void;
}

/** Returns a printer with colors on a terminal, unless `--no-color` or `NO_COLOR` refuses them. */
export function createPrinter({ env, stdout, stderr }: CliContext, command: Command): Printer {
  const { json = false, color = true }: { readonly json?: boolean; readonly color?: boolean } =
    command.optsWithGlobals();
  const isColored = color && stdout.isTTY === true && (env['NO_COLOR'] ?? '') === '';
  const paint: Paint = (style, text) => (isColored ? styleText(style, text, { validateStream: false }) : text);
  const note = (text: string): void => void stderr.write(`${text}\n`);
  return {
    isJson: json,
    show(value, lines) {
      const text = json ? JSON.stringify(value, null, 2) : lines(paint).join('\n');
      stdout.write(`${text}\n`);
    },
    note,
    noteCurrency({ prices }) {
      if (!json && prices !== null) note(`Amounts are in ${prices.currency}.`);
    },
  };
}

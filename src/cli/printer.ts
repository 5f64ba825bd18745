import { styleText } from 'node:util';
import type { Command } from 'commander';
import type { CliContext } from './context.ts';

export type Style = 'bold' | 'dim' | 'red' | 'green' | 'yellow' | 'cyan';
export type Paint = (style: Style, text: string) => string;

export interface Printer {
  readonly isJson: boolean;
  show(value: unknown, lines: (paint: Paint) => readonly string[]): void;
  /** Writes to standard error, so that the output stays as it is. */
  note(text: string): void;
}

/** Returns a printer with colours on a terminal, unless `--no-color` or `NO_COLOR` refuses them. */
export function createPrinter({ env, stdout, stderr }: CliContext, command: Command): Printer {
  const { json = false, color = true }: GlobalOptions = command.optsWithGlobals();
  const isColored = color && stdout.isTTY === true && (env['NO_COLOR'] ?? '') === '';
  const paint: Paint = (style, text) => (isColored ? styleText(style, text, { validateStream: false }) : text);
  return {
    isJson: json,
    show(value, lines) {
      const text = json ? JSON.stringify(value, null, 2) : lines(paint).join('\n');
      stdout.write(`${text}\n`);
    },
    note: (text) => void stderr.write(`${text}\n`),
  };
}

interface GlobalOptions {
  readonly json?: boolean;
  readonly color?: boolean;
}

import { styleText } from 'node:util';
import type { Command } from 'commander';
import type { CliContext } from './context.ts';

export type Style = 'bold' | 'dim' | 'red' | 'green' | 'yellow' | 'cyan';
export type Paint = (style: Style, text: string) => string;

/** Prints the results of a command in the form that its caller chose. */
export interface Printer {
  /** Is true with `--json`. */
  readonly isJson: boolean;
  /** Prints the result: as JSON with `--json`, else as these lines. */
  show(value: unknown, lines: (paint: Paint) => readonly string[]): void;
  /** Prints a note to standard error, so that the output stays as it is. */
  note(text: string): void;
}

/**
 * Colours are for terminals only, and for people who have not refused them by `--no-color` or
 * `NO_COLOR`.
 */
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

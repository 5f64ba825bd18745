import { styleText } from 'node:util';
import type { Command } from 'commander';
import type { CliContext } from './context.ts';

export type Style = 'bold' | 'dim' | 'red' | 'green' | 'yellow' | 'cyan';
export type Paint = (style: Style, text: string) => string;

/** What a command prints, in the form that its caller asked for. */
export interface Printer {
  /** True with `--json`. */
  readonly isJson: boolean;
  /** The result: as JSON with `--json`, else as these lines. */
  show(value: unknown, lines: (paint: Paint) => readonly string[]): void;
  /** Something worth knowing beside the result. It goes to standard error, so that the output stays what it is. */
  note(text: string): void;
}

/** Colours are for a terminal alone, and for people who have not refused them by `--no-color` or `NO_COLOR`. */
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

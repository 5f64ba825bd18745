import { styleText } from 'node:util';
import type { CliContext } from './context.ts';

export type Style = 'bold' | 'dim' | 'red' | 'green' | 'yellow' | 'cyan';
export type Paint = (style: Style, text: string) => string;

export interface Printer {
  readonly isJson: boolean;
  show(value: unknown, lines: (paint: Paint) => readonly string[]): void;
  note(text: string): void;
}

export interface Cli extends CliContext {
  readonly printer: Printer;
}

/** Returns a printer with colors on a terminal, unless `--no-color` or `NO_COLOR` refuses them. `options` has those of the command line. */
export function createPrinter(
  { env, stdout, stderr }: CliContext,
  options: () => { readonly json?: boolean; readonly color?: boolean },
): Printer {
  const paint: Paint = (style, text) => {
    const isColored = options().color !== false && stdout.isTTY === true && (env['NO_COLOR'] ?? '') === '';
    return isColored ? styleText(style, text, { validateStream: false }) : text;
  };
  return {
    get isJson() {
      return options().json === true;
    },
    show(value, lines) {
      const text = this.isJson ? JSON.stringify(value, null, 2) : lines(paint).join('\n');
      stdout.write(`${text}\n`);
    },
    note: (text) => void stderr.write(`${text}\n`),
  };
}

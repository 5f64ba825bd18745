import type { Command } from 'commander';
import { COMMAND_LINE } from '../config/banner.ts';

export interface Help {
  readonly what: string;
  readonly note?: string;
  readonly examples: readonly (readonly [args: string, what: string])[];
}

export function addCommand(parent: Command, name: string, { what, note, examples }: Help): Command {
  const width = Math.max(...examples.map(([args]) => args.length));
  const lines = examples.map(([args, effect]) => `  ${COMMAND_LINE} ${args.padEnd(width)}   # ${effect}`);
  const before = note === undefined ? '' : `\n${note}\n`;
  return parent
    .command(name)
    .description(what)
    .addHelpText('after', `${before}\nExamples:\n${lines.join('\n')}`);
}

import type { Command } from 'commander';
import { COMMAND_LINE } from '../config/banner.ts';

/** Adds examples to the end of the help of a command, each with what it does. */
export function addExamples(command: Command, examples: readonly (readonly [args: string, what: string])[]): Command {
  const width = Math.max(...examples.map(([args]) => args.length));
  const lines = examples.map(([args, what]) => `  ${COMMAND_LINE} ${args.padEnd(width)}   # ${what}`);
  return command.addHelpText('after', `\nExamples:\n${lines.join('\n')}`);
}

import { Command, InvalidArgumentError, Option } from 'commander';
import { GROUPS, type GroupName } from './groups.ts';

export interface Options {
  readonly groups: readonly GroupName[];
  readonly rounds: number;
  readonly quick: boolean;
  /** The folder of another checkout, whose gateway is measured beside this one. */
  readonly beside: string | undefined;
}

const NAMES = Object.keys(GROUPS) as GroupName[];

/** What the command line asks for. Ends the process with a help text, or with one line about a mistake. */
export function readOptions(): Options {
  const { only, rounds, quick, beside } = new Command('npm run lab bench --')
    .description('Measures the gateway beside what people would use instead, interleaved in one run.')
    .addOption(new Option('--only <groups>', 'some of the groups below, separated by commas').argParser(toGroupNames))
    .addOption(new Option('--rounds <number>', 'how often; medians are shown').argParser(toCount).default(5))
    .option('--quick', 'one short round: a look within some minutes', false)
    .option(
      '--beside <folder>',
      'another checkout with its node_modules: its gateway and ours alone are compared, by new processes in each round',
    )
    .addHelpText('after', `\nGroups:\n${NAMES.map(describeGroup).join('\n')}`)
    .parse()
    .opts<{ only?: GroupName[]; rounds: number; quick: boolean; beside?: string }>();
  return { groups: only ?? NAMES, rounds: quick ? 1 : rounds, quick, beside };
}

function describeGroup(name: GroupName): string {
  return `  ${name.padEnd(14)}${GROUPS[name].about}`;
}

function toGroupNames(value: string): GroupName[] {
  return value.split(',').map((text) => {
    const name = NAMES.find((name) => name === text.trim());
    if (name === undefined) throw new InvalidArgumentError(`There are ${NAMES.join(', ')}.`);
    return name;
  });
}

function toCount(value: string): number {
  const count = Number(value);
  if (!Number.isInteger(count) || count < 1) throw new InvalidArgumentError('A number from 1 on.');
  return count;
}

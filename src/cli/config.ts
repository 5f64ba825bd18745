import type { Command } from 'commander';
import { readConfig } from '../config/config.ts';
import { showSettings, type ShownSetting } from '../config/settings.ts';
import type { CliContext } from './context.ts';
import { addExamples } from './help.ts';
import { createPrinter } from './printer.ts';
import { formatTable } from './table.ts';

/** Adds `config print`, which shows the settings that a start here would read. */
export function addConfig(program: Command, context: CliContext): void {
  const config = program.command('config').description('look at the settings');
  const print = config
    .command('print')
    .description('print every setting, its value and where it comes from; secrets are hidden')
    .action((_options, command: Command) => {
      printConfig(context, command);
    });
  addExamples(print, [
    ['config print', 'the settings in force; mistakes go to stderr, with exit status 78'],
    ['config print --json', 'the same for a program'],
  ]);
}

function printConfig(context: CliContext, command: Command): void {
  const settings = showSettings(context.env).map((setting) => ({
    name: setting.name,
    value: setting.value,
    source: sourceOf(setting, context.fileNames),
    hidden: setting.isHidden,
  }));
  createPrinter(context, command).show({ object: 'config', settings }, (paint) =>
    formatTable(
      [
        { title: 'SETTING', of: ({ name }) => name },
        { title: 'VALUE', of: ({ value, hidden }) => (hidden ? '(hidden)' : (value ?? '')) },
        { title: 'FROM', of: ({ source }) => source, style: ({ source }) => (source === 'default' ? 'dim' : 'cyan') },
      ],
      settings,
      paint,
    ),
  );
  // Throws all mistakes after all settings have been shown.
  readConfig(context.env);
}

function sourceOf({ name, origin }: ShownSetting, fileNames: ReadonlySet<string>): string {
  if (origin !== 'set') return origin === 'default' ? 'default' : 'not set';
  return fileNames.has(name) ? '.env' : 'environment';
}

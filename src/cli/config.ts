import type { Command } from 'commander';
import { readConfig } from '../config/config.ts';
import { showSettings, type ShownSetting } from '../config/settings.ts';
import type { CliContext } from './context.ts';
import { addExamples } from './help.ts';
import { createPrinter } from './printer.ts';
import { formatNumberOf } from './format.ts';
import { formatTable } from './table.ts';

/** Adds `config`, which shows the settings that a start here would read, and `config check`, which only checks them. */
export function addConfig(program: Command, context: CliContext): void {
  const show = (_options: unknown, command: Command): void => printConfig(context, command);
  const config = program
    .command('config')
    .description('show every setting, its value and where it comes from (secrets are hidden)')
    .action(show);
  addExamples(config, [
    ['config', 'the current settings; mistakes go to stderr, with exit status 78'],
    ['config --json', 'the same as JSON'],
  ]);
  // The former name of `config`.
  config.command('print', { hidden: true }).action(show);
  const check = config
    .command('check')
    .description('check the settings as a start would; exit status 78 if one is wrong')
    .action((_options: unknown, command: Command) => {
      const { warnings } = readConfig(context.env);
      createPrinter(context, command).show({ object: 'config_check', ok: true, warnings }, (paint) => [
        ...warnings.map((warning) => paint('yellow', warning)),
        warnings.length === 0
          ? paint('green', 'These settings are valid.')
          : paint(
              'yellow',
              `A start ignores ${formatNumberOf('name', warnings.length)} above. All other settings are valid.`,
            ),
      ]);
    });
  addExamples(check, [['config check', 'before a restart']]);
}

function printConfig(context: CliContext, command: Command): void {
  const settings = showSettings(context.env).map((setting) => ({
    name: setting.name,
    value: setting.value,
    source: sourceOf(setting, context.fileNames),
    hidden: setting.isHidden,
  }));
  const printer = createPrinter(context, command);
  printer.show({ object: 'config', settings }, (paint) =>
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
  for (const warning of readConfig(context.env).warnings) printer.note(warning);
}

function sourceOf({ name, origin }: ShownSetting, fileNames: ReadonlySet<string>): string {
  if (origin === 'file') return `${name}_FILE`;
  if (origin !== 'set') return origin === 'default' ? 'default' : 'not set';
  return fileNames.has(name) ? '.env' : 'environment';
}

import type { Command } from 'commander';
import { readConfig } from '../config/config.ts';
import { showSettings } from '../config/settings.ts';
import { addCommand } from './command.ts';
import type { Cli } from './printer.ts';
import { formatNumberOf } from './format.ts';
import { formatTable } from './table.ts';

export function addConfig(program: Command, cli: Cli): void {
  const show = (): void => printConfig(cli);
  const config = addCommand(program, 'config', {
    what: 'show every setting, its value and where it comes from (secrets are hidden)',
    examples: [
      ['config', 'the current settings; mistakes go to stderr, with exit status 78'],
      ['config --json', 'the same as JSON'],
    ],
  }).action(show);
  // The former name of `config`.
  config.command('print', { hidden: true }).action(show);
  addCommand(config, 'check', {
    what: 'check the settings as a start would; exit status 78 if one is wrong',
    examples: [['config check', 'before a restart']],
  }).action(() => {
    const { warnings } = readConfig(cli.env);
    cli.printer.show({ object: 'config_check', ok: true, warnings }, (paint) => [
      ...warnings.map((warning) => paint('yellow', warning)),
      warnings.length === 0
        ? paint('green', 'These settings are valid.')
        : paint(
            'yellow',
            `A start ignores ${formatNumberOf('name', warnings.length)} above. All other settings are valid.`,
          ),
    ]);
  });
}

function printConfig(cli: Cli): void {
  const settings = showSettings(cli.env, cli.fileNames);
  cli.printer.show({ object: 'config', settings }, (paint) =>
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
  for (const warning of readConfig(cli.env).warnings) cli.printer.note(warning);
}

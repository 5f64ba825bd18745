import type { Command } from 'commander';
import type { OfGroups } from '../admin/administration.ts';
import type { AdminGroup } from '../contract/types.ts';
import {
  ACCOUNT_FIELDS,
  addDelete,
  addList,
  addSwitches,
  describeAccount,
  onAccount,
  showAccount,
  STATUS_STYLES,
  type AccountCommands,
  type Described,
} from './accounts.ts';
import { withAdministration } from './administration.ts';
import type { CliContext } from './context.ts';
import type { Field } from './export.ts';
import { formatCount } from './format.ts';
import { addExamples } from './help.ts';
import { addCreditsOption, addLimitOptions, toLimitsBody, warnOfTokens, type LimitOptions } from './key-options.ts';
import type { Column } from './table.ts';

/** Adds `groups`, which manages the groups of keys. */
export function addGroups(program: Command, context: CliContext): void {
  const groups = program
    .command('groups')
    .description(
      'manage groups of keys that share credits and limits; a running gateway picks up changes within a second (AUTH_MODE=managed)',
    );
  const commands: AccountCommands<OfGroups> = {
    parent: groups,
    context,
    kind: 'group',
    which: 'id or name of the group',
    actions: (administration) => administration.groups,
    columns: COLUMNS,
    fields: FIELDS,
    describe,
  };
  const create = addCreditsOption(addLimitOptions(groups.command('create'), context), context)
    .description('create a group; keys join it with keys create --group or keys update --group')
    .requiredOption('--name <name>', 'a name for the group')
    .action((options: LimitOptions, command: Command) =>
      withAdministration(
        context,
        async ({ administration, config }) => {
          showAccount(commands, command, config, await administration.groups.create(toLimitsBody(options)));
          warnOfTokens(context, command, options, config.defaultMaxOutputTokens);
        },
        { beginsKeys: true },
      ),
    );
  addExamples(create, [
    ['groups create --name research --credits 100.00 --spend-per-day 10.00', 'a budget for a team'],
    ["groups create --name web --rpm 600 --models 'gpt-4o*'", 'limits only'],
  ]);
  addList(commands, {
    toFilter: async () => ({}),
    examples: [
      ['groups list', 'with balances and spending'],
      ['groups list --csv > groups.csv', 'for a spreadsheet'],
    ],
  });
  const show = groups.command('show').description('show a group with its limits');
  onAccount(commands, show, (all, id) => all.groups.show(id));
  addExamples(show, [['groups show research', 'with what is left']]);
  const update = addLimitOptions(groups.command('update'), context)
    .description('change the given settings; everything else stays the same')
    .option('--name <name>', 'a name for the group');
  onAccount(commands, update, (all, id, options) => all.groups.update(id, toLimitsBody(options)));
  addExamples(update, [['groups update research --spend-per-month 500', 'for all its keys together']]);
  addSwitches(commands, {
    disable: {
      what: 'reject the keys of a group from now on; their running requests may finish',
      examples: [['groups disable research', 'all its keys at once']],
    },
    enable: {
      what: 'accept the keys of a disabled group again',
      examples: [['groups enable research', 'all its keys at once']],
    },
  });
  addDelete(commands, {
    what: 'delete a group that has no keys, and its credits, permanently',
    examples: [['groups delete research --yes', 'once its keys are moved or deleted']],
  });
}

function describe(group: AdminGroup, currency: string | undefined): readonly Described[] {
  return [
    ['id', group.id],
    ['name', group.name],
    ['keys', formatCount(group.keys)],
    ...describeAccount(group, currency),
  ];
}

const COLUMNS: readonly Column<AdminGroup>[] = [
  { title: 'NAME', of: ({ name }) => name },
  { title: 'KEYS', of: ({ keys }) => formatCount(keys), align: 'right' },
  { title: 'STATUS', of: ({ status }) => status, style: ({ status }) => STATUS_STYLES[status] },
  { title: 'BALANCE', of: ({ balance }) => balance ?? '', align: 'right' },
  { title: 'HELD', of: ({ held }) => held, align: 'right' },
  { title: 'TODAY', of: ({ spent_today }) => spent_today, align: 'right' },
  { title: 'MONTH', of: ({ spent_this_month }) => spent_this_month, align: 'right' },
];

const FIELDS: readonly Field<AdminGroup>[] = [
  { name: 'id', of: ({ id }) => id },
  { name: 'name', of: ({ name }) => name },
  { name: 'keys', of: ({ keys }) => keys },
  ...ACCOUNT_FIELDS,
];

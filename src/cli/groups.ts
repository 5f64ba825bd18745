import type { Command } from 'commander';
import type { OfGroups } from '../admin/administration.ts';
import type { AdminGroup } from '../contract/operator-types.ts';
import {
  ACCOUNT_COLUMNS,
  ACCOUNT_FIELDS,
  addCreate,
  addDelete,
  addList,
  addShow,
  addSwitches,
  addUpdate,
  describeAccount,
  type AccountCommands,
  type Described,
} from './accounts.ts';
import type { CliContext } from './context.ts';
import { fieldsNamed, type Field } from './export.ts';
import { formatCount } from './format.ts';
import { addLimitOptions, toLimitsBody } from './key-options.ts';
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
    addOptions: (command) => addLimitOptions(command, context),
    toBody: toLimitsBody,
  };
  addCreate(commands, {
    what: 'create a group; keys join it with keys create --group or keys update --group',
    examples: [
      ['groups create --name research --credits 100.00 --spend-per-day 10.00', 'a budget for a team'],
      ["groups create --name web --rpm 600 --models 'gpt-4o*'", 'limits only'],
      ["groups create --name 'whole gateway' --spend-per-month 500", 'a cap for all keys together'],
    ],
  });
  addList(commands, {
    toFilter: async () => ({}),
    examples: [
      ['groups list', 'with balances and spending'],
      ['groups list --csv > groups.csv', 'for a spreadsheet'],
    ],
  });
  addShow(commands, [['groups show research', 'with what is left']]);
  addUpdate(commands, [['groups update research --spend-per-month 500', 'for all its keys together']]);
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
  ...ACCOUNT_COLUMNS,
];

const FIELDS: readonly Field<AdminGroup>[] = [...fieldsNamed('id', 'name', 'keys'), ...ACCOUNT_FIELDS];

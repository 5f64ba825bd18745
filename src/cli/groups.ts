import type { Command } from 'commander';
import type { OfGroups } from '../admin/administration.ts';
import type { AdminGroup } from '../contract/operator-types.ts';
import { WHOLE_GATEWAY } from '../core/ids.ts';
import { ACCOUNT_COLUMNS, ACCOUNT_FIELDS, addAccountCommands, describeAccount, type Described } from './accounts.ts';
import { fieldsNamed, type Field } from './export.ts';
import { formatCount } from './format.ts';
import { addLimitOptions, toLimitsBody } from './key-options.ts';
import type { Cli } from './printer.ts';
import type { Column } from './table.ts';

export function addGroups(program: Command, cli: Cli): void {
  const parent = program
    .command('groups')
    .description(
      'manage groups of keys that share credits and limits; a running gateway picks up changes within a second (AUTH_MODE=managed)',
    );
  addAccountCommands<OfGroups>({
    parent,
    cli,
    kind: 'group',
    which: 'id or name of the group',
    actions: (administration) => administration.groups,
    columns: COLUMNS,
    fields: FIELDS,
    describe,
    addOptions: (command) => addLimitOptions(command, cli),
    toBody: toLimitsBody,
    addFilters: (command) => command,
    toFilter: async () => ({}),
    warn: () => undefined,
    help: HELP,
  });
}

const HELP = {
  create: {
    what: 'create a group; keys join it with keys create --group or keys update --group',
    examples: [
      ['groups create --name research --credits 100.00 --spend-per-day 10.00', 'a budget for a team'],
      ["groups create --name web --rpm 600 --models 'gpt-4o*'", 'limits only'],
      ["groups create --name 'whole gateway' --spend-per-month 500", 'a cap for all keys together'],
    ],
  },
  list: {
    what: 'list all groups, newest first',
    examples: [
      ['groups list', 'with balances and spending'],
      ['groups list --csv > groups.csv', 'for a spreadsheet'],
    ],
  },
  show: { what: 'show a group with its limits', examples: [['groups show research', 'with what is left']] },
  update: {
    what: 'change the given settings; everything else stays the same',
    examples: [['groups update research --spend-per-month 500', 'for all its keys together']],
  },
  disable: {
    what: 'reject the keys of a group from now on; their running requests may finish',
    examples: [['groups disable research', 'all its keys at once']],
  },
  enable: {
    what: 'accept the keys of a disabled group again',
    examples: [['groups enable research', 'all its keys at once']],
  },
  delete: {
    what: 'delete a group that has no keys, and its credits, permanently',
    examples: [['groups delete research --yes', 'once its keys are moved or deleted']],
  },
} as const;

function describe(group: AdminGroup, currency: string | undefined): readonly Described[] {
  return [['id', group.id], ['name', group.name], ['keys', countKeys(group)], ...describeAccount(group, currency)];
}

/** No key is a member of the whole gateway, which has every key. */
function countKeys({ id, keys }: AdminGroup): string {
  return id === WHOLE_GATEWAY ? 'all' : formatCount(keys);
}

const COLUMNS: readonly Column<AdminGroup>[] = [
  { title: 'NAME', of: ({ name }) => name },
  { title: 'KEYS', of: countKeys, align: 'right' },
  ...ACCOUNT_COLUMNS,
];

const FIELDS: readonly Field<AdminGroup>[] = [...fieldsNamed('id', 'name', 'keys'), ...ACCOUNT_FIELDS];

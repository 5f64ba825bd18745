import type { Command } from 'commander';
import type { OfKeys } from '../admin/administration.ts';
import type { AdminKey, IssuedKey } from '../contract/operator-types.ts';
import { toMs } from '../core/time.ts';
import {
  ACCOUNT_COLUMNS,
  ACCOUNT_FIELDS,
  addAccountCommands,
  describeAccount,
  onAccount,
  type AccountCommands,
  type Described,
} from './accounts.ts';
import { addCommand } from './command.ts';
import { fieldsNamed, type Field } from './export.ts';
import { formatMoment, formatUtcOr, toTimestamp } from './format.ts';
import { addGroupOption, addLimitOptions, toKeyBody, warnOfMode } from './key-options.ts';
import { addImport } from './keys-import.ts';
import { parseDuration } from './options.ts';
import type { Cli } from './printer.ts';
import type { Column } from './table.ts';

const MAX_GRACE_MS = 31_536_000_000;

export function addKeys(program: Command, cli: Cli): void {
  const parent = program
    .command('keys')
    .description('manage API keys; a running gateway picks up changes within a second (AUTH_MODE=managed)');
  const commands: AccountCommands<OfKeys> = {
    parent,
    cli,
    kind: 'key',
    which: 'id, prefix or name of the key',
    actions: ({ keys }) => keys,
    columns: COLUMNS,
    fields: FIELDS,
    describe,
    addOptions: (command) => addGroupOption(addLimitOptions(command, cli), cli),
    toBody: toKeyBody,
    addFilters: (command) =>
      command
        .option('--group <group>', 'only keys of this group, by id or name')
        .option('--old-secret', 'only keys that still depend on GATEWAY_SECRET_PREVIOUS, until they are next used'),
    toFilter: async ({ group, oldSecret = false }, { groups }) => ({
      isOfPreviousSecret: oldSecret,
      ...(group !== undefined && { groupId: await groups.find(group) }),
    }),
    warn: (config) => warnOfMode(cli, config),
    help: HELP,
  };
  addAccountCommands(commands);
  addImport(parent, cli);
  const rotate = addCommand(parent, 'rotate', {
    what: 'give a key a new secret, shown only once; everything else stays the same',
    examples: [
      ['keys rotate alice', 'the former secret stops working at once'],
      ['keys rotate alice --grace 24h', 'time to roll out the new one'],
    ],
  }).option(
    '--grace <duration>',
    'how long the former secret still works (default: it stops at once)',
    parseDuration(MAX_GRACE_MS),
  );
  onAccount(commands, rotate, ({ keys }, id, { grace = 0 }) => keys.rotate(id, { grace_seconds: grace / 1000 }));
}

const HELP = {
  create: {
    what: 'create a key; its secret is shown only once',
    examples: [
      ['keys create --name alice', 'no limits'],
      ['keys create --name ci --credits 10.00 --rpm 60 --expires 30d', 'prepaid, valid for a month'],
      ['keys create --name bot --group research', 'within the credits and limits of a group'],
      ["keys create --name web --models 'gpt-4o*' --spend-per-day 5.00", 'some models, with a daily budget'],
    ],
  },
  list: {
    what: 'list all keys, newest first',
    examples: [
      ['keys list', 'with balances and spending'],
      ['keys list --csv > keys.csv', 'for a spreadsheet'],
      ['keys list --old-secret', 'keys that would stop working without GATEWAY_SECRET_PREVIOUS'],
    ],
  },
  show: {
    what: 'show a key with its limits',
    examples: [
      ['keys show alice', 'by its name'],
      ['keys show rgk_Ab3dE9', 'by its prefix'],
    ],
  },
  update: {
    what: 'change the given settings; everything else stays the same',
    examples: [
      ['keys update alice --rpm 120 --expires never', 'a new limit, and no expiration'],
      ['keys update alice --spend-per-day none', 'removes a limit'],
      ['keys update alice --group research', 'moves it; running requests are charged to the former group'],
    ],
  },
  disable: {
    what: 'reject a key from now on; its running requests may finish',
    examples: [['keys disable alice', 'until keys enable']],
  },
  enable: { what: 'accept a disabled key again', examples: [['keys enable alice', 'with the same secret']] },
  delete: {
    what: 'delete a key and its credits permanently; its records stay until they expire',
    examples: [['keys delete alice --yes', 'unlike keys disable, this cannot be undone']],
  },
} as const;

const COLUMNS: readonly Column<AdminKey>[] = [
  { title: 'NAME', of: ({ name }) => name },
  { title: 'GROUP', of: ({ group }) => group?.name ?? '' },
  { title: 'PREFIX', of: ({ prefix }) => prefix },
  ...ACCOUNT_COLUMNS,
  { title: 'EXPIRES (UTC)', of: ({ expires_at }) => (expires_at === null ? 'never' : formatMoment(expires_at * 1000)) },
  {
    title: 'LAST USED (HOUR, UTC)',
    of: ({ last_used_at }) => (last_used_at === null ? 'never' : formatMoment(last_used_at * 1000)),
  },
];

const FIELDS: readonly Field<AdminKey>[] = [
  ...fieldsNamed('id', 'name'),
  { name: 'group', of: ({ group }) => group?.name ?? null },
  ...fieldsNamed('prefix'),
  ...ACCOUNT_FIELDS,
  { name: 'last_used_at', of: ({ last_used_at }) => toTimestamp(toMs(last_used_at)) },
  ...fieldsNamed('gateway_secret'),
];

function describe(key: AdminKey | IssuedKey, currency: string | undefined): readonly Described[] {
  return [
    ['id', key.id],
    ...('secret' in key ? [['secret', key.secret] as const] : []),
    ['name', key.name],
    ['prefix', key.prefix],
    ['group', key.group?.name ?? 'none'],
    ['former secret works until', formatUtcOr('none', toMs(key.former_secret_until))],
    ['last used (hour)', formatUtcOr('never', toMs(key.last_used_at))],
    ...(key.gateway_secret === 'previous'
      ? [['known by', 'GATEWAY_SECRET_PREVIOUS only, until it is next used'] as const]
      : []),
    ...describeAccount(key, currency),
  ];
}

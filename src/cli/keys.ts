import type { Command } from 'commander';
import type { OfKeys } from '../admin/administration.ts';
import type { AdminKey, IssuedKey } from '../contract/types.ts';
import {
  ACCOUNT_FIELDS,
  addDelete,
  addList,
  addSwitches,
  describeAccount,
  onAccount,
  showAccount,
  STATUS_STYLES,
  toMs,
  type AccountCommands,
  type Described,
} from './accounts.ts';
import { withAdministration } from './administration.ts';
import type { CliContext } from './context.ts';
import type { Field } from './export.ts';
import { formatMoment, formatUtcOr, toTimestamp } from './format.ts';
import { addExamples } from './help.ts';
import {
  addCreditsOption,
  addGroupOption,
  addLimitOptions,
  toKeyBody,
  warnOfMode,
  warnOfTokens,
  type KeyOptions,
} from './key-options.ts';
import { addImport } from './keys-import.ts';
import { parseDuration } from './options.ts';
import type { Column } from './table.ts';

const MAX_GRACE_MS = 31_536_000_000;

/** Adds `keys`, which manages the keys of AUTH_MODE=managed. */
export function addKeys(program: Command, context: CliContext): void {
  const keys = program
    .command('keys')
    .description('manage API keys; a running gateway picks up changes within a second (AUTH_MODE=managed)');
  const commands: AccountCommands<OfKeys> = {
    parent: keys,
    context,
    kind: 'key',
    which: 'id, prefix or name of the key',
    actions: (administration) => administration.keys,
    columns: COLUMNS,
    fields: FIELDS,
    describe,
  };
  addCreate(keys, commands);
  addImport(keys, context);
  addList(commands, {
    addOptions: (list) =>
      list
        .option('--group <group>', 'only keys of this group, by id or name')
        .option('--old-secret', 'only keys that still depend on GATEWAY_SECRET_PREVIOUS, until they are next used'),
    toFilter: async ({ group, oldSecret = false }, { groups }) => ({
      isOfPreviousSecret: oldSecret,
      ...(group !== undefined && { groupId: await groups.find(group) }),
    }),
    examples: [
      ['keys list', 'with balances and spending'],
      ['keys list --csv > keys.csv', 'for a spreadsheet'],
      ['keys list --old-secret', 'keys that would stop working without GATEWAY_SECRET_PREVIOUS'],
    ],
  });
  const show = keys.command('show').description('show a key with its limits');
  onAccount(commands, show, (all, id) => all.keys.show(id));
  addExamples(show, [
    ['keys show alice', 'by its name'],
    ['keys show rgk_Ab3dE9', 'by its prefix'],
  ]);
  addUpdate(keys, commands);
  addRotate(keys, commands);
  addSwitches(commands, {
    disable: {
      what: 'reject a key from now on; its running requests may finish',
      examples: [['keys disable alice', 'until keys enable']],
    },
    enable: { what: 'accept a disabled key again', examples: [['keys enable alice', 'with the same secret']] },
  });
  addDelete(commands, {
    what: 'delete a key and its credits permanently; its records stay until they expire',
    examples: [['keys delete alice --yes', 'unlike keys disable, this cannot be undone']],
  });
}

function addCreate(keys: Command, commands: AccountCommands<OfKeys>): void {
  const { context } = commands;
  const create = addCreditsOption(addGroupOption(addLimitOptions(keys.command('create'), context), context), context)
    .description('create a key; its secret is shown only once')
    .requiredOption('--name <name>', 'a name for the key')
    .action((options: KeyOptions, command: Command) =>
      withAdministration(
        context,
        async ({ administration, config }) => {
          showAccount(commands, command, config, await administration.keys.create(toKeyBody(options)));
          warnOfTokens(context, command, options, config.defaultMaxOutputTokens);
          warnOfMode(context, command, config);
        },
        { beginsKeys: true },
      ),
    );
  addExamples(create, [
    ['keys create --name alice', 'no limits'],
    ['keys create --name ci --credits 10.00 --rpm 60 --expires 30d', 'prepaid, valid for a month'],
    ['keys create --name bot --group research', 'within the credits and limits of a group'],
    ["keys create --name web --models 'gpt-4o*' --spend-per-day 5.00", 'some models, with a daily budget'],
  ]);
}

function addUpdate(keys: Command, commands: AccountCommands<OfKeys>): void {
  const { context } = commands;
  const update = addGroupOption(addLimitOptions(keys.command('update'), context), context)
    .description('change the given settings; everything else stays the same')
    .option('--name <name>', 'a name for the key');
  onAccount(commands, update, (all, id, options) => all.keys.update(id, toKeyBody(options)));
  addExamples(update, [
    ['keys update alice --rpm 120 --expires never', 'a new limit, and no expiration'],
    ['keys update alice --spend-per-day none', 'removes a limit'],
    ['keys update alice --group research', 'moves it; running requests are charged to the former group'],
  ]);
}

function addRotate(keys: Command, commands: AccountCommands<OfKeys>): void {
  const rotate = keys
    .command('rotate')
    .description('give a key a new secret, shown only once; everything else stays the same')
    .option(
      '--grace <duration>',
      'how long the old secret still works (default: it stops at once)',
      parseDuration(MAX_GRACE_MS),
    );
  onAccount(commands, rotate, (all, id, { grace = 0 }) => all.keys.rotate(id, { grace_seconds: grace / 1000 }));
  addExamples(rotate, [
    ['keys rotate alice', 'the old secret stops working at once'],
    ['keys rotate alice --grace 24h', 'time to roll out the new one'],
  ]);
}

const COLUMNS: readonly Column<AdminKey>[] = [
  { title: 'NAME', of: ({ name }) => name },
  { title: 'GROUP', of: ({ group }) => group?.name ?? '' },
  { title: 'PREFIX', of: ({ prefix }) => prefix },
  { title: 'STATUS', of: ({ status }) => status, style: ({ status }) => STATUS_STYLES[status] },
  { title: 'BALANCE', of: ({ balance }) => balance ?? '', align: 'right' },
  { title: 'HELD', of: ({ held }) => held, align: 'right' },
  { title: 'TODAY', of: ({ spent_today }) => spent_today, align: 'right' },
  { title: 'MONTH', of: ({ spent_this_month }) => spent_this_month, align: 'right' },
  { title: 'EXPIRES (UTC)', of: ({ expires_at }) => (expires_at === null ? 'never' : formatMoment(expires_at * 1000)) },
  {
    title: 'LAST USED (HOUR, UTC)',
    of: ({ last_used_at }) => (last_used_at === null ? 'never' : formatMoment(last_used_at * 1000)),
  },
];

const FIELDS: readonly Field<AdminKey>[] = [
  { name: 'id', of: ({ id }) => id },
  { name: 'name', of: ({ name }) => name },
  { name: 'group', of: ({ group }) => group?.name ?? null },
  { name: 'prefix', of: ({ prefix }) => prefix },
  ...ACCOUNT_FIELDS,
  { name: 'last_used_at', of: ({ last_used_at }) => toTimestamp(toMs(last_used_at)) },
  { name: 'gateway_secret', of: ({ gateway_secret }) => gateway_secret },
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

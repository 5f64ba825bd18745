import type { Command } from 'commander';
import type { Administration } from '../accounts/administration.ts';
import type { Config } from '../config/config.ts';
import type { KeyId } from '../contract/ids.ts';
import type { AdminGroup, AdminKey, IssuedKey } from '../contract/types.ts';
import { collect, pagesOfKeys, withAdministration } from './administration.ts';
import { confirmDeletion } from './confirm.ts';
import type { CliContext } from './context.ts';
import { addExportOptions, exportRows, type Field } from './export.ts';
import { formatCount, formatMoment, formatMoney, formatUtcOr, toTimestamp } from './format.ts';
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
import { addSecret } from './keys-secret.ts';
import { parseDuration } from './options.ts';
import { createPrinter, type Paint, type Style } from './printer.ts';
import { formatFields, formatTable, type Column } from './table.ts';

const MAX_GRACE_MS = 31_536_000_000;

/** Adds `keys`, which manages the keys of AUTH_MODE=managed. */
export function addKeys(program: Command, context: CliContext): void {
  const keys = program
    .command('keys')
    .description('issue keys and change them; a running gateway notices it within a second (AUTH_MODE=managed)');
  addCreate(keys, context);
  addImport(keys, context);
  addList(keys, context);
  addShow(keys, context);
  addUpdate(keys, context);
  addRotate(keys, context);
  addSwitches(keys, context);
  addDelete(keys, context);
  addSecret(keys, context);
}

function addCreate(keys: Command, context: CliContext): void {
  const create = addCreditsOption(addGroupOption(addLimitOptions(keys.command('create'), context), context), context)
    .description('issue a key; its secret is shown this once')
    .requiredOption('--name <name>', 'what people call it')
    .action((options: KeyOptions, command: Command) =>
      withAdministration(
        context,
        async ({ administration, config }) => {
          showKey(context, command, config, await administration.createKey(toKeyBody(options)));
          warnOfTokens(context, command, options, config.defaultMaxOutputTokens);
          warnOfMode(context, command, config);
        },
        { beginsKeys: true },
      ),
    );
  addExamples(create, [
    ['keys create --name alice', 'no limits'],
    ['keys create --name ci --credits 10.00 --rpm 60 --expires 30d', 'prepaid, for a month'],
    ['keys create --name bot --group research', 'within the credits and limits of a group'],
    ["keys create --name web --models 'gpt-4o*' --spend-per-day 5.00", 'some models, and what they may cost'],
  ]);
}

function addList(keys: Command, context: CliContext): void {
  const list = addExportOptions(keys.command('list'))
    .description('list all keys, newest first')
    .option('--group <group>', 'only those of this group, by id or name')
    .option('--old-secret', 'only those that are known by GATEWAY_SECRET_PREVIOUS alone, until they are used')
    .action(
      ({ group, oldSecret = false }: { readonly group?: string; readonly oldSecret?: boolean }, command: Command) =>
        withAdministration(context, async ({ administration, config }) => {
          const groupId = group === undefined ? undefined : await administration.findGroupId(group);
          const pages = pagesOfKeys(administration, { groupId, isOfPreviousSecret: oldSecret });
          if (await exportRows(context, command, { pages, fields: FIELDS, toJson: (key) => key })) return;
          const data = await collect(pages);
          const printer = createPrinter(context, command);
          printer.show({ object: 'list', data }, (paint) => formatTable(COLUMNS, data, paint));
          printer.noteCurrency(config);
        }),
    );
  addExamples(list, [
    ['keys list', 'with balances and what was spent'],
    ['keys list --csv > keys.csv', 'for a spreadsheet'],
    ['keys list --old-secret', 'what a start without GATEWAY_SECRET_PREVIOUS would lock out'],
  ]);
}

function addShow(keys: Command, context: CliContext): void {
  const show = keys.command('show').description('show one key with its limits');
  onKey(show, context, (administration, id) => administration.showKey(id));
  addExamples(show, [
    ['keys show alice', 'by its name'],
    ['keys show rgk_Ab3dE9', 'by its prefix'],
  ]);
}

function addUpdate(keys: Command, context: CliContext): void {
  const update = addGroupOption(addLimitOptions(keys.command('update'), context), context)
    .description('change what is named, and nothing else')
    .option('--name <name>', 'what people call it');
  onKey(update, context, (administration, id, options) => administration.updateKey(id, toKeyBody(options)));
  addExamples(update, [
    ['keys update alice --rpm 120 --expires never', 'a new limit, and no end'],
    ['keys update alice --spend-per-day none', 'takes a limit away'],
    ['keys update alice --group research', 'moves it; what runs is charged to the former group'],
  ]);
}

function addRotate(keys: Command, context: CliContext): void {
  const rotate = keys
    .command('rotate')
    .description('give a key a new secret, shown this once; all else stays')
    .option(
      '--grace <duration>',
      'how long the former secret is still good; without it, not at all',
      parseDuration(MAX_GRACE_MS),
    );
  onKey(rotate, context, (administration, id, { grace = 0 }) =>
    administration.rotateKey(id, { grace_seconds: grace / 1000 }),
  );
  addExamples(rotate, [
    ['keys rotate alice', 'the former secret ends at once'],
    ['keys rotate alice --grace 24h', 'time to bring the new one everywhere'],
  ]);
}

function addSwitches(keys: Command, context: CliContext): void {
  const disable = keys.command('disable').description('refuse a key from now on; what runs under it may end');
  onKey(disable, context, (administration, id) => administration.updateKey(id, { disabled: true }));
  addExamples(disable, [['keys disable alice', 'until keys enable']]);
  const enable = keys.command('enable').description('let a disabled key in again');
  onKey(enable, context, (administration, id) => administration.updateKey(id, { disabled: false }));
  addExamples(enable, [['keys enable alice', 'with the same secret']]);
}

function addDelete(keys: Command, context: CliContext): void {
  const remove = keys
    .command('delete')
    .description('delete a key with its credits, for good; its records stay until the retention ends')
    .argument('<key>', WHICH)
    .option('--yes', 'do not ask')
    .action((text: string, { yes = false }: { readonly yes?: boolean }, command: Command) =>
      withAdministration(context, async ({ administration }) => {
        const { id, name, balance } = await administration.showKey(await administration.findKeyId(text));
        const credits = balance === null ? '' : ` with its balance of ${balance} and its ledger`;
        await confirmDeletion(context, {
          what: `This deletes the key ${name} (${id})${credits}, for good.`,
          name,
          yes,
        });
        const deleted = await administration.deleteKey(id);
        createPrinter(context, command).show(deleted, () => [`${deleted.id} is deleted.`]);
      }),
    );
  addExamples(remove, [['keys delete alice --yes', 'keys disable can be taken back, this cannot']]);
}

const WHICH = 'its id, its prefix or its name';

function onKey(
  command: Command,
  context: CliContext,
  act: (administration: Administration, id: KeyId, options: KeyOptions) => Promise<AdminKey | IssuedKey>,
): void {
  command.argument('<key>', WHICH).action((text: string, options: KeyOptions, command: Command) =>
    withAdministration(context, async ({ administration, config }) => {
      showKey(context, command, config, await act(administration, await administration.findKeyId(text), options));
    }),
  );
}

function showKey(
  context: CliContext,
  command: Command,
  { prices }: Pick<Config, 'prices'>,
  key: AdminKey | IssuedKey,
): void {
  const printer = createPrinter(context, command);
  printer.show(key, (paint) => describe(key, prices?.currency, paint));
  if ('secret' in key) printer.note('The secret is shown this once. Only a hash of it is kept.');
}

export const STATUS_STYLES: Readonly<Record<AdminGroup['status'], Style>> = {
  active: 'green',
  disabled: 'red',
  expired: 'yellow',
};

const COLUMNS: readonly Column<AdminKey>[] = [
  { title: 'ID', of: ({ id }) => id },
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
    title: 'LAST USED (UTC)',
    of: ({ last_used_at }) => (last_used_at === null ? 'never' : formatMoment(last_used_at * 1000)),
  },
];

type Account = Omit<AdminGroup, 'object' | 'id' | 'keys' | 'name'>;

/** What the CSV of keys and of groups has alike. */
export const ACCOUNT_FIELDS: readonly Field<Account>[] = [
  { name: 'status', of: ({ status }) => status },
  { name: 'created_at', of: ({ created_at }) => toTimestamp(toMs(created_at)) },
  { name: 'expires_at', of: ({ expires_at }) => toTimestamp(toMs(expires_at)) },
  { name: 'models', of: ({ models }) => models?.join(',') ?? null },
  { name: 'requests_per_minute', of: ({ limits }) => limits.requests_per_minute },
  { name: 'tokens_per_minute', of: ({ limits }) => limits.tokens_per_minute },
  { name: 'spend_per_day', of: ({ limits }) => limits.spend_per_day },
  { name: 'spend_per_month', of: ({ limits }) => limits.spend_per_month },
  { name: 'balance', of: ({ balance }) => balance },
  { name: 'held', of: ({ held }) => held },
  { name: 'spent_today', of: ({ spent_today }) => spent_today },
  { name: 'spent_this_month', of: ({ spent_this_month }) => spent_this_month },
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

function describe(key: AdminKey | IssuedKey, currency: string | undefined, paint: Paint): string[] {
  return formatFields(
    [
      ['id', key.id],
      ...('secret' in key ? [['secret', key.secret] as const] : []),
      ['name', key.name],
      ['prefix', key.prefix],
      ['group', key.group?.name ?? 'none'],
      ['former secret until', formatUtcOr('none', toMs(key.former_secret_until))],
      ['last used', formatUtcOr('never', toMs(key.last_used_at))],
      ...(key.gateway_secret === 'previous'
        ? [['known by', 'GATEWAY_SECRET_PREVIOUS alone, until it is used'] as const]
        : []),
      ...describeAccount(key, currency),
    ],
    paint,
  );
}

type Described = readonly [name: string, value: string];

/** Returns what keys and groups have alike. */
export function describeAccount(account: Account, currency: string | undefined): readonly Described[] {
  const { limits } = account;
  const money = (amount: string | null, none = ''): string => (amount === null ? none : formatMoney(amount, currency));
  return [
    ['status', account.status],
    ['created', formatUtcOr('', toMs(account.created_at))],
    ['expires', formatUtcOr('never', toMs(account.expires_at))],
    ['models', account.models?.join(', ') ?? 'any'],
    ['requests per minute', formatLimit(limits.requests_per_minute)],
    ['tokens per minute', formatLimit(limits.tokens_per_minute)],
    ['spend per day', money(limits.spend_per_day, 'no limit')],
    ['spend per month', money(limits.spend_per_month, 'no limit')],
    ['balance', money(account.balance, 'not prepaid')],
    ['held', money(account.held)],
    ['spent today', money(account.spent_today)],
    ['spent this month', money(account.spent_this_month)],
  ];
}

function formatLimit(limit: number | null): string {
  return limit === null ? 'no limit' : formatCount(limit);
}

function toMs(seconds: number | null): number | null {
  return seconds === null ? null : seconds * 1000;
}

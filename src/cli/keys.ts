import type { Command } from 'commander';
import type { Administration } from '../accounts/administration.ts';
import type { KeyId } from '../contract/ids.ts';
import type { AdminGroup, AdminKey, IssuedKey, UpdateGroup, UpdateKey } from '../contract/types.ts';
import { listAllKeys, withAdministration } from './administration.ts';
import { confirmDeletion } from './confirm.ts';
import type { CliContext } from './context.ts';
import { formatCount, formatMomentOr } from './format.ts';
import { addExamples } from './help.ts';
import {
  orNull,
  orWord,
  type OrNothing,
  parseAmountText,
  parseDuration,
  parseExpiry,
  parseList,
  wholeNumber,
} from './options.ts';
import { addSecret } from './keys-secret.ts';
import { createPrinter, type Paint, type Style } from './printer.ts';
import { formatFields, formatTable, type Column } from './table.ts';

interface KeyOptions extends LimitOptions {
  readonly group?: OrNothing<string>;
  /** In milliseconds. */
  readonly grace?: number;
}

/** What keys and groups have alike. */
export interface LimitOptions {
  readonly name?: string;
  readonly models?: OrNothing<string[]>;
  readonly rpm?: OrNothing<number>;
  readonly tpm?: OrNothing<number>;
  readonly spendPerDay?: OrNothing<string>;
  readonly spendPerMonth?: OrNothing<string>;
  /** Unix time in seconds. */
  readonly expires?: OrNothing<number>;
}

const MAX_RATE = 1_000_000_000;
const MAX_GRACE_MS = 31_536_000_000;

/** Adds `keys`, which manages the keys of AUTH_MODE=managed. */
export function addKeys(program: Command, context: CliContext): void {
  const keys = program
    .command('keys')
    .description('issue keys and change them; a running gateway heeds it within a second (AUTH_MODE=managed)');
  addCreate(keys, context);
  addList(keys, context);
  addShow(keys, context);
  addUpdate(keys, context);
  addRotate(keys, context);
  addSwitches(keys, context);
  addDelete(keys, context);
  addSecret(keys, context);
}

function addCreate(keys: Command, context: CliContext): void {
  const create = addGroupOption(addLimitOptions(keys.command('create'), context))
    .description('issue a key; its secret is shown this once')
    .requiredOption('--name <name>', 'what people call it')
    .option('--credits <amount>', 'makes it prepaid, with these credits; else its limits alone hold', parseAmountText)
    .action((options: KeyOptions & { readonly credits?: string }, command: Command) =>
      withAdministration(
        context,
        async ({ administration, config }) => {
          const { credits } = options;
          const key = await administration.createKey({ ...toBody(options), ...(credits !== undefined && { credits }) });
          showKey(context, command, key);
          warnOfTokens(context, command, options, config.defaultMaxOutputTokens);
          if (config.authMode !== 'managed') createPrinter(context, command).note(NOT_MANAGED);
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

const NOT_MANAGED = 'The gateway takes such keys with AUTH_MODE=managed only; set it before its next start.';

/** Says that requests which name no limit of their output never run. */
export function warnOfTokens(
  context: CliContext,
  command: Command,
  { tpm }: Pick<LimitOptions, 'tpm'>,
  defaultMaxOutputTokens: number,
): void {
  if (typeof tpm !== 'number' || tpm > defaultMaxOutputTokens) return;
  createPrinter(context, command).note(
    `A request that names no max_output_tokens counts as its input and ${formatCount(defaultMaxOutputTokens)} tokens of output ` +
      `(DEFAULT_MAX_OUTPUT_TOKENS), so with --tpm ${tpm} it never runs.`,
  );
}

function addGroupOption(command: Command): Command {
  return command.option(
    '--group <group>',
    'its group, by id or name; none for no group',
    orWord('none', (text) => text),
  );
}

/** Adds the options that keys and groups have alike. */
export function addLimitOptions(command: Command, { nowMs }: CliContext): Command {
  const rate = orWord('none', wholeNumber(1, MAX_RATE));
  const amount = orWord('none', parseAmountText);
  return command
    .option('--models <list>', 'what it may use, such as gpt-4o,llama*; any for all', orWord('any', parseList))
    .option('--rpm <n>', 'requests per minute; none for no limit', rate)
    .option('--tpm <n>', 'tokens per minute; none for no limit', rate)
    .option('--spend-per-day <amount>', 'such as 5.00; none for no limit', amount)
    .option('--spend-per-month <amount>', 'such as 100.00; none for no limit', amount)
    .option('--expires <when>', 'such as 30d or 2027-01-31; never for no end', orWord('never', parseExpiry(nowMs)));
}

function toBody({ group, ...options }: KeyOptions): UpdateKey {
  return { ...toLimitsBody(options), ...(group !== undefined && { group: orNull(group) }) };
}

/** Returns what the options change. */
export function toLimitsBody(options: LimitOptions): UpdateGroup {
  const { name, models, rpm, tpm, spendPerDay, spendPerMonth, expires } = options;
  const limits = {
    ...(rpm !== undefined && { requests_per_minute: orNull(rpm) }),
    ...(tpm !== undefined && { tokens_per_minute: orNull(tpm) }),
    ...(spendPerDay !== undefined && { spend_per_day: orNull(spendPerDay) }),
    ...(spendPerMonth !== undefined && { spend_per_month: orNull(spendPerMonth) }),
  };
  return {
    ...(name !== undefined && { name }),
    ...(models !== undefined && { models: orNull(models) }),
    ...(expires !== undefined && { expires_at: orNull(expires) }),
    ...(Object.keys(limits).length > 0 && { limits }),
  };
}

function addList(keys: Command, context: CliContext): void {
  const list = keys
    .command('list')
    .description('list all keys, newest first')
    .option('--group <group>', 'only those of this group, by id or name')
    .action(({ group }: { readonly group?: string }, command: Command) =>
      withAdministration(context, async ({ administration }) => {
        const groupId = group === undefined ? undefined : await administration.findGroupId(group);
        const data = await listAllKeys(administration, groupId);
        createPrinter(context, command).show({ object: 'list', data }, (paint) => formatTable(COLUMNS, data, paint));
      }),
    );
  addExamples(list, [['keys list', 'with balances and what was spent']]);
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
  const update = addGroupOption(addLimitOptions(keys.command('update'), context))
    .description('change what is named, and nothing else')
    .option('--name <name>', 'what people call it');
  onKey(update, context, (administration, id, options) => administration.updateKey(id, toBody(options)));
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
    withAdministration(context, async ({ administration }) => {
      showKey(context, command, await act(administration, await administration.findKeyId(text), options));
    }),
  );
}

function showKey(context: CliContext, command: Command, key: AdminKey | IssuedKey): void {
  const printer = createPrinter(context, command);
  printer.show(key, (paint) => describe(key, paint));
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
  { title: 'EXPIRES (UTC)', of: ({ expires_at }) => formatMomentOr('never', toMs(expires_at)) },
];

function describe(key: AdminKey | IssuedKey, paint: Paint): string[] {
  return formatFields(
    [
      ['id', key.id],
      ...('secret' in key ? [['secret', key.secret] as const] : []),
      ['name', key.name],
      ['prefix', key.prefix],
      ['group', key.group?.name ?? 'none'],
      ['former secret until', formatMomentOr('none', toMs(key.former_secret_until))],
      ...describeAccount(key),
    ],
    paint,
  );
}

type Field = readonly [name: string, value: string];

/** Returns what keys and groups have alike. */
export function describeAccount(account: Omit<AdminGroup, 'object' | 'id' | 'keys' | 'name'>): readonly Field[] {
  const { limits } = account;
  return [
    ['status', account.status],
    ['created', formatMomentOr('', toMs(account.created_at))],
    ['expires', formatMomentOr('never', toMs(account.expires_at))],
    ['models', account.models?.join(', ') ?? 'any'],
    ['requests per minute', formatLimit(limits.requests_per_minute)],
    ['tokens per minute', formatLimit(limits.tokens_per_minute)],
    ['spend per day', limits.spend_per_day ?? 'no limit'],
    ['spend per month', limits.spend_per_month ?? 'no limit'],
    ['balance', account.balance ?? 'not prepaid'],
    ['held', account.held],
    ['spent today', account.spent_today],
    ['spent this month', account.spent_this_month],
  ];
}

function formatLimit(limit: number | null): string {
  return limit === null ? 'no limit' : formatCount(limit);
}

function toMs(seconds: number | null): number | null {
  return seconds === null ? null : seconds * 1000;
}

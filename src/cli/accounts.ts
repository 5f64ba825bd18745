import { Option, type Command } from 'commander';
import type { AccountActions, AccountKind, Administration } from '../admin/administration.ts';
import type { AdminGroup } from '../contract/operator-types.ts';
import { formatAmount, parseAmount } from '../core/money/decimal.ts';
import { LIMITS, RATE_LIMITS, SPEND_WINDOWS } from '../core/money/limits.ts';
import { toMs } from '../core/time.ts';
import { collect, pagesOf, withAdministration, type OpenAdministration } from './administration.ts';
import { confirmDeletion } from './confirm.ts';
import { CliError, type CliContext } from './context.ts';
import { addExportOptions, exportRows, fieldsNamed, type Field } from './export.ts';
import { formatCount, formatMoney, formatNumberOf, formatUtcOr, toTimestamp } from './format.ts';
import { addExamples } from './help.ts';
import { addCreditsOption, warnOfTokens, type KeyOptions } from './key-options.ts';
import { wholeNumber } from './options.ts';
import { createPrinter, type Style } from './printer.ts';
import { formatFields, formatTable, type Column } from './table.ts';

/** The commands for accounts of one kind, and how they show them. */
export interface AccountCommands<Kind extends AccountKind> {
  readonly parent: Command;
  readonly context: CliContext;
  readonly kind: 'key' | 'group';
  readonly which: string;
  readonly actions: (administration: Administration) => AccountActions<Kind>;
  readonly columns: readonly Column<Kind['shown']>[];
  /** The columns of a CSV. */
  readonly fields: readonly Field<Kind['shown']>[];
  readonly describe: (account: Kind['shown'], currency: string | undefined) => readonly Described[];
  /** Adds the options that `create` and `update` have alike. */
  readonly addOptions: (command: Command) => Command;
  readonly toBody: (options: KeyOptions) => object;
}

export interface ListOptions {
  readonly group?: string;
  readonly oldSecret?: boolean;
  readonly status?: AdminGroup['status'];
  readonly limit?: number;
}

type Examples = Parameters<typeof addExamples>[1];

/** Adds what creates an account. `warn` says what is odd about it. */
export function addCreate<Kind extends AccountKind>(
  commands: AccountCommands<Kind>,
  {
    what,
    examples,
    warn = () => undefined,
  }: {
    readonly what: string;
    readonly examples: Examples;
    readonly warn?: (command: Command, config: OpenAdministration['config']) => void;
  },
): void {
  const { parent, context, kind, actions, addOptions, toBody } = commands;
  const create = addCreditsOption(addOptions(parent.command('create')), context)
    .description(what)
    .requiredOption('--name <name>', `a name for the ${kind}`)
    .action((options: KeyOptions, command: Command) =>
      withAdministration(
        context,
        async ({ administration, config }) => {
          showAccount(commands, command, config, await actions(administration).create(toBody(options)));
          warnOfTokens(context, command, options, config.defaultMaxOutputTokens);
          warn(command, config);
        },
        { beginsKeys: true },
      ),
    );
  addExamples(create, examples);
}

/** Adds the list of all accounts, or of those that `toFilter` selects by the options. */
export function addList<Kind extends AccountKind>(
  { parent, context, kind, actions, columns, fields }: AccountCommands<Kind>,
  {
    addOptions = (command) => command,
    toFilter,
    examples,
  }: {
    readonly addOptions?: (command: Command) => Command;
    readonly toFilter: (options: ListOptions, administration: Administration) => Promise<Kind['filter']>;
    readonly examples: Examples;
  },
): void {
  const list = addOptions(addExportOptions(parent.command('list')))
    .description(`list all ${kind}s, newest first`)
    .addOption(new Option('--status <status>', `only ${kind}s in this state`).choices(Object.keys(STATUS_STYLES)))
    .option('--limit <n>', 'at most this many, newest first', wholeNumber(1, Number.MAX_SAFE_INTEGER))
    .action((options: ListOptions, command: Command) =>
      withAdministration(context, async ({ administration, config }) => {
        const filter = await toFilter(options, administration);
        const all = pagesOf<Kind['shown']>((page) => actions(administration).list({ ...page, ...filter }));
        const pages = selected(all, options);
        if (await exportRows(context, command, { pages, fields, toJson: (account) => account })) return;
        const data = await collect(pages);
        const printer = createPrinter(context, command);
        printer.show({ object: 'list', data }, (paint) => formatTable(columns, data, paint));
        printer.noteCurrency(config);
      }),
    );
  addExamples(list, examples);
}

async function* selected<Account extends Pick<AdminGroup, 'status'>>(
  pages: AsyncIterable<readonly Account[]>,
  { status, limit = Infinity }: ListOptions,
): AsyncGenerator<readonly Account[]> {
  let left = limit;
  for await (const page of pages) {
    const rows = page.filter((account) => status === undefined || account.status === status).slice(0, left);
    yield rows;
    left -= rows.length;
    if (left === 0) return;
  }
}

/** Adds what shows an account. */
export function addShow<Kind extends AccountKind>(commands: AccountCommands<Kind>, examples: Examples): void {
  const { parent, kind, actions } = commands;
  const show = parent.command('show').description(`show a ${kind} with its limits`);
  onAccount(commands, show, (all, id) => actions(all).show(id));
  addExamples(show, examples);
}

/** Adds what changes the settings of an account. */
export function addUpdate<Kind extends AccountKind>(commands: AccountCommands<Kind>, examples: Examples): void {
  const { parent, kind, actions, addOptions, toBody } = commands;
  const update = addOptions(parent.command('update'))
    .description('change the given settings; everything else stays the same')
    .option('--name <name>', `a name for the ${kind}`);
  onAccount(commands, update, (all, id, options) => actions(all).update(id, toBody(options)));
  addExamples(update, examples);
}

/** Adds what turns an account off, and on again. */
export function addSwitches<Kind extends AccountKind>(
  commands: AccountCommands<Kind>,
  switches: Readonly<Record<'disable' | 'enable', { readonly what: string; readonly examples: Examples }>>,
): void {
  for (const [name, { what, examples }] of Object.entries(switches)) {
    const command = commands.parent.command(name).description(what);
    onAccount(commands, command, (all, id) => commands.actions(all).update(id, { disabled: name === 'disable' }));
    addExamples(command, examples);
  }
}

/** Adds what deletes an account once somebody has confirmed it. */
export function addDelete<Kind extends AccountKind>(
  { parent, context, kind, which, actions }: AccountCommands<Kind>,
  { what, examples }: { readonly what: string; readonly examples: Examples },
): void {
  const remove = parent
    .command('delete')
    .description(what)
    .argument(`<${kind}>`, which)
    .option('--yes', 'do not ask for confirmation')
    .action((text: string, { yes = false }: { readonly yes?: boolean }, command: Command) =>
      withAdministration(context, async ({ administration }) => {
        const accounts = actions(administration);
        const account = await accounts.show(await accounts.find(text));
        const { id, name, balance } = account;
        if ('keys' in account && account.keys > 0)
          throw new CliError(
            `The group ${name} has ${formatNumberOf('key', account.keys)}. Move or delete them first.`,
          );
        const credits = balance === null ? '' : ` with its balance of ${balance} and its ledger`;
        await confirmDeletion(context, {
          what: `This permanently deletes the ${kind} ${name} (${id})${credits}.`,
          name,
          yes,
        });
        const deleted = await accounts.delete(id);
        createPrinter(context, command).show(deleted, () => [`${deleted.id} was deleted.`]);
      }),
    );
  addExamples(remove, examples);
}

/** Lets the command act on the account that it is given, and show what becomes of it. */
export function onAccount<Kind extends AccountKind>(
  commands: AccountCommands<Kind>,
  command: Command,
  act: (administration: Administration, id: Kind['shown']['id'], options: KeyOptions) => Promise<Kind['shown']>,
): void {
  const { context, kind, which, actions } = commands;
  command.argument(`<${kind}>`, which).action((text: string, options: KeyOptions, command: Command) =>
    withAdministration(context, async ({ administration, config }) => {
      const id = await actions(administration).find(text);
      showAccount(commands, command, config, await act(administration, id, options));
    }),
  );
}

function showAccount<Kind extends AccountKind>(
  { context, describe }: AccountCommands<Kind>,
  command: Command,
  { prices }: OpenAdministration['config'],
  account: Kind['shown'],
): void {
  const printer = createPrinter(context, command);
  printer.show(account, (paint) => formatFields(describe(account, prices?.currency), paint));
  if ('secret' in account) printer.note('The secret is shown only once. The gateway keeps only a hash of it.');
}

const STATUS_STYLES: Readonly<Record<AdminGroup['status'], Style>> = {
  active: 'green',
  disabled: 'red',
  expired: 'yellow',
};

type Account = Omit<AdminGroup, 'object' | 'id' | 'keys' | 'name'>;

export const ACCOUNT_COLUMNS: readonly Column<Account>[] = [
  { title: 'STATUS', of: ({ status }) => status, style: ({ status }) => STATUS_STYLES[status] },
  { title: 'BALANCE', of: ({ balance }) => balance ?? '', align: 'right' },
  { title: 'HELD', of: ({ held }) => held, align: 'right' },
  { title: 'TODAY', of: ({ spent_today }) => spent_today, align: 'right' },
  { title: 'WEEK', of: ({ spent_this_week }) => spent_this_week, align: 'right' },
  { title: 'MONTH', of: ({ spent_this_month }) => spent_this_month, align: 'right' },
];

export const ACCOUNT_FIELDS: readonly Field<Account>[] = [
  ...fieldsNamed('status'),
  { name: 'created_at', of: ({ created_at }) => toTimestamp(toMs(created_at)) },
  { name: 'expires_at', of: ({ expires_at }) => toTimestamp(toMs(expires_at)) },
  { name: 'models', of: ({ models }) => models?.join(',') ?? null },
  ...LIMITS.map(({ wire }): Field<Account> => ({ name: wire, of: ({ limits }) => limits[wire] })),
  ...fieldsNamed('balance', 'held', ...SPEND_WINDOWS.map(({ now }) => `spent_${now}` as const)),
];

export type Described = readonly [name: string, value: string];

/** Returns what keys and groups have alike. */
export function describeAccount(account: Account, currency: string | undefined): readonly Described[] {
  const { limits } = account;
  const money = (amount: string | null, none = ''): string => (amount === null ? none : formatMoney(amount, currency));
  const spent = (amount: string, limit: string | null, endsAt: number): string => {
    const until = `until ${formatUtcOr('', toMs(endsAt))}`;
    if (limit === null) return `${money(amount)} ${until}`;
    // What is reserved counts as spent.
    const [most = 0, used = 0, held = 0] = [limit, amount, account.held].map(parseAmount);
    return `${money(amount)}, ${money(formatAmount(Math.max(0, most - used - held)))} is left ${until}`;
  };
  return [
    ['status', account.status],
    ['created', formatUtcOr('', toMs(account.created_at))],
    ['expires', formatUtcOr('never', toMs(account.expires_at))],
    ['models', account.models?.join(', ') ?? 'any'],
    ...RATE_LIMITS.map(({ wire }) => [inWords(wire), formatLimit(limits[wire])] as const),
    ...SPEND_WINDOWS.map(({ wire }) => [inWords(wire), money(limits[wire], 'no limit')] as const),
    ['balance', money(account.balance, 'not prepaid')],
    ['held', money(account.held)],
    ...SPEND_WINDOWS.map(({ per, now, wire }) => {
      const words = spent(account[`spent_${now}`], limits[wire], account[`${per}_ends_at`]);
      return [`spent ${inWords(now)}`, words] as const;
    }),
  ];
}

function inWords(name: string): string {
  return name.replaceAll('_', ' ');
}

function formatLimit(limit: number | null): string {
  return limit === null ? 'no limit' : formatCount(limit);
}

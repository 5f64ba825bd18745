import { Option, type Command } from 'commander';
import type { AccountActions, AccountKind, Administration } from '../admin/administration.ts';
import type { Config } from '../config/config.ts';
import type { AdminGroup } from '../contract/operator-types.ts';
import { given } from '../core/given.ts';
import { formatAmount, parseAmount } from '../core/money/decimal.ts';
import { LIMITS, RATE_LIMITS, SPEND_WINDOWS } from '../core/money/limits.ts';
import { toMs } from '../core/time.ts';
import { collect, PAGE, pagesOf, withAdministration } from './administration.ts';
import { addCommand, type Help } from './command.ts';
import { confirm } from './confirm.ts';
import { CliError } from './context.ts';
import { addExportOptions, printRows, fieldsNamed, type ExportOptions, type Field } from './export.ts';
import { formatCount, formatMoney, formatNumberOf, formatUtcOr, toTimestamp } from './format.ts';
import { addCreditsOption, warnOfTokens, type KeyOptions } from './key-options.ts';
import { wholeNumber } from './options.ts';
import type { Cli, Style } from './printer.ts';
import { formatFields, formatTable, type Column } from './table.ts';

export interface AccountCommands<Kind extends AccountKind> {
  readonly parent: Command;
  readonly cli: Cli;
  readonly kind: 'key' | 'group';
  readonly which: string;
  readonly actions: (administration: Administration) => AccountActions<Kind>;
  readonly columns: readonly Column<Kind['shown']>[];
  readonly fields: readonly Field<Kind['shown']>[];
  readonly describe: (account: Kind['shown'], currency: string | undefined) => readonly Described[];
  readonly addOptions: (command: Command) => Command;
  readonly toBody: (options: KeyOptions) => object;
  readonly addFilters: (command: Command) => Command;
  readonly toFilter: (options: ListOptions, administration: Administration) => Promise<Kind['filter']>;
  /** Says what is odd about a new account. */
  readonly warn: (config: Config) => void;
  readonly help: Readonly<Record<'create' | 'list' | 'show' | 'update' | 'disable' | 'enable' | 'delete', Help>>;
}

export interface ListOptions extends ExportOptions {
  readonly group?: string;
  readonly oldSecret?: boolean;
  readonly status?: AdminGroup['status'];
  readonly limit?: number;
}

export function addAccountCommands<Kind extends AccountKind>(commands: AccountCommands<Kind>): void {
  const { parent, kind, actions, addOptions, toBody, help } = commands;
  addCreate(commands);
  addList(commands);
  onAccount(commands, addCommand(parent, 'show', help.show), (all, id) => actions(all).show(id));
  const update = addOptions(addCommand(parent, 'update', help.update)).option(
    '--name <name>',
    `a name for the ${kind}`,
  );
  onAccount(commands, update, (all, id, options) => actions(all).update(id, toBody(options)));
  for (const name of ['disable', 'enable'] as const) {
    const change = { disabled: name === 'disable' };
    onAccount(commands, addCommand(parent, name, help[name]), (all, id) => actions(all).update(id, change));
  }
  addDelete(commands);
}

function addCreate<Kind extends AccountKind>(commands: AccountCommands<Kind>): void {
  const { parent, cli, kind, actions, addOptions, toBody, warn, help } = commands;
  addCreditsOption(addOptions(addCommand(parent, 'create', help.create)), cli)
    .requiredOption('--name <name>', `a name for the ${kind}`)
    .action((options: KeyOptions) =>
      withAdministration(
        cli,
        async ({ administration, config }) => {
          showAccount(commands, config, await actions(administration).create(toBody(options)));
          warnOfTokens(cli, options, config.defaultMaxOutputTokens);
          warn(config);
        },
        { beginsKeys: true },
      ),
    );
}

function addList<Kind extends AccountKind>(commands: AccountCommands<Kind>): void {
  const { parent, cli, kind, actions, columns, fields, addFilters, toFilter, help } = commands;
  addFilters(addExportOptions(addCommand(parent, 'list', help.list)))
    .addOption(new Option('--status <status>', `only ${kind}s in this state`).choices(Object.keys(STATUS_STYLES)))
    .option('--limit <n>', 'at most this many, newest first', wholeNumber(1, Number.MAX_SAFE_INTEGER))
    .action((options: ListOptions) =>
      withAdministration(cli, async ({ administration, config }) => {
        const filter = await toFilter(options, administration);
        const all = pagesOf<Kind['shown']>((last) =>
          actions(administration).list({ limit: PAGE, ...given({ after: last?.id }), ...filter }),
        );
        const pages = selected(all, options);
        await printRows(cli, options, {
          pages,
          fields,
          config,
          async show() {
            const data = await collect(pages);
            return { value: { object: 'list', data }, lines: (paint) => formatTable(columns, data, paint) };
          },
        });
      }),
    );
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

function addDelete<Kind extends AccountKind>(commands: AccountCommands<Kind>): void {
  const { parent, cli, kind, which, actions, help } = commands;
  addCommand(parent, 'delete', help.delete)
    .argument(`<${kind}>`, which)
    .option('--yes', 'do not ask for confirmation')
    .action((text: string, { yes = false }: { readonly yes?: boolean }) =>
      withAdministration(cli, async ({ administration }) => {
        const accounts = actions(administration);
        const account = await accounts.show(await accounts.find(text));
        const { id, name, balance } = account;
        if ('keys' in account && account.keys > 0)
          throw new CliError(
            `The group ${name} has ${formatNumberOf('key', account.keys)}. Move or delete them first.`,
          );
        const credits = balance === null ? '' : ` with its balance of ${balance} and its ledger`;
        await confirm(cli, {
          what: `This permanently deletes the ${kind} ${name} (${id})${credits}.`,
          name,
          yes,
        });
        const deleted = await accounts.delete(id);
        cli.printer.show(deleted, () => [`${deleted.id} was deleted.`]);
      }),
    );
}

/** Lets the command act on the account that it is given, and show what becomes of it. */
export function onAccount<Kind extends AccountKind>(
  commands: AccountCommands<Kind>,
  command: Command,
  act: (administration: Administration, id: Kind['shown']['id'], options: KeyOptions) => Promise<Kind['shown']>,
): void {
  const { cli, kind, which, actions } = commands;
  command.argument(`<${kind}>`, which).action((text: string, options: KeyOptions) =>
    withAdministration(cli, async ({ administration, config }) => {
      const id = await actions(administration).find(text);
      showAccount(commands, config, await act(administration, id, options));
    }),
  );
}

function showAccount<Kind extends AccountKind>(
  { cli: { printer }, describe }: AccountCommands<Kind>,
  { prices }: Config,
  account: Kind['shown'],
): void {
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

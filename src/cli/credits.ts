import { InvalidArgumentError, Option, type Command } from 'commander';
import type { AccountActions, AccountKind, Administration } from '../admin/administration.ts';
import type { AdminGroup, AdminKey, CreditKey, Ledger, LedgerItem } from '../contract/operator-types.ts';
import { parseSignedAmount } from '../core/money/decimal.ts';
import { given } from '../core/given.ts';
import type { LedgerQuery } from '../core/books/keys.ts';
import { PAGE, pagesOf, withAdministration } from './administration.ts';
import { confirm } from './confirm.ts';
import { UsageError } from './context.ts';
import { addExportOptions, fieldsNamed, printRows, type ExportOptions, type Field } from './export.ts';
import { formatMoment, formatMoney, toTimestamp } from './format.ts';
import { addCommand } from './command.ts';
import { parseAmountText, parseSignedAmountText, wholeNumber } from './options.ts';
import type { Cli } from './printer.ts';
import { formatTable, type Column } from './table.ts';

interface AccountOptions {
  readonly key?: string;
  readonly group?: string;
}

interface EntryOptions extends AccountOptions {
  readonly note?: string;
  readonly reference?: string;
  readonly yes?: boolean;
}

interface ListOptions extends AccountOptions, ExportOptions {
  readonly limit?: number;
  readonly before?: number;
}

const WHICH = 'id, prefix or name of a key; or use --key or --group';

export function addCredits(program: Command, cli: Cli): void {
  const credits = program.command('credits').description('grant credits to keys and groups, and view their ledgers');
  addEntry(credits, cli, 'grant');
  addEntry(credits, cli, 'adjust');
  addEnd(credits, cli);
  addList(credits, cli);
}

function addEntry(credits: Command, cli: Cli, kind: 'grant' | 'adjust'): void {
  const isGrant = kind === 'grant';
  const entry = addCommand(credits, kind, {
    what: isGrant ? 'add credits; a key or a group without credits becomes prepaid' : 'correct the balance, up or down',
    examples: [
      [`credits ${kind} alice ${isGrant ? '10.00' : '-2.50'} --note 'by invoice'`, 'prints the new balance'],
      [`credits ${kind} 5 --key alice --reference invoice-17`, 'safe to retry: it counts only once'],
      [`credits ${kind} 100 --group research`, 'for all keys of a group together'],
    ],
  });
  addAccountOptions(entry)
    .usage('[options] [key] <amount>')
    .argument('<key>', WHICH)
    .argument('[amount]', `amount in the currency of the prices, such as ${isGrant ? '10.00' : '2.50 or -2.50'}`)
    .option('--note <text>', 'a note for people')
    .option('--reference <text>', 'your reference, such as an invoice number; it must be unique')
    .option('--yes', 'do not ask before a key or a group becomes prepaid')
    .action((first: string, second: string | undefined, options: EntryOptions) => {
      const isNamed = options.key !== undefined || options.group !== undefined;
      if (!isNamed && second === undefined && parseSignedAmount(first) !== undefined)
        throw new UsageError(`error: name the key or the group that ${first} is for`);
      const [named, text] = isNamed && second === undefined ? [undefined, first] : [first, second];
      const amount = readAmount(text, isGrant ? parseAmountText : parseSignedAmountText);
      const { note, reference, yes = false } = options;
      return withAdministration(cli, async ({ administration, config }) => {
        const account = await findAccount(administration, named, options);
        const currency = config.prices?.currency;
        const { name, balance } = await account.show();
        const isNew = balance === null;
        if (isNew) await confirm(cli, { what: describeNew(name, formatMoney(amount, currency)), yes });
        const credited = await account.credit({ kind, amount, ...given({ note, reference }) });
        const now = formatMoney(credited.balance ?? '', currency);
        cli.printer.show(credited, () => [
          isNew ? `${name} is prepaid now. Its balance is ${now}.` : `The balance of ${name} is now ${now}.`,
        ]);
      });
    });
}

function addEnd(credits: Command, cli: Cli): void {
  const end = addCommand(credits, 'end', {
    what: 'take what is left, so that a key or a group is no longer prepaid and only its limits apply',
    examples: [['credits end alice', 'the way back from a grant']],
  });
  addAccountOptions(end)
    .argument('[key]', WHICH)
    .option('--yes', 'do not ask for confirmation')
    .action((named: string | undefined, options: EntryOptions) =>
      withAdministration(cli, async ({ administration, config }) => {
        const account = await findAccount(administration, named, options);
        const { name, balance } = await account.show();
        const left = formatMoney(balance ?? '', config.prices?.currency);
        const what = `This takes the balance of ${left} from ${name}, which can then spend without credits, within its limits.`;
        if (balance !== null) await confirm(cli, { what, yes: options.yes === true });
        cli.printer.show(await account.endCredits(), () => [`${name} is not prepaid.`]);
      }),
    );
}

function describeNew(name: string, amount: string): string {
  return `${name} is not prepaid, so only its limits apply. This makes it prepaid: it stops working once ${amount} is spent.`;
}

function addAccountOptions(command: Command): Command {
  return command
    .addOption(new Option('--key <key>', 'the key, by id, prefix or name').conflicts('group'))
    .option('--group <group>', 'the group, by id or name');
}

/** As commander does for arguments of which the position says what they are. */
function readAmount(text: string | undefined, parse: (text: string) => string): string {
  if (text === undefined) throw new UsageError("error: missing required argument 'amount'");
  try {
    return parse(text);
  } catch (error) {
    if (!(error instanceof InvalidArgumentError)) throw error;
    throw new UsageError(`error: command-argument value '${text}' is invalid for argument 'amount'. ${error.message}`);
  }
}

async function findAccount(
  administration: Administration,
  named: string | undefined,
  options: AccountOptions,
): Promise<ReturnType<typeof accountOf>> {
  const names = [named, options.key, options.group].filter((text) => text !== undefined);
  const [name] = names;
  if (name === undefined || names.length > 1) throw new UsageError('error: name one key or one group');
  const { keys, groups } = administration;
  return options.group === undefined
    ? accountOf(keys, await keys.find(name))
    : accountOf(groups, await groups.find(name));
}

function accountOf<Kind extends AccountKind>(actions: AccountActions<Kind>, id: Kind['shown']['id']) {
  return {
    show: (): Promise<AdminKey | AdminGroup> => actions.show(id),
    credit: (body: CreditKey): Promise<AdminKey | AdminGroup> => actions.credit(id, body),
    endCredits: (): Promise<AdminKey | AdminGroup> => actions.endCredits(id),
    listLedger: (query: LedgerQuery): Promise<Ledger> => actions.showLedger(id, query),
  };
}

const USUAL_LIMIT = 20;

function addList(credits: Command, cli: Cli): void {
  const list = addCommand(credits, 'list', {
    what: 'show the ledger of a key or a group, newest first',
    examples: [
      ['credits list alice --limit 100', 'grants, reservations and charges'],
      ['credits list --group research --csv', 'everything, for a spreadsheet'],
    ],
  });
  addExportOptions(addAccountOptions(list))
    .argument('[key]', WHICH)
    .option('--limit <n>', `how many, up to 100 (default: ${USUAL_LIMIT})`, wholeNumber(1, 100))
    .option('--before <id>', 'continue with entries older than this one', wholeNumber(1, Number.MAX_SAFE_INTEGER))
    .action((named: string | undefined, options: ListOptions) =>
      withAdministration(cli, async ({ administration, config }) => {
        const account = await findAccount(administration, named, options);
        const { limit = USUAL_LIMIT, before } = options;
        await printRows(cli, options, {
          pages: pagesOf<LedgerItem>(async (last) => {
            const page = { limit: options.limit ?? PAGE, ...given({ beforeSeq: last?.id ?? before }) };
            const { data, has_more } = await account.listLedger(page);
            return { data, has_more: has_more && options.limit === undefined };
          }),
          fields: FIELDS,
          config,
          async show() {
            const ledger = await account.listLedger({ limit, ...given({ beforeSeq: before }) });
            const more = ledger.has_more ? [`More: --before ${ledger.data.at(-1)?.id}`] : [];
            return { value: ledger, lines: (paint) => [...formatTable(COLUMNS, ledger.data, paint), ...more] };
          },
        });
      }),
    );
}

const FIELDS: readonly Field<LedgerItem>[] = [
  ...fieldsNamed('id'),
  { name: 'created_at', of: ({ created_at }) => toTimestamp(created_at * 1000) },
  ...fieldsNamed('kind', 'amount', 'request_id', 'reference', 'note'),
];

const COLUMNS: readonly Column<LedgerItem>[] = [
  { title: 'ID', of: ({ id }) => String(id), align: 'right' },
  { title: 'WHEN (UTC)', of: ({ created_at }) => formatMoment(created_at * 1000) },
  { title: 'KIND', of: ({ kind }) => kind },
  {
    title: 'AMOUNT',
    of: ({ amount }) => amount,
    align: 'right',
    style: ({ amount }) => (amount.startsWith('-') ? 'red' : 'green'),
  },
  { title: 'REQUEST', of: ({ request_id }) => request_id ?? '' },
  { title: 'REFERENCE', of: ({ reference }) => reference ?? '' },
  { title: 'NOTE', of: ({ note }) => note },
];

import type { Command } from 'commander';
import { readConfig } from '../config/config.ts';
import { checkLedgers } from '../store/maintenance.ts';
import type { CreditKey, LedgerItem } from '../contract/types.ts';
import { withAdministration } from './administration.ts';
import { CliError, type CliContext } from './context.ts';
import { findOwnDatabase } from './database.ts';
import { formatMoment, formatNumberOf } from './format.ts';
import { addExamples } from './help.ts';
import { parseAmountText, parseSignedAmountText, wholeNumber } from './options.ts';
import { createPrinter } from './printer.ts';
import { formatTable, type Column } from './table.ts';

interface EntryOptions {
  readonly group?: boolean;
  readonly note?: string;
  readonly reference?: string;
}

interface ListOptions {
  readonly group?: boolean;
  readonly limit: number;
  readonly before?: number;
}

const WHICH = 'the id, the prefix or the name of a key; with --group, the id or the name of a group';

/** Adds `credits`: the balances of prepaid keys and their ledgers. */
export function addCredits(program: Command, context: CliContext): void {
  const credits = program.command('credits').description('grant credits to keys and groups, and look at their ledgers');
  addEntry(credits, context, {
    kind: 'grant',
    what: 'add credits; a key without any becomes prepaid',
    parse: parseAmountText,
  });
  addEntry(credits, context, { kind: 'adjust', what: 'correct the balance, up or down', parse: parseSignedAmountText });
  addList(credits, context);
  addCheck(credits, context);
}

interface EntryCommand {
  readonly kind: NonNullable<CreditKey['kind']>;
  readonly what: string;
  readonly parse: (text: string) => string;
}

function addEntry(credits: Command, context: CliContext, { kind, what, parse }: EntryCommand): void {
  const entry = credits
    .command(kind)
    .description(what)
    .argument('<key>', WHICH)
    .argument('<amount>', kind === 'grant' ? 'such as 10.00' : 'such as 2.50 or -2.50', parse)
    .option('--group', 'to a group')
    .option('--note <text>', 'why, for people')
    .option('--reference <text>', 'its name, such as the number of an invoice; a second entry with it is refused')
    .action((text: string, amount: string, { group = false, note, reference }: EntryOptions, command: Command) =>
      withAdministration(context, async ({ administration }) => {
        const body = {
          kind,
          amount,
          ...(note !== undefined && { note }),
          ...(reference !== undefined && { reference }),
        };
        const account = group
          ? await administration.creditGroup(await administration.findGroupId(text), body)
          : await administration.creditKey(await administration.findKeyId(text), body);
        createPrinter(context, command).show(account, () => [
          `The balance of ${account.name} is ${account.balance} now.`,
        ]);
      }),
    );
  addExamples(entry, [
    [`credits ${kind} alice ${kind === 'grant' ? '10.00' : '-2.50'} --note 'by invoice'`, 'shows the new balance'],
    [`credits ${kind} alice 5 --reference invoice-17`, 'can be tried again: it counts once'],
    [`credits ${kind} research 100 --group`, 'for all keys of a group together'],
  ]);
}

function addList(credits: Command, context: CliContext): void {
  const list = credits
    .command('list')
    .description('list the ledger of a key or a group, newest first')
    .argument('<key>', WHICH)
    .option('--group', 'of a group')
    .option('--limit <n>', 'how many, up to 100', wholeNumber(1, 100), 20)
    .option('--before <id>', 'continue with what is older than this entry', wholeNumber(1, Number.MAX_SAFE_INTEGER))
    .action((text: string, { group = false, limit, before }: ListOptions, command: Command) =>
      withAdministration(context, async ({ administration }) => {
        const query = { limit, ...(before !== undefined && { beforeSeq: before }) };
        const ledger = group
          ? await administration.showGroupLedger(await administration.findGroupId(text), query)
          : await administration.showLedger(await administration.findKeyId(text), query);
        createPrinter(context, command).show(ledger, (paint) => [
          ...formatTable(COLUMNS, ledger.data, paint),
          ...(ledger.has_more ? [`More: --before ${ledger.data.at(-1)?.id}`] : []),
        ]);
      }),
    );
  addExamples(list, [['credits list alice --limit 100', 'grants, reservations and charges']]);
}

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

function addCheck(credits: Command, context: CliContext): void {
  const check = credits
    .command('check')
    .description('check for every key and group that its ledger adds up to its balance')
    .action(async (_options: unknown, command: Command) => {
      const { keys, problems } = await checkLedgers(await findOwnDatabase(readConfig(context.env)));
      const value = { object: 'ledger_check', ok: problems.length === 0, keys, problems };
      createPrinter(context, command).show(value, (paint) =>
        problems.length === 0
          ? [paint('green', `Every ledger adds up, of ${formatNumberOf('key', keys)}.`)]
          : problems.map((problem) => paint('red', problem)),
      );
      if (problems.length > 0) throw new CliError('The ledgers do not add up.');
    });
  addExamples(check, [['credits check', 'also while gateways run; exit status 1 when something is wrong']]);
}

import type { Command } from 'commander';
import type { Administration } from '../accounts/administration.ts';
import type { Config } from '../config/config.ts';
import type { GroupId } from '../contract/ids.ts';
import type { AdminGroup } from '../contract/types.ts';
import { collect, pagesOfGroups, withAdministration } from './administration.ts';
import { confirmDeletion } from './confirm.ts';
import type { CliContext } from './context.ts';
import { addExportOptions, exportRows, type Field } from './export.ts';
import { formatCount } from './format.ts';
import { addExamples } from './help.ts';
import { addCreditsOption, addLimitOptions, toLimitsBody, warnOfTokens, type LimitOptions } from './key-options.ts';
import { ACCOUNT_FIELDS, describeAccount, STATUS_STYLES } from './keys.ts';
import { createPrinter } from './printer.ts';
import { formatFields, formatTable, type Column } from './table.ts';

const WHICH = 'its id or its name';

/** Adds `groups`, which manages the groups of keys. */
export function addGroups(program: Command, context: CliContext): void {
  const groups = program
    .command('groups')
    .description('let keys share credits and limits; a running gateway notices it within a second (AUTH_MODE=managed)');
  addCreate(groups, context);
  addList(groups, context);
  const show = onGroup(groups.command('show').description('show one group with its limits'), context, (all, id) =>
    all.showGroup(id),
  );
  addExamples(show, [['groups show research', 'with what is left']]);
  const update = onGroup(
    addLimitOptions(groups.command('update'), context)
      .description('change what is named, and nothing else')
      .option('--name <name>', 'what people call it'),
    context,
    (all, id, options) => all.updateGroup(id, toLimitsBody(options)),
  );
  addExamples(update, [['groups update research --spend-per-month 500', 'for all its keys together']]);
  addSwitches(groups, context);
  addDelete(groups, context);
}

function addCreate(groups: Command, context: CliContext): void {
  const create = addCreditsOption(addLimitOptions(groups.command('create'), context), context)
    .description('create a group; keys join it with keys create --group or keys update --group')
    .requiredOption('--name <name>', 'what people call it')
    .action((options: LimitOptions, command: Command) =>
      withAdministration(
        context,
        async ({ administration, config }) => {
          showGroup(context, command, config, await administration.createGroup(toLimitsBody(options)));
          warnOfTokens(context, command, options, config.defaultMaxOutputTokens);
        },
        { beginsKeys: true },
      ),
    );
  addExamples(create, [
    ['groups create --name research --credits 100.00 --spend-per-day 10.00', 'a budget for a team'],
    ["groups create --name web --rpm 600 --models 'gpt-4o*'", 'limits alone'],
  ]);
}

function addList(groups: Command, context: CliContext): void {
  const list = addExportOptions(groups.command('list'))
    .description('list all groups, newest first')
    .action((_options: unknown, command: Command) =>
      withAdministration(context, async ({ administration, config }) => {
        const pages = pagesOfGroups(administration);
        if (await exportRows(context, command, { pages, fields: FIELDS, toJson: (group) => group })) return;
        const data = await collect(pages);
        const printer = createPrinter(context, command);
        printer.show({ object: 'list', data }, (paint) => formatTable(COLUMNS, data, paint));
        printer.noteCurrency(config);
      }),
    );
  addExamples(list, [
    ['groups list', 'with balances and what was spent'],
    ['groups list --csv > groups.csv', 'for a spreadsheet'],
  ]);
}

function addSwitches(groups: Command, context: CliContext): void {
  for (const [name, disabled, what] of [
    ['disable', true, 'refuse the keys of a group from now on; what runs under them may end'],
    ['enable', false, 'let the keys of a disabled group in again'],
  ] as const) {
    const command = groups.command(name).description(what);
    onGroup(command, context, (all, id) => all.updateGroup(id, { disabled }));
    addExamples(command, [[`groups ${name} research`, 'all its keys at once']]);
  }
}

function addDelete(groups: Command, context: CliContext): void {
  const remove = groups
    .command('delete')
    .description('delete a group without keys, with its credits, for good')
    .argument('<group>', WHICH)
    .option('--yes', 'do not ask')
    .action((text: string, { yes = false }: { readonly yes?: boolean }, command: Command) =>
      withAdministration(context, async ({ administration }) => {
        const { id, name, balance } = await administration.showGroup(await administration.findGroupId(text));
        const credits = balance === null ? '' : ` with its balance of ${balance} and its ledger`;
        await confirmDeletion(context, {
          what: `This deletes the group ${name} (${id})${credits}, for good.`,
          name,
          yes,
        });
        const deleted = await administration.deleteGroup(id);
        createPrinter(context, command).show(deleted, () => [`${deleted.id} is deleted.`]);
      }),
    );
  addExamples(remove, [['groups delete research --yes', 'once its keys are moved or deleted']]);
}

function onGroup(
  command: Command,
  context: CliContext,
  act: (administration: Administration, id: GroupId, options: LimitOptions) => Promise<AdminGroup>,
): Command {
  return command.argument('<group>', WHICH).action((text: string, options: LimitOptions, command: Command) =>
    withAdministration(context, async ({ administration, config }) => {
      showGroup(context, command, config, await act(administration, await administration.findGroupId(text), options));
    }),
  );
}

function showGroup(context: CliContext, command: Command, { prices }: Pick<Config, 'prices'>, group: AdminGroup): void {
  createPrinter(context, command).show(group, (paint) =>
    formatFields(
      [
        ['id', group.id],
        ['name', group.name],
        ['keys', formatCount(group.keys)],
        ...describeAccount(group, prices?.currency),
      ],
      paint,
    ),
  );
}

const COLUMNS: readonly Column<AdminGroup>[] = [
  { title: 'ID', of: ({ id }) => id },
  { title: 'NAME', of: ({ name }) => name },
  { title: 'KEYS', of: ({ keys }) => formatCount(keys), align: 'right' },
  { title: 'STATUS', of: ({ status }) => status, style: ({ status }) => STATUS_STYLES[status] },
  { title: 'BALANCE', of: ({ balance }) => balance ?? '', align: 'right' },
  { title: 'HELD', of: ({ held }) => held, align: 'right' },
  { title: 'TODAY', of: ({ spent_today }) => spent_today, align: 'right' },
  { title: 'MONTH', of: ({ spent_this_month }) => spent_this_month, align: 'right' },
];

const FIELDS: readonly Field<AdminGroup>[] = [
  { name: 'id', of: ({ id }) => id },
  { name: 'name', of: ({ name }) => name },
  { name: 'keys', of: ({ keys }) => keys },
  ...ACCOUNT_FIELDS,
];

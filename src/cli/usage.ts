import { Option, type Command } from 'commander';
import { toUsageOfKey, USUAL_SPAN_MS } from '../accounts/usage.ts';
import { formatAmount } from '../core/money/decimal.ts';
import type { UsageQuery } from '../store/keys.ts';
import type { AdminGroup, AdminKey, UsageOfKey } from '../contract/types.ts';
import { listAllGroups, listAllKeys, withAdministration } from './administration.ts';
import { CliError, type CliContext } from './context.ts';
import { formatCount, formatMoment, formatSpan } from './format.ts';
import { addExamples } from './help.ts';
import { parseMoment } from './options.ts';
import { createPrinter } from './printer.ts';
import { formatTable, type Column } from './table.ts';

interface UsageOptions {
  readonly per: UsageQuery['per'];
  readonly from?: number;
  readonly until?: number;
  readonly key?: string;
  readonly group?: string;
}

/** Adds `usage`, which sums what was used by time, caller and model. */
export function addUsage(program: Command, context: CliContext): void {
  const usage = program
    .command('usage')
    .description('show what was used, per key and model, by hour, day or month (UTC)')
    .addOption(new Option('--per <span>').choices(['hour', 'day', 'month']).default('day'))
    .option('--from <time>', 'by default a day, a month or a year ago, as --per asks', parseMoment)
    .option('--until <time>', 'by default now', parseMoment)
    .option('--key <key>', 'the id, the prefix or the name of one key')
    .option('--group <group>', 'the id or the name of one group; * for all groups, each by itself')
    .action((options: UsageOptions, command: Command) =>
      withAdministration(context, async ({ administration, store }) => {
        const { key, group } = options;
        if (key !== undefined && group !== undefined) throw new CliError('Give --key or --group, and not both.');
        const rows = await store.listUsage({
          ...toSpan(options, context.nowMs()),
          ...(key !== undefined && { caller: [await administration.findKeyId(key)] as const }),
          ...(group !== undefined && { group: group === '*' ? 'any' : await administration.findGroupId(group) }),
        });
        const data = rows.map(toUsageOfKey);
        const keys = await listAllKeys(administration);
        const groups = group === undefined ? [] : await listAllGroups(administration);
        createPrinter(context, command).show({ object: 'list', data }, (paint) =>
          formatTable(columnsFor(options.per, keys, groups), data, paint),
        );
      }),
    );
  addExamples(usage, [
    ['usage', 'the last 30 days, by day'],
    ['usage --per hour --key alice', 'one key, the last 24 hours'],
    ["usage --per month --group '*'", 'what each group used'],
    ['usage --per month --from 2026-01-01 --json', 'for a program'],
  ]);
}

function toSpan({ per, from, until }: UsageOptions, nowMs: number): Omit<UsageQuery, 'caller' | 'group'> {
  // Includes requests that end at this moment.
  const untilMs = until ?? nowMs + 1;
  const fromMs = from ?? untilMs - USUAL_SPAN_MS[per];
  if (fromMs >= untilMs) throw new CliError('The time of --from must be before that of --until.');
  return { per, fromMs, untilMs };
}

const TIME_CHARACTERS: Readonly<Record<UsageQuery['per'], number>> = { hour: 16, day: 10, month: 7 };

function columnsFor(
  per: UsageQuery['per'],
  keys: readonly AdminKey[],
  groups: readonly AdminGroup[],
): readonly Column<UsageOfKey>[] {
  const groupNames = new Map<string, string>(groups.map(({ id, name }) => [id, name]));
  const ofGroup: Column<UsageOfKey> = { title: 'GROUP', of: ({ group = '' }) => groupNames.get(group) ?? group };
  const names = new Map<string, string>(keys.map(({ id, name, prefix }) => [id, `${name} (${prefix})`]));
  const count = (title: string, of: (row: UsageOfKey) => number): Column<UsageOfKey> => ({
    title,
    of: (row) => formatCount(of(row)),
    align: 'right',
  });
  return [
    { title: 'FROM (UTC)', of: ({ start }) => formatMoment(start * 1000).slice(0, TIME_CHARACTERS[per]) },
    ...(groups.length === 0 ? [] : [ofGroup]),
    { title: 'KEY', of: ({ key }) => names.get(key) ?? key },
    { title: 'MODEL', of: ({ model }) => model },
    count('REQUESTS', (row) => row.requests),
    count('FAILED', (row) => row.failed),
    count('CANCELLED', (row) => row.cancelled),
    count('INPUT', (row) => row.input_tokens),
    count('CACHED', (row) => row.cached_tokens),
    count('WRITTEN', (row) => row.cache_write_tokens),
    count('OUTPUT', (row) => row.output_tokens),
    { title: 'COST', of: ({ cost }) => formatAmount(cost), align: 'right' },
    { title: 'MEAN TIME', of: ({ duration_ms, requests }) => formatSpan(duration_ms / requests), align: 'right' },
  ];
}

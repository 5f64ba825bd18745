import { Option, type Command } from 'commander';
import { ofQuery, toLatencies, type Latencies } from '../accounts/latencies.ts';
import { toUsageOfKey, USUAL_SPAN_MS } from '../accounts/usage.ts';
import { formatAmount } from '../core/money/decimal.ts';
import type { UsageQuery } from '../store/keys.ts';
import type { UsageOfKey } from '../contract/types.ts';
import { withAdministration } from './administration.ts';
import type { CliContext } from './context.ts';
import { addExportOptions, exportRows, type Field } from './export.ts';
import { formatCount, formatMoment, formatSpan, toTimestamp } from './format.ts';
import { addExamples } from './help.ts';
import { createNames } from './names.ts';
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
  const usage = addExportOptions(program.command('usage'))
    .description(
      'show requests, tokens, cost and time, per key and model, by hour, day or month (UTC), and what was rejected',
    )
    .addOption(new Option('--per <span>', 'how long each line is').choices(['hour', 'day', 'month']).default('day'))
    .option('--from <time>', 'UTC; by default a day, a month or a year ago, as --per asks', parseMoment)
    .option('--until <time>', 'UTC; by default now', parseMoment)
    .addOption(new Option('--key <key>', 'of one key, by id, prefix or name').conflicts('group'))
    .option('--group <group>', 'of one group, by id or name; * for all groups, each by itself')
    .action((options: UsageOptions, command: Command) => {
      const { key, group } = options;
      const span = toSpan(options, context.nowMs(), command);
      return withAdministration(context, async ({ administration, store, config }) => {
        const query: UsageQuery = {
          ...span,
          ...(key !== undefined && { caller: [await administration.keys.find(key)] }),
          ...(group !== undefined && { group: group === '*' ? 'any' : await administration.groups.find(group) }),
        };
        const rows = await store.listUsage(query);
        const latencies = toLatencies(await store.listRequestStats({ ...span, of: ofQuery(query) }));
        const names = createNames(store);
        const data = await Promise.all(
          rows.map(async (row): Promise<NamedUsage> => {
            const shown = toUsageOfKey(row);
            const groupName = shown.group === undefined ? null : await names.ofGroup(shown.group);
            return { ...shown, key_name: await names.ofCaller(row.caller), group_name: groupName };
          }),
        );
        if (await exportRows(context, command, { pages: [data], fields: FIELDS, toJson: (row) => row })) return;
        const printer = createPrinter(context, command);
        printer.show({ object: 'list', data, ...latencies }, (paint) => [
          ...formatTable(columnsFor(options.per, group !== undefined), data, paint),
          ...describeLatencies(latencies),
        ]);
        printer.noteCurrency(config);
      });
    });
  addExamples(usage, [
    ['usage', 'the last 30 days, by day'],
    ['usage --per hour --key alice', 'one key, the last 24 hours'],
    ["usage --per month --group '*'", 'what each group used'],
    ['usage --per month --from 2026-01-01 --csv', 'for a spreadsheet'],
  ]);
}

function toSpan(
  { per, from, until }: UsageOptions,
  nowMs: number,
  command: Command,
): Omit<UsageQuery, 'caller' | 'group'> {
  // Includes requests that end at this moment.
  const untilMs = until ?? nowMs + 1;
  const fromMs = from ?? untilMs - USUAL_SPAN_MS[per];
  if (fromMs >= untilMs) command.error('error: the time of --from must be before that of --until');
  return { per, fromMs, untilMs };
}

/** Returns lines about all of the time and all models. */
function describeLatencies({ latencies, rejected }: Latencies): readonly string[] {
  const whole = latencies.find(({ start, model }) => start === null && model === null);
  const lines = [
    ['First token', whole?.first_token],
    ['Duration', whole?.duration],
  ] as const;
  const times = lines.flatMap(([name, percentiles]) => {
    if (!percentiles) return [];
    const { p50_ms, p95_ms, count } = percentiles;
    return [`${name}: p50 ${formatSpan(p50_ms)}, p95 ${formatSpan(p95_ms)}, of ${formatCount(count)}.`];
  });
  const codes = new Map<string, number>();
  for (const { code, count } of rejected) codes.set(code, (codes.get(code) ?? 0) + count);
  const most = [...codes].sort(([, one], [, other]) => other - one);
  const refused = most.map(([code, count]) => `${formatCount(count)} ${code}`).join(', ');
  return [...times, ...(refused === '' ? [] : [`Rejected: ${refused}.`])];
}

const TIME_CHARACTERS: Readonly<Record<UsageQuery['per'], number>> = { hour: 16, day: 10, month: 7 };

interface NamedUsage extends UsageOfKey {
  readonly key_name: string;
  readonly group_name: string | null;
}

function columnsFor(per: UsageQuery['per'], hasGroups: boolean): readonly Column<NamedUsage>[] {
  const ofGroup: Column<NamedUsage> = { title: 'GROUP', of: ({ group_name }) => group_name ?? '' };
  const count = (title: string, of: (row: UsageOfKey) => number): Column<UsageOfKey> => ({
    title,
    of: (row) => formatCount(of(row)),
    align: 'right',
  });
  return [
    { title: 'FROM (UTC)', of: ({ start }) => formatMoment(start * 1000).slice(0, TIME_CHARACTERS[per]) },
    ...(hasGroups ? [ofGroup] : []),
    { title: 'KEY', of: ({ key_name }) => key_name },
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

const FIELDS: readonly Field<NamedUsage>[] = [
  { name: 'start', of: ({ start }) => toTimestamp(start * 1000) },
  { name: 'group', of: ({ group_name }) => group_name },
  { name: 'key', of: ({ key_name }) => key_name },
  { name: 'key_id', of: ({ key }) => key },
  { name: 'model', of: ({ model }) => model },
  { name: 'requests', of: (row) => row.requests },
  { name: 'failed', of: (row) => row.failed },
  { name: 'cancelled', of: (row) => row.cancelled },
  { name: 'input_tokens', of: (row) => row.input_tokens },
  { name: 'cached_tokens', of: (row) => row.cached_tokens },
  { name: 'cache_write_tokens', of: (row) => row.cache_write_tokens },
  { name: 'output_tokens', of: (row) => row.output_tokens },
  { name: 'reasoning_tokens', of: (row) => row.reasoning_tokens },
  { name: 'cost', of: ({ cost }) => formatAmount(cost) },
  { name: 'duration_ms', of: (row) => row.duration_ms },
];

import { Option, type Command } from 'commander';
import { ofQuery, toLatencies, type Latencies } from '../accounts/latencies.ts';
import { toUsageOfKey } from '../accounts/usage.ts';
import { formatAmount } from '../core/money/decimal.ts';
import { cachedShareOf } from '../core/reply/usage.ts';
import { USUAL_SPAN_MS, type UsageQuery, type UsageSpan } from '../core/books/keys.ts';
import type { UsageOfKey } from '../contract/operator-types.ts';
import { withAdministration } from './administration.ts';
import type { CliContext } from './context.ts';
import { addExportOptions, exportRows, fieldsNamed, type Field } from './export.ts';
import { formatCount, formatMoment, formatSpan, toTimestamp } from './format.ts';
import { addExamples } from './help.ts';
import { createNames } from './names.ts';
import { parseMoment } from './options.ts';
import { createPrinter } from './printer.ts';
import { formatTable, type Column } from './table.ts';
import {
  BACKEND_COLUMNS,
  BACKEND_FIELDS,
  countColumn,
  SAVED_COLUMN,
  SAVED_FIELD,
  SHARE_COLUMN,
  sumByBackend,
  withSaved,
} from './usage-by-backend.ts';

interface UsageOptions {
  readonly per: UsageQuery['per'];
  readonly from?: number;
  readonly until?: number;
  readonly key?: string;
  readonly group?: string;
  readonly by?: By | 'backend';
}

/** Adds `usage`, which sums what was used by time, caller and model. */
export function addUsage(program: Command, context: CliContext): void {
  const usage = addExportOptions(program.command('usage'))
    .description(
      'show requests, tokens, cost and time, per key and model, by hour, day or month (UTC), and what was rejected',
    )
    .addOption(new Option('--per <span>', 'time span of each row').choices(['hour', 'day', 'month']).default('day'))
    .option('--from <time>', 'start in UTC (default: a day, a month or a year ago, depending on --per)', parseMoment)
    .option('--until <time>', 'end in UTC (default: now)', parseMoment)
    .addOption(new Option('--key <key>', 'only this key, by id, prefix or name').conflicts('group'))
    .option('--group <group>', 'only this group, by id or name; * for all groups, each on its own')
    .addOption(
      new Option('--by <what>', 'one total for each, highest cost first; of backends, their prefix caches').choices([
        ...Object.keys(BY),
        'backend',
      ]),
    )
    .action((options: UsageOptions, command: Command) => {
      const { key, by } = options;
      const group = options.group ?? (by === 'group' && key === undefined ? '*' : undefined);
      const span = toSpan(options, context.nowMs(), command);
      return withAdministration(context, async ({ administration, store, config }) => {
        const query: UsageQuery = {
          ...span,
          ...(key !== undefined && { caller: [await administration.keys.find(key)] }),
          ...(group !== undefined && { group: group === '*' ? 'any' : await administration.groups.find(group) }),
        };
        const latencies = toLatencies(await store.listRequestStats({ ...span, of: ofQuery(query) }));
        const printer = createPrinter(context, command);
        if (by === 'backend') {
          const data = sumByBackend(latencies.backends);
          if (await exportRows(context, command, { pages: [data], fields: BACKEND_FIELDS, toJson: withSaved })) return;
          printer.show({ object: 'usage_sums', by, data: data.map(withSaved) }, (paint) =>
            formatTable(BACKEND_COLUMNS, data, paint),
          );
          printer.noteCurrency(config);
          return;
        }
        const rows = await store.listUsage(query);
        const names = createNames(store);
        const data = await Promise.all(
          rows.map(async (row): Promise<NamedUsage> => {
            const shown = toUsageOfKey(row);
            const groupName = shown.group === undefined ? null : await names.ofGroup(shown.group);
            return { ...shown, key_name: await names.ofCaller(row.caller), group_name: groupName };
          }),
        );
        if (by === undefined) {
          if (await exportRows(context, command, { pages: [data], fields: FIELDS, toJson: withAmount })) return;
          const backends = latencies.backends.map(withSaved);
          printer.show({ object: 'list', data: data.map(withAmount), ...latencies, backends }, (paint) => [
            ...formatTable(columnsFor(options.per, group !== undefined), data, paint),
            ...describeLatencies(latencies),
          ]);
        } else {
          const sums = sumBy(data, by);
          const fields = [{ name: by, of: ({ of }: Sum) => of }, ...SUM_FIELDS];
          if (await exportRows(context, command, { pages: [sums], fields, toJson: withAmount })) return;
          const total = withAmount(sumOf('total', data));
          printer.show({ object: 'usage_sums', by, data: sums.map(withAmount), total }, (paint) =>
            formatTable(
              [{ title: by.toUpperCase(), of: ({ of }) => of ?? '' }, ...SUM_COLUMNS],
              [...sums, sumOf('total', data)],
              paint,
            ),
          );
        }
        printer.noteCurrency(config);
      });
    });
  addExamples(usage, [
    ['usage', 'the last 30 days, by day'],
    ['usage --per hour --key alice', 'one key, the last 24 hours'],
    ['usage --by key', 'totals per key and overall, for the last 30 days'],
    ['usage --by backend', 'what the prefix cache of each backend served'],
    ['usage --by group --from 2026-01-01', 'totals per group since that day'],
    ['usage --per month --from 2026-01-01 --csv', 'for a spreadsheet'],
  ]);
}

function toSpan({ per, from, until }: UsageOptions, nowMs: number, command: Command): UsageSpan {
  // Includes requests that end at this moment.
  const untilMs = until ?? nowMs + 1;
  const fromMs = from ?? untilMs - USUAL_SPAN_MS[per];
  if (fromMs >= untilMs) command.error('error: --from must be earlier than --until');
  return { per, fromMs, untilMs };
}

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

/** What rows are summed by, and the name of each there. */
const BY = {
  key: ({ key_name }) => key_name,
  group: ({ group_name }) => group_name,
  model: ({ model }) => model,
  day: ({ start }) => formatMoment(start * 1000).slice(0, 10),
} satisfies Readonly<Record<string, (row: NamedUsage) => string | null>>;
type By = keyof typeof BY;

type Counts = Omit<UsageOfKey, 'start' | 'key' | 'group' | 'model'>;

interface Sum extends Counts {
  readonly of: string | null;
}

/** Returns a sum for each name, the dearest first; of days, the first one. */
function sumBy(rows: readonly NamedUsage[], by: By): readonly Sum[] {
  const sums = [...Map.groupBy(rows, BY[by])].map(([of, own]) => sumOf(of, own));
  return by === 'day' ? sums : sums.sort((one, other) => other.cost - one.cost || other.requests - one.requests);
}

function sumOf(of: string | null, rows: readonly NamedUsage[]): Sum {
  const sum = (count: keyof Counts): number => rows.reduce((total, row) => total + row[count], 0);
  return {
    of,
    requests: sum('requests'),
    failed: sum('failed'),
    cancelled: sum('cancelled'),
    input_tokens: sum('input_tokens'),
    cached_tokens: sum('cached_tokens'),
    cached_share: cachedShareOf(sum('cached_tokens'), sum('input_tokens')),
    cache_write_tokens: sum('cache_write_tokens'),
    output_tokens: sum('output_tokens'),
    reasoning_tokens: sum('reasoning_tokens'),
    cost: sum('cost'),
    saved: sum('saved'),
    duration_ms: sum('duration_ms'),
  };
}

/** Money is a decimal number in every output. */
function withAmount<Row extends Counts>(
  row: Row,
): Omit<Row, 'cost' | 'saved'> & { readonly cost: string; readonly saved: string } {
  return { ...row, cost: formatAmount(row.cost), saved: formatAmount(row.saved) };
}

function columnsFor(per: UsageQuery['per'], hasGroups: boolean): readonly Column<NamedUsage>[] {
  const ofGroup: Column<NamedUsage> = { title: 'GROUP', of: ({ group_name }) => group_name ?? '' };
  return [
    { title: 'FROM (UTC)', of: ({ start }) => formatMoment(start * 1000).slice(0, TIME_CHARACTERS[per]) },
    ...(hasGroups ? [ofGroup] : []),
    { title: 'KEY', of: ({ key_name }) => key_name },
    { title: 'MODEL', of: ({ model }) => model },
    ...SUM_COLUMNS,
  ];
}

const SUM_COLUMNS: readonly Column<Counts>[] = [
  countColumn('REQUESTS', 'requests'),
  countColumn('FAILED', 'failed'),
  countColumn('CANCELLED', 'cancelled'),
  countColumn('INPUT', 'input_tokens'),
  countColumn('CACHED', 'cached_tokens'),
  SHARE_COLUMN,
  countColumn('WRITTEN', 'cache_write_tokens'),
  countColumn('OUTPUT', 'output_tokens'),
  { title: 'COST', of: ({ cost }) => formatAmount(cost), align: 'right' },
  SAVED_COLUMN,
  {
    title: 'MEAN TIME',
    of: ({ duration_ms, requests }) => formatSpan(requests === 0 ? 0 : duration_ms / requests),
    align: 'right',
  },
];

const SUM_FIELDS: readonly Field<Counts>[] = [
  ...fieldsNamed('requests', 'failed', 'cancelled', 'input_tokens', 'cached_tokens', 'cached_share'),
  ...fieldsNamed('cache_write_tokens', 'output_tokens', 'reasoning_tokens'),
  { name: 'cost', of: ({ cost }) => formatAmount(cost) },
  SAVED_FIELD,
  ...fieldsNamed('duration_ms'),
];

const FIELDS: readonly Field<NamedUsage>[] = [
  { name: 'start', of: ({ start }) => toTimestamp(start * 1000) },
  { name: 'group', of: ({ group_name }) => group_name },
  { name: 'key', of: ({ key_name }) => key_name },
  { name: 'key_id', of: ({ key }) => key },
  { name: 'model', of: ({ model }) => model },
  ...SUM_FIELDS,
];

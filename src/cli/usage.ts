import { Option, type Command } from 'commander';
import { ofQuery, toLatencies, type Latencies } from '../accounts/latencies.ts';
import { toUsageOfKey } from '../accounts/usage.ts';
import { USUAL_SPAN_MS, type UsageQuery, type UsageRow, type UsageSpan } from '../core/books/keys.ts';
import type { InputOfBackend } from '../contract/record-types.ts';
import type { UsageOfKey } from '../contract/operator-types.ts';
import { withAdministration } from './administration.ts';
import { addCommand } from './command.ts';
import { UsageError } from './context.ts';
import { addExportOptions, printRows, type ExportOptions, type Field } from './export.ts';
import { formatCount, formatMoment, formatSpan, toTimestamp } from './format.ts';
import { createNames, type Names } from './names.ts';
import { parseMoment } from './options.ts';
import type { Cli } from './printer.ts';
import { formatTable, type Column } from './table.ts';
import { countColumns, countFields, sumOf, withAmounts } from './usage-counts.ts';

interface UsageOptions extends ExportOptions {
  readonly per: UsageQuery['per'];
  readonly from?: number;
  readonly until?: number;
  readonly key?: string;
  readonly group?: string;
  readonly by?: By | 'backend';
}

export function addUsage(program: Command, cli: Cli): void {
  const usage = addCommand(program, 'usage', {
    what: 'show requests, tokens, cost and time, per key and model, by hour, day or month (UTC), and what was rejected',
    examples: [
      ['usage', 'the last 30 days, by day'],
      ['usage --per hour --key alice', 'one key, the last 24 hours'],
      ['usage --by key', 'totals per key and overall, for the last 30 days'],
      ['usage --by backend', 'what the prefix cache of each backend served'],
      ['usage --by group --from 2026-01-01', 'totals per group since that day'],
      ['usage --per month --from 2026-01-01 --csv', 'for a spreadsheet'],
    ],
  });
  addExportOptions(usage)
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
    .action(async (options: UsageOptions) => {
      const { key, by } = options;
      const group = options.group ?? (by === 'group' && key === undefined ? '*' : undefined);
      const span = toSpan(options, cli.nowMs());
      await withAdministration(cli, async ({ administration, store, config }) => {
        const query: UsageQuery = {
          ...span,
          ...(key !== undefined && { caller: [await administration.keys.find(key)] }),
          ...(group !== undefined && { group: group === '*' ? 'any' : await administration.groups.find(group) }),
        };
        const latencies = toLatencies(await store.listRequestStats({ ...span, of: ofQuery(query) }));
        if (by === 'backend') {
          const data = sumByBackend(latencies.backends);
          return printRows(cli, options, {
            config,
            pages: [data],
            fields: [{ name: by, of: ({ of }) => of }, ...countFields(OF_BACKENDS)],
            toJson: withAmounts,
            show: () => ({
              value: { object: 'usage_sums', by, data: data.map(withAmounts) },
              lines: (paint) => formatTable([nameColumn(by), ...countColumns(...OF_BACKENDS)], data, paint),
            }),
          });
        }
        const data = await withNames(await store.listUsage(query), createNames(store));
        if (by === undefined) {
          const backends = latencies.backends.map(withAmounts);
          return printRows(cli, options, {
            config,
            pages: [data],
            fields: FIELDS,
            toJson: withAmounts,
            show: () => ({
              value: { object: 'list', data: data.map(withAmounts), ...latencies, backends },
              lines: (paint) => [
                ...formatTable(columnsFor(options.per, group !== undefined), data, paint),
                ...describeLatencies(latencies),
              ],
            }),
          });
        }
        const sums = sumBy(data, by);
        const total = { of: 'total', ...sumOf(SUMMED, data) };
        return printRows(cli, options, {
          config,
          pages: [sums],
          fields: [{ name: by, of: ({ of }) => of }, ...countFields(SUMMED)],
          toJson: withAmounts,
          show: () => ({
            value: { object: 'usage_sums', by, data: sums.map(withAmounts), total: withAmounts(total) },
            lines: (paint) => formatTable([nameColumn(by), ...SUM_COLUMNS], [...sums, total], paint),
          }),
        });
      });
    });
}

function toSpan({ per, from, until }: UsageOptions, nowMs: number): UsageSpan {
  // Includes requests that end at this moment.
  const untilMs = until ?? nowMs + 1;
  const fromMs = from ?? untilMs - USUAL_SPAN_MS[per];
  if (fromMs >= untilMs) throw new UsageError('error: --from must be earlier than --until');
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

const BY = {
  key: ({ key_name }) => key_name,
  group: ({ group_name }) => group_name,
  model: ({ model }) => model,
  day: ({ start }) => formatMoment(start * 1000).slice(0, 10),
} satisfies Readonly<Record<string, (row: NamedUsage) => string | null>>;
type By = keyof typeof BY;

type Counts = Omit<UsageOfKey, 'start' | 'key' | 'group' | 'model'>;

async function withNames(rows: readonly UsageRow[], names: Names): Promise<readonly NamedUsage[]> {
  return Promise.all(
    rows.map(async (row) => {
      const shown = toUsageOfKey(row);
      const groupName = shown.group === undefined ? null : await names.ofGroup(shown.group);
      return { ...shown, key_name: await names.ofCaller(row.caller), group_name: groupName };
    }),
  );
}

/** Returns a sum for each name, the dearest first; of days, the first one. */
function sumBy(rows: readonly NamedUsage[], by: By) {
  const sums = [...Map.groupBy(rows, BY[by])].map(([of, own]) => ({ of, ...sumOf(SUMMED, own) }));
  return by === 'day' ? sums : sums.sort((one, other) => other.cost - one.cost || other.requests - one.requests);
}

/** Returns what the prefix cache of each backend served, by its name. */
function sumByBackend(inputs: readonly InputOfBackend[]) {
  return [...Map.groupBy(inputs, ({ backend }) => backend)]
    .map(([of, own]) => ({ of, ...sumOf(OF_BACKENDS, own) }))
    .sort((one, other) => (one.of < other.of ? -1 : 1));
}

const SUMMED = [
  'requests',
  'failed',
  'cancelled',
  'input_tokens',
  'cached_tokens',
  'cached_share',
  'cache_write_tokens',
  'output_tokens',
  'reasoning_tokens',
  'cost',
  'saved',
  'duration_ms',
] as const satisfies readonly (keyof Counts)[];

const OF_BACKENDS = [
  'input_tokens',
  'cached_tokens',
  'cached_share',
  'reachable_tokens',
  'moved_turns',
  'saved',
] as const satisfies readonly (keyof InputOfBackend)[];

const SUM_COLUMNS: readonly Column<Counts>[] = [
  ...countColumns('requests', 'failed', 'cancelled', 'input_tokens', 'cached_tokens', 'cached_share'),
  ...countColumns('cache_write_tokens', 'output_tokens', 'cost', 'saved'),
  {
    title: 'MEAN TIME',
    of: ({ duration_ms, requests }) => formatSpan(requests === 0 ? 0 : duration_ms / requests),
    align: 'right',
  },
];

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

function nameColumn(by: string): Column<{ readonly of: string | null }> {
  return { title: by.toUpperCase(), of: ({ of }) => of ?? '' };
}

const FIELDS: readonly Field<NamedUsage>[] = [
  { name: 'start', of: ({ start }) => toTimestamp(start * 1000) },
  { name: 'group', of: ({ group_name }) => group_name },
  { name: 'key', of: ({ key_name }) => key_name },
  { name: 'key_id', of: ({ key }) => key },
  { name: 'model', of: ({ model }) => model },
  ...countFields(SUMMED),
];

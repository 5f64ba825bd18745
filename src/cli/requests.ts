import { setTimeout as delay } from 'node:timers/promises';
import { InvalidArgumentError, Option, type Command } from 'commander';
import { labelCaller } from '../accounts/usage.ts';
import type { Config } from '../config/config.ts';
import { formatAmount } from '../core/money/decimal.ts';
import { ApiError, isErrorCode, messageInRecord, type ErrorCode } from '../core/errors.ts';
import type { RequestId } from '../contract/ids.ts';
import { parseRequestId } from '../core/ids.ts';
import { given } from '../core/given.ts';
import { toRecord } from '../requests/show-record.ts';
import {
  MOST_CALLERS,
  type OperatorPage,
  type OperatorQuery,
  type OwnedRecord,
  type RecordStatus,
} from '../core/books/store.ts';
import { CliError, type CliContext } from './context.ts';
import { withAdministration, type OpenAdministration } from './administration.ts';
import { withStore, type OpenedStore, type OpenStore } from './database.ts';
import { addExportOptions, fieldsNamed, printRows, type ExportOptions, type Field } from './export.ts';
import { formatCount, formatMoment, formatMoney, formatSpan, formatUtcOr, toTimestamp } from './format.ts';
import { createNames, type Names } from './names.ts';
import { toGatewayUrl } from './snippets.ts';
import { addCommand } from './command.ts';
import { parseDuration, parseMoment, wholeNumber } from './options.ts';
import { type Paint, type Style, type Cli } from './printer.ts';
import { formatFields, formatTable, type Column } from './table.ts';

const CLEAR_SCREEN = '\u{1b}[H\u{1b}[J';

interface ListOptions extends ExportOptions {
  readonly limit?: number;
  readonly after?: RequestId;
  readonly status?: RecordStatus;
  readonly model?: string;
  readonly error?: ErrorCode;
  readonly key?: string;
  readonly group?: string;
  readonly from?: number;
  readonly until?: number;
}

export function addRequests(program: Command, cli: Cli): void {
  const requests = program.command('requests').description('view the requests of all callers, and cancel them');
  addList(requests, cli);
  addShow(requests, cli);
  addCancel(requests, cli);
  addWatch(requests, cli);
}

const USUAL_LIMIT = 20;

function addFilters(command: Command): Command {
  return command
    .addOption(new Option('--status <status>', 'only requests in this state').choices(Object.keys(STATUS_STYLES)))
    .option('--model <model>', 'only requests for this model, as the caller named it')
    .option('--error <code>', 'only requests that ended with this error, as the column ERROR shows it', toErrorCode)
    .option('--key <key>', 'only requests of this key (id, prefix or name), or of callers whose hash starts with this')
    .option('--group <group>', 'only requests of this group, by id or name')
    .option('--from <time>', 'only requests that arrived at this time (UTC) or later', parseMoment)
    .option('--until <time>', 'only requests that arrived before this time (UTC)', parseMoment)
    .option('--limit <n>', `how many, up to 100 (default: ${USUAL_LIMIT})`, wholeNumber(1, 100));
}

function addList(requests: Command, cli: Cli): void {
  const list = addCommand(requests, 'list', {
    what: 'list requests, newest first',
    examples: [
      ['requests list --status failed', 'what failed lately'],
      ['requests list --group research --status failed', 'of all keys in a group'],
      ['requests list --key alice --model llama-3.3-70b', 'of one key, for one model'],
      ['requests list --error upstream_timeout --from 2026-11-01', 'one error, since a given day'],
      ['requests list --from 2026-11-01 --csv > november.csv', 'everything, for a spreadsheet'],
    ],
  });
  addExportOptions(addFilters(list))
    .option('--after <id>', 'continue after this request', toId)
    .action((options: ListOptions) =>
      withAdministration(cli, async (opened) => {
        const listPage = await prepareList(opened, options);
        const toJson = toJsonWith(opened.config);
        const { config } = opened;
        await printRows(cli, options, {
          pages: pagesOf(listPage, options),
          fields: FIELDS,
          toJson,
          config,
          async show() {
            const { records, lastId, hasMore } = await listPage(options);
            return {
              value: { object: 'list', data: records.map(toJson), has_more: hasMore, last_id: lastId },
              lines: (paint) => [...tableOf(records, paint), ...(hasMore ? [`More: --after ${lastId}`] : [])],
            };
          },
        });
      }),
    );
}

function addShow(requests: Command, cli: Cli): void {
  addCommand(requests, 'show', {
    what: 'show a request',
    examples: [['requests show req_…', 'the id is in the x-request-id header of the reply']],
  })
    .argument('<id>', 'req_… or resp_…', toId)
    .action((id: RequestId) => withStore(cli, (opened) => printRecord(cli, id, opened)));
}

function addCancel(requests: Command, cli: Cli): void {
  addCommand(requests, 'cancel', {
    what: 'cancel a running request',
    note: CANCEL_ASKED,
    examples: [['requests cancel req_…', 'works for a request of any gateway on the database']],
  })
    .argument('<id>', 'req_… or resp_…', toId)
    .action((id: RequestId) =>
      withStore(cli, async (opened) => {
        const asked = await opened.store.requestCancelOfAny(id);
        await printRecord(cli, id, opened);
        cli.printer.note(asked?.kind === 'asked' ? CANCEL_ASKED : 'It had already ended and was not changed.');
      }),
    );
}

async function printRecord({ printer }: Cli, id: RequestId, { store, config }: OpenedStore): Promise<void> {
  const record = await store.findAny(id);
  if (record === undefined) throw new CliError(`There is no request ${id}.`);
  const named = await nameOne(createNames(store), record);
  printer.show(toJsonWith(config)(named), (paint) => describe(named, config.prices?.currency, paint));
}

const CANCEL_ASKED =
  'The gateway that runs the request notices within a second, stops its call to the backend, and ends the record as cancelled.';

function addWatch(requests: Command, cli: Cli): void {
  const watch = addCommand(requests, 'watch', {
    what: 'show the newest requests as they arrive and end, until Ctrl-C',
    examples: [
      ['requests watch', 'like top, for requests'],
      ['requests watch --status failed --json', 'one line of JSON per failure'],
    ],
  });
  addFilters(watch)
    .addOption(
      new Option('--every <duration>', 'how often to look').argParser(parseDuration(3_600_000)).default(1000, '1s'),
    )
    .action((options: ListOptions & { readonly every: number }) =>
      withAdministration(cli, async (opened) => {
        const listPage = await prepareList(opened, options);
        const toJson = toJsonWith(opened.config);
        const signal = cli.interruption();
        const printNew = printChanges(cli, cli.printer.isJson ? (record) => JSON.stringify(toJson(record)) : toLine);
        while (!signal.aborted) {
          const { records } = await listPage(options);
          if (cli.stdout.isTTY === true && !cli.printer.isJson) {
            cli.stdout.write(CLEAR_SCREEN);
            cli.printer.show(undefined, (paint) => tableOf(records, paint));
          } else printNew(records);
          await delay(options.every, undefined, { signal }).catch(() => undefined);
        }
      }),
    );
}

interface NamedRecord extends OwnedRecord {
  readonly keyName: string;
  readonly groupName: string | null;
}

type ListPage = (part: ListOptions) => Promise<OperatorPage & { readonly records: readonly NamedRecord[] }>;

async function prepareList(opened: OpenAdministration, options: ListOptions): Promise<ListPage> {
  const { store, administration } = opened;
  const { key, group } = options;
  const query = {
    ...toQuery(options),
    ...(key !== undefined && { callerPrefix: await findCaller(opened, key) }),
    ...(group !== undefined && { groupId: await administration.groups.find(group) }),
  };
  return async ({ limit = USUAL_LIMIT, after }) => {
    const page = await store.listAll({ ...query, limit, ...given({ after }) });
    if (page === undefined) {
      throw new CliError(`More than ${MOST_CALLERS} callers start with ${key}; type more of the one you mean.`);
    }
    return { ...page, records: await nameAll(store, page.records) };
  };
}

const EXPORT_PAGE = 100;

async function* pagesOf(listPage: ListPage, options: ListOptions): AsyncGenerator<readonly NamedRecord[]> {
  const { limit = EXPORT_PAGE } = options;
  let page = await listPage({ ...options, limit });
  yield page.records;
  while (page.hasMore && options.limit === undefined && page.lastId !== null) {
    page = await listPage({ limit, after: page.lastId });
    yield page.records;
  }
}

async function findCaller({ store, administration }: OpenAdministration, text: string): Promise<string> {
  try {
    return await administration.keys.find(text);
  } catch (error) {
    if (!(error instanceof ApiError) || error.code !== 'not_found') throw error;
    const page = await store.listAll({ callerPrefix: text, limit: 1 });
    if (page === undefined || page.records.length > 0 || page.hasMore) return text;
    throw new CliError('There is no key with this id, prefix or name, and no caller whose hash starts with this.', {
      cause: error,
    });
  }
}

function nameAll(store: OpenStore, records: readonly OwnedRecord[]): Promise<readonly NamedRecord[]> {
  const names = createNames(store);
  return Promise.all(records.map((record) => nameOne(names, record)));
}

async function nameOne(names: Names, record: OwnedRecord): Promise<NamedRecord> {
  const { caller, groupId } = record;
  return {
    ...record,
    keyName: await names.ofCaller(caller),
    groupName: groupId === null ? null : await names.ofGroup(groupId),
  };
}

function printChanges({ stdout }: CliContext, toText: (record: NamedRecord) => string) {
  let before = new Map<RequestId, string>();
  return (records: readonly NamedRecord[]): void => {
    const lines = new Map(records.map((record) => [record.requestId, toText(record)]));
    for (const [id, line] of [...lines].toReversed()) if (before.get(id) !== line) stdout.write(`${line}\n`);
    before = lines;
  };
}

function toLine(record: NamedRecord): string {
  return [...COLUMNS, BACKEND]
    .map(({ of }) => of(record))
    .filter((text) => text !== '')
    .join('  ');
}

function toQuery({ status, model, error, from, until }: ListOptions): Omit<OperatorQuery, 'limit'> {
  return given({ status, model, errorCode: error, fromMs: from, untilMs: until });
}

function toId(text: string): RequestId {
  const id = parseRequestId(text);
  if (id === undefined) throw new InvalidArgumentError('It must be the id of a request, req_… or resp_….');
  return id;
}

function toErrorCode(text: string): ErrorCode {
  if (!isErrorCode(text)) throw new InvalidArgumentError('It must be the code of an error, such as upstream_error.');
  return text;
}

const STATUS_STYLES: Readonly<Record<RecordStatus, Style>> = {
  processing: 'cyan',
  succeeded: 'green',
  failed: 'red',
  cancelled: 'yellow',
};

const COLUMNS: readonly Column<NamedRecord>[] = [
  { title: 'STARTED (UTC)', of: ({ createdAtMs }) => formatMoment(createdAtMs) },
  { title: 'ID', of: ({ requestId }) => requestId },
  { title: 'STATUS', of: ({ status }) => status, style: ({ status }) => STATUS_STYLES[status] },
  { title: 'MODEL', of: ({ model }) => model },
  { title: 'KEY', of: ({ keyName }) => keyName },
  { title: 'TOOK', of: tookOf, align: 'right' },
  { title: 'IN', of: ({ usage }) => (usage === null ? '' : formatCount(usage.input_tokens)), align: 'right' },
  { title: 'OUT', of: ({ usage }) => (usage === null ? '' : formatCount(usage.output_tokens)), align: 'right' },
  { title: 'COST', of: ({ costMicro }) => (costMicro === null ? '' : formatAmount(costMicro)), align: 'right' },
  { title: 'ERROR', of: ({ errorCode }) => errorCode ?? '' },
];

const BACKEND: Column<NamedRecord> = { title: 'BACKEND', of: ({ upstream }) => upstream ?? '' };

function tableOf(records: readonly NamedRecord[], paint: Paint): string[] {
  const hasNames = records.some(({ upstream }) => upstream !== null);
  return formatTable(hasNames ? [...COLUMNS, BACKEND] : COLUMNS, records, paint);
}

function tookOf({ createdAtMs, completedAtMs }: OwnedRecord): string {
  return completedAtMs === null ? '' : formatSpan(completedAtMs - createdAtMs);
}

function describe(record: NamedRecord, currency: string | undefined, paint: Paint): string[] {
  const { usage, errorCode } = record;
  const estimated = record.usageEstimated ? ' (estimated)' : '';
  return formatFields(
    [
      ['id', record.requestId],
      ['status', record.status],
      ['endpoint', record.endpoint],
      ['model', record.model],
      ['stream', record.stream ? 'yes' : 'no'],
      ...(record.upstream === null ? [] : [['backend', record.upstream] as const]),
      ['key', record.keyName],
      ['group', record.groupName ?? 'none'],
      ['started', formatUtcOr('', record.createdAtMs)],
      ['ended', formatUtcOr('not yet', record.completedAtMs)],
      ['took', tookOf(record)],
      ['cancel asked for', formatUtcOr('no', record.cancelRequestedAtMs)],
      ['input tokens', usage === null ? 'not known' : formatCount(usage.input_tokens) + estimated],
      ['prompt cache', describeCache(record)],
      ['output tokens', usage === null ? 'not known' : formatCount(usage.output_tokens) + estimated],
      ['cost', record.costMicro === null ? 'none' : formatMoney(formatAmount(record.costMicro), currency)],
      ['incomplete', record.incompleteReason ?? 'no'],
      ['error', errorCode === null ? 'none' : `${errorCode}: ${messageInRecord(errorCode)}`],
    ],
    paint,
  );
}

function describeCache({ usage, usageEstimated, promptTurn: turn }: NamedRecord): string {
  if (usage === null || usageEstimated) return 'not known';
  const cached = `${formatCount(usage.input_tokens_details.cached_tokens)} tokens`;
  if (turn === null) return cached;
  return `${cached}, ${turn.turn} ${turn.turn === 'broken' ? `at ${turn.at} by the ${turn.by}` : 'turn'}`;
}

function toJsonWith(config: Config): (record: NamedRecord) => object {
  const baseUrl = toGatewayUrl(config);
  return (record) => ({
    ...toRecord(record, { baseUrl, exposesUpstream: true }),
    cost: record.costMicro === null ? null : formatAmount(record.costMicro),
    key: labelCaller(record.caller),
    group: record.groupId,
    key_name: record.keyName,
    group_name: record.groupName,
  });
}

const FIELDS: readonly Field<NamedRecord>[] = [
  { name: 'request_id', of: ({ requestId }) => requestId },
  ...fieldsNamed('status', 'endpoint', 'model'),
  { name: 'stream', of: ({ stream }) => String(stream) },
  { name: 'group', of: ({ groupName }) => groupName },
  { name: 'key', of: ({ keyName }) => keyName },
  { name: 'created_at', of: ({ createdAtMs }) => toTimestamp(createdAtMs) },
  { name: 'completed_at', of: ({ completedAtMs }) => toTimestamp(completedAtMs) },
  { name: 'duration_ms', of: ({ createdAtMs, completedAtMs }) => completedAtMs && completedAtMs - createdAtMs },
  { name: 'input_tokens', of: ({ usage }) => usage?.input_tokens ?? null },
  { name: 'cached_tokens', of: ({ usage }) => usage?.input_tokens_details.cached_tokens ?? null },
  { name: 'output_tokens', of: ({ usage }) => usage?.output_tokens ?? null },
  { name: 'turn', of: ({ promptTurn }) => promptTurn?.turn ?? null },
  { name: 'broken_at', of: ({ promptTurn: turn }) => (turn?.turn === 'broken' ? turn.at : null) },
  { name: 'broken_by', of: ({ promptTurn: turn }) => (turn?.turn === 'broken' ? turn.by : null) },
  { name: 'usage_estimated', of: ({ usageEstimated }) => String(usageEstimated) },
  { name: 'cost', of: ({ costMicro }) => (costMicro === null ? null : formatAmount(costMicro)) },
  { name: 'incomplete_reason', of: ({ incompleteReason }) => incompleteReason },
  { name: 'error_code', of: ({ errorCode }) => errorCode },
  { name: 'backend', of: ({ upstream }) => upstream },
];

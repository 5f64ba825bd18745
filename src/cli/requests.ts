import { setTimeout as delay } from 'node:timers/promises';
import { InvalidArgumentError, Option, type Command } from 'commander';
import { labelCaller } from '../accounts/usage.ts';
import type { Config } from '../config/config.ts';
import { formatAmount } from '../core/money/decimal.ts';
import { ERRORS, isErrorCode, type ErrorCode } from '../core/errors.ts';
import type { GroupId, RequestId } from '../contract/ids.ts';
import { parseGroupId, parseRequestId } from '../core/ids.ts';
import { toRecord } from '../requests/show-record.ts';
import {
  MOST_CALLERS,
  type OperatorPage,
  type OperatorQuery,
  type OwnedRecord,
  type RecordStatus,
} from '../store/store.ts';
import { CliError, type CliContext } from './context.ts';
import { withStore, type OpenStore } from './database.ts';
import { formatCount, formatMoment, formatMomentOr, formatSpan } from './format.ts';
import { toGatewayUrl } from './snippets.ts';
import { addExamples } from './help.ts';
import { parseDuration, parseMoment, wholeNumber } from './options.ts';
import { createPrinter, type Paint, type Style } from './printer.ts';
import { formatFields, formatTable, type Column } from './table.ts';

const CLEAR_SCREEN = '\u{1b}[H\u{1b}[J';

interface ListOptions {
  readonly limit: number;
  readonly after?: RequestId;
  readonly status?: RecordStatus;
  readonly model?: string;
  readonly error?: ErrorCode;
  readonly key?: string;
  readonly group?: string;
  readonly from?: number;
  readonly until?: number;
}

interface WatchOptions extends ListOptions {
  readonly every: number;
}

/** Adds `requests`, which shows the records of all callers. */
export function addRequests(program: Command, context: CliContext): void {
  const requests = program.command('requests').description('look at the requests of all callers, and cancel them');
  addList(requests, context);
  addShow(requests, context);
  addCancel(requests, context);
  addWatch(requests, context);
}

function addFilters(command: Command): Command {
  return command
    .addOption(new Option('--status <status>').choices(['processing', 'succeeded', 'failed', 'cancelled']))
    .option('--model <model>', 'only requests for this model, as the caller named it')
    .option('--error <code>', 'only requests that ended with this error, as the column ERROR shows it', toErrorCode)
    .option('--key <key>', 'only requests of this caller: the name of a key, or what the column KEY shows')
    .option('--group <group>', 'only requests of this group, by id or name')
    .option('--from <time>', 'only requests that arrived at this time or later', parseMoment)
    .option('--until <time>', 'only requests that arrived before this time', parseMoment)
    .option('--limit <n>', 'how many, up to 100', wholeNumber(1, 100), 20);
}

function addList(requests: Command, context: CliContext): void {
  const list = addFilters(requests.command('list'))
    .description('list requests, newest first')
    .option('--after <id>', 'continue after this request', toId)
    .action((options: ListOptions, command: Command) =>
      withStore(context, async ({ store, config }) => {
        const page = await listPage(store, options);
        const value = {
          object: 'list',
          data: page.records.map(toJson(config)),
          has_more: page.hasMore,
          last_id: page.lastId,
        };
        createPrinter(context, command).show(value, (paint) => {
          const more = page.hasMore ? [`More: --after ${page.lastId}`] : [];
          return [...tableOf(page.records, paint), ...more];
        });
      }),
    );
  addExamples(list, [
    ['requests list --status failed', 'what went wrong lately'],
    ['requests list --group research --status failed', 'of all keys of a group'],
    ['requests list --key alice --model llama-3.3-70b', 'of one key, for one model'],
    ['requests list --error upstream_timeout --from 2026-11-01', 'of one error, since a day'],
  ]);
}

function addShow(requests: Command, context: CliContext): void {
  const show = requests
    .command('show')
    .description('show one request')
    .argument('<id>', 'req_… or resp_…', toId)
    .action((id: RequestId, _options: unknown, command: Command) =>
      withStore(context, async ({ store, config }) => {
        const record = await store.findAny(id);
        if (record === undefined) throw unknownRequest(id);
        createPrinter(context, command).show(toJson(config)(record), (paint) => describe(record, paint));
      }),
    );
  addExamples(show, [['requests show req_…', 'the id is the x-request-id of the reply']]);
}

function addCancel(requests: Command, context: CliContext): void {
  const cancel = requests
    .command('cancel')
    .description('mark a running request as cancelled')
    .argument('<id>', 'req_… or resp_…', toId)
    .action((id: RequestId, _options: unknown, command: Command) =>
      withStore(context, async ({ store, config }) => {
        const asked = await store.requestCancelOfAny(id);
        const record = asked && (await store.findAny(id));
        if (record === undefined) throw unknownRequest(id);
        const printer = createPrinter(context, command);
        printer.show(toJson(config)(record), (paint) => describe(record, paint));
        printer.note(asked?.kind === 'asked' ? CANCEL_ASKED : 'It had ended before, and stays as it is.');
      }),
    );
  cancel.addHelpText('after', `\n${CANCEL_ASKED}`);
  addExamples(cancel, [['requests cancel req_…', 'its record ends cancelled']]);
}

const CANCEL_ASKED =
  'The record ends cancelled. The gateway which runs the request hears of it within a second, and stops its call to the backend.';

function addWatch(requests: Command, context: CliContext): void {
  const watch = addFilters(requests.command('watch'))
    .description('show the newest requests as they come and end, until Ctrl-C')
    .addOption(
      new Option('--every <duration>', 'how often to look').argParser(parseDuration(3_600_000)).default(1000, '1s'),
    )
    .action((options: WatchOptions, command: Command) =>
      withStore(context, async ({ store, config }) => {
        const printer = createPrinter(context, command);
        const signal = context.interruption();
        const print =
          context.stdout.isTTY === true && !printer.isJson
            ? redraw(context, (records) => printer.show(undefined, (paint) => tableOf(records, paint)))
            : printChanges(context, printer.isJson ? (record) => JSON.stringify(toJson(config)(record)) : toLine);
        while (!signal.aborted) {
          print(await listNewest(store, options));
          await delay(options.every, undefined, { signal }).catch(() => undefined);
        }
      }),
    );
  addExamples(watch, [
    ['requests watch', 'like top, for requests'],
    ['requests watch --status failed --json', 'a line of JSON for each failure'],
  ]);
}

async function listNewest(store: OpenStore, options: ListOptions): Promise<readonly OwnedRecord[]> {
  return (await listPage(store, options)).records;
}

async function listPage(store: OpenStore, options: ListOptions): Promise<OperatorPage> {
  const page = await store.listAll({
    ...toQuery(options),
    ...(options.key !== undefined && { callerPrefix: await findCaller(store, options.key) }),
    ...(options.group !== undefined && { groupId: await findGroup(store, options.group) }),
  });
  if (page !== undefined) return page;
  throw new CliError(
    `More than ${MOST_CALLERS} callers begin with ${options.key}; give more of the one that you mean.`,
  );
}

async function findCaller(store: OpenStore, text: string): Promise<string> {
  const page = await store.listKeys({ limit: 2, name: text });
  const [key, ...others] = page?.keys ?? [];
  if (others.length > 0) throw new CliError('There are several such keys; name one by its id.');
  return key?.keyId ?? text;
}

async function findGroup(store: OpenStore, text: string): Promise<GroupId> {
  const groupId = parseGroupId(text);
  if (groupId !== undefined) return groupId;
  const page = await store.listGroups({ limit: 1, name: text });
  const [group] = page?.groups ?? [];
  if (group === undefined) throw new CliError('There is no group with this id or name.');
  return group.groupId;
}

type PrintRecords = (records: readonly OwnedRecord[]) => void;

function redraw({ stdout }: CliContext, show: PrintRecords): PrintRecords {
  return (records) => {
    stdout.write(CLEAR_SCREEN);
    show(records);
  };
}

function printChanges({ stdout }: CliContext, toText: (record: OwnedRecord) => string): PrintRecords {
  let before = new Map<RequestId, string>();
  return (records) => {
    const lines = new Map(records.map((record) => [record.requestId, toText(record)]));
    for (const [id, line] of [...lines].toReversed()) if (before.get(id) !== line) stdout.write(`${line}\n`);
    before = lines;
  };
}

function toLine(record: OwnedRecord): string {
  return [...COLUMNS, BACKEND]
    .map(({ of }) => of(record))
    .filter((text) => text !== '')
    .join('  ');
}

function toQuery({ limit, after, status, model, error, from, until }: ListOptions): OperatorQuery {
  return {
    limit,
    ...(after !== undefined && { after }),
    ...(status !== undefined && { status }),
    ...(model !== undefined && { model }),
    ...(error !== undefined && { errorCode: error }),
    ...(from !== undefined && { fromMs: from }),
    ...(until !== undefined && { untilMs: until }),
  };
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

function unknownRequest(id: RequestId): CliError {
  return new CliError(`There is no request ${id}.`);
}

const STATUS_STYLES: Readonly<Record<RecordStatus, Style>> = {
  processing: 'cyan',
  succeeded: 'green',
  failed: 'red',
  cancelled: 'yellow',
};

const COLUMNS: readonly Column<OwnedRecord>[] = [
  { title: 'STARTED (UTC)', of: ({ createdAtMs }) => formatMoment(createdAtMs) },
  { title: 'ID', of: ({ requestId }) => requestId },
  { title: 'STATUS', of: ({ status }) => status, style: ({ status }) => STATUS_STYLES[status] },
  { title: 'MODEL', of: ({ model }) => model },
  { title: 'KEY', of: ({ caller }) => labelCaller(caller) },
  { title: 'TOOK', of: tookOf, align: 'right' },
  { title: 'IN', of: ({ usage }) => (usage === null ? '' : formatCount(usage.input_tokens)), align: 'right' },
  { title: 'OUT', of: ({ usage }) => (usage === null ? '' : formatCount(usage.output_tokens)), align: 'right' },
  { title: 'COST', of: ({ costMicro }) => (costMicro === null ? '' : formatAmount(costMicro)), align: 'right' },
  { title: 'ERROR', of: ({ errorCode }) => errorCode ?? '' },
];

const BACKEND: Column<OwnedRecord> = { title: 'BACKEND', of: ({ upstream }) => upstream ?? '' };

function tableOf(records: readonly OwnedRecord[], paint: Paint): string[] {
  const hasNames = records.some(({ upstream }) => upstream !== null);
  return formatTable(hasNames ? [...COLUMNS, BACKEND] : COLUMNS, records, paint);
}

function tookOf({ createdAtMs, completedAtMs }: OwnedRecord): string {
  return completedAtMs === null ? '' : formatSpan(completedAtMs - createdAtMs);
}

function describe(record: OwnedRecord, paint: Paint): string[] {
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
      ['key', labelCaller(record.caller)],
      ['group', record.groupId ?? 'none'],
      ['started', `${formatMoment(record.createdAtMs)} UTC`],
      ['ended', formatMomentOr('not yet', record.completedAtMs)],
      ['took', tookOf(record)],
      ['cancel asked for', formatMomentOr('no', record.cancelRequestedAtMs)],
      ['input tokens', usage === null ? 'not known' : formatCount(usage.input_tokens) + estimated],
      ['output tokens', usage === null ? 'not known' : formatCount(usage.output_tokens) + estimated],
      ['cost', record.costMicro === null ? 'none' : formatAmount(record.costMicro)],
      ['incomplete', record.incompleteReason ?? 'no'],
      ['error', errorCode === null ? 'none' : `${errorCode}: ${ERRORS[errorCode].message}`],
    ],
    paint,
  );
}

function toJson(config: Config): (record: OwnedRecord) => object {
  const baseUrl = toGatewayUrl(config);
  return (record) => ({
    ...toRecord(record, { baseUrl, exposeUpstream: true }),
    key: labelCaller(record.caller),
    group: record.groupId,
  });
}

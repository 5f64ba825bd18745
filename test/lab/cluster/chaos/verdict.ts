import { checkServer } from '../../../../src/store/postgres/check.ts';
import { expectServerBooksToAddUp } from '../../../support/books.ts';
import type { Attempt } from './attempts.ts';
import type { Account, Diary } from './customer.ts';
import { findMisplaced, findUnordered } from './linear.ts';
import {
  findBrokenFinals,
  findExceededLimits,
  readDays,
  readLedger,
  readRecords,
  type DayRow,
  type RecordRow,
} from './witness.ts';

/** What a run leaves behind. */
export interface Evidence {
  readonly databaseUrl: string;
  readonly diary: Diary;
  readonly accounts: readonly Account[];
  /** What the backend was asked for again. */
  readonly repeated: readonly string[];
  /** What was found while the run went on. */
  readonly failures: readonly string[];
  /** What the gateways have written to stderr, and the lines of their logs. */
  readonly stderr: string;
  readonly log: readonly string[];
}

export interface Verdict {
  /** A line for each promise that was broken, with an example. */
  readonly broken: readonly string[];
  readonly records: ReadonlyMap<string, RecordRow>;
}

/** Looks whether every promise was kept, once nothing runs any more. */
export async function judge(evidence: Evidence): Promise<Verdict> {
  const { databaseUrl, diary } = evidence;
  const records = await readRecords(databaseUrl);
  const broken: string[] = [];
  const expectNone = (promise: string, found: readonly string[]): void => {
    if (found.length > 0) broken.push(`${promise}: broken ${found.length} times, first: ${found[0]}`);
  };
  const rows = [...records.values()];
  const told = diary.attempts.map((made) => ({ made, row: records.get(made.requestId ?? '') }));

  expectNone('replies are those of the contract', [
    ...evidence.failures,
    ...diary.attempts.filter(({ end }) => end.kind === 'malformed').map(show),
  ]);
  expectNone('a final record never changes', await findBrokenFinals(databaseUrl));
  expectNone(
    'nothing is unfinished in the end',
    rows.filter(({ status }) => status === 'processing').map(({ requestId }) => requestId),
  );
  expectNone('one call to the backend for one idempotency key', evidence.repeated);
  expectNone('one record for one idempotency key', findRivals(diary.attempts, records));
  expectNone(
    'every acknowledged request is known',
    told.filter(({ made, row }) => isAcknowledged(made) && row === undefined).map(({ made }) => show(made)),
  );
  expectNone(
    'a request with a 202 for its cancel is cancelled',
    [...diary.cancels.keys()].filter((requestId) => records.get(requestId)?.status !== 'cancelled'),
  );
  expectNone('what a client saw as final stays', findChanged(diary, records));
  expectNone(
    'what clients were told agrees with the record',
    told
      .filter(({ made, row }) => disagrees(made, row))
      .map(({ made, row }) => `${show(made)}, but the record is ${JSON.stringify(row)}`),
  );
  expectNone('the attempts with one idempotency key have an order', findUnordered(diary.attempts, records));
  const ledgers = Map.groupBy(await readLedger(databaseUrl), ({ accountId }) => accountId);
  expectNone(
    'the order of each ledger is one of its customers',
    [...ledgers.values()].flatMap((ledger) => findMisplaced(diary.attempts, records, ledger)),
  );
  expectNone('the books add up', await findWrongBooks(evidence));
  expectNone('no group has gone beyond its limits', await findExceededLimits(databaseUrl));
  const days = await readDays(databaseUrl);
  expectNone(
    'nothing is reserved beyond the limit of a day',
    days.filter(({ kind, usedMicro, limitMicro }) => kind === 'reserve' && usedMicro > limitMicro).map(showDay),
  );
  expectNone('a request is refused for the limit of a day only at the limit', findWrongRefusals(diary.attempts, days));
  expectNone('nothing unexpected in the logs', [
    ...evidence.log.filter((line) => /"level":60|internal_error/.test(line)),
    ...(evidence.stderr.trim() === '' ? [] : [evidence.stderr.slice(0, 500)]),
  ]);
  return { broken, records };
}

/** The reply named a record that the gateway has kept, and not one that it refused to make. */
function isAcknowledged({ requestId, end }: Attempt): boolean {
  if (requestId === undefined) return false;
  return end.kind !== 'error' || !isRefusal(end);
}

/** Which has no record: also when the body was not there in time, since the gateway was paused in the middle of it. */
function isRefusal({ status, code }: Extract<Attempt['end'], { kind: 'error' }>): boolean {
  return status === 408 || REFUSALS.has(code);
}

/** Errors that are ours, before there is a record (contract, section 6). */
const REFUSALS: ReadonlySet<string> = new Set([
  'insufficient_credits',
  'spend_limit_exceeded',
  'rate_limit_exceeded',
  'store_unavailable',
  'gateway_draining',
  'server_overloaded',
]);

function disagrees({ end }: Attempt, row: RecordRow | undefined): boolean {
  switch (end.kind) {
    case 'ended':
      return row?.status !== (end.how === 'completed' ? 'succeeded' : end.how);
    case 'error':
      if (end.code === 'duplicate_request') return false;
      if (isRefusal(end)) return row !== undefined;
      return row?.status !== (end.code === 'request_cancelled' ? 'cancelled' : 'failed');
    default:
      return false;
  }
}

/** Only groups have a limit per day. None may refuse before so much is spent and reserved that the next request can go beyond it. */
function findWrongRefusals(attempts: readonly Attempt[], days: readonly DayRow[]): readonly string[] {
  const largestMicro = Math.max(0, ...days.map(({ kind, amountMicro }) => (kind === 'reserve' ? -amountMicro : 0)));
  const full = days.filter(({ usedMicro, limitMicro }) => usedMicro + largestMicro > limitMicro);
  const firstMs = Math.min(Infinity, ...full.map(({ createdAtMs }) => createdAtMs));
  return attempts
    .filter(({ end, endMs }) => end.kind === 'error' && end.code === 'spend_limit_exceeded' && endMs < firstMs)
    .map(show);
}

function showDay({ name, createdAtMs, usedMicro, limitMicro }: DayRow): string {
  return `${name} at ${new Date(createdAtMs).toISOString()}: ${usedMicro} of ${limitMicro}`;
}

/** More than one record that keeps the same key. */
function findRivals(attempts: readonly Attempt[], records: ReadonlyMap<string, RecordRow>): readonly string[] {
  const kept = new Map<string, Set<string>>();
  for (const { plan, requestId = '' } of attempts) {
    if (records.get(requestId)?.isKept !== true) continue;
    const ids = kept.get(plan.name) ?? new Set();
    kept.set(plan.name, ids.add(requestId));
  }
  return [...kept].filter(([, ids]) => ids.size > 1).map(([name, ids]) => `${name}: ${[...ids].join(', ')}`);
}

function findChanged({ finals }: Diary, records: ReadonlyMap<string, RecordRow>): readonly string[] {
  return [...finals.values()]
    .filter(({ request_id: id, status, error }) => {
      const row = records.get(id);
      return row?.status !== status || row.errorCode !== (error?.code ?? null);
    })
    .map(({ request_id: id, status }) => `${id} was ${status} and is ${JSON.stringify(records.get(id))}`);
}

async function findWrongBooks({ databaseUrl, accounts }: Evidence): Promise<readonly string[]> {
  const { problems } = await checkServer(databaseUrl);
  const wrong = await Promise.all(
    accounts.map(async ({ id, paidMicro }) => {
      try {
        const { balanceMicro, spentMicro } = await expectServerBooksToAddUp(databaseUrl, id, true);
        if (balanceMicro + spentMicro === paidMicro) return [];
        return [`${id} has paid ${paidMicro}, spent ${spentMicro} and has ${balanceMicro}`];
      } catch (error) {
        return [`${id}: ${error instanceof Error ? error.message : 'unknown'}`];
      }
    }),
  );
  return [...problems, ...wrong.flat()];
}

function show({ plan, node, requestId, end, startMs, endMs }: Attempt): string {
  const ms = `${new Date(startMs).toISOString()} and ${endMs - startMs} ms`;
  return `${plan.name} (${plan.kind}, ${plan.ending}, ${plan.twist}) at ${node.name}, ${ms}, ${requestId}: ${JSON.stringify(end)}`;
}

import { DAY_MS } from '../../core/time.ts';
import type { RequestHandler } from 'express';
import { toLatencies, type Latencies } from '../../accounts/latencies.ts';
import { toUsageOfModel, USUAL_SPAN_MS } from '../../accounts/usage.ts';
import type { BackendPolicy } from '../../core/routes.ts';
import type { StopSignal } from '../../core/stop-signal.ts';
import { USAGE_KEPT_DAYS, type UsageQuery, type UsageRow } from '../../core/books/keys.ts';
import type { RequestStatsQuery } from '../../core/books/request-stats.ts';
import type { Store } from '../../core/books/store.ts';
import type { StatsObserver } from '../../telemetry/request-stats.ts';
import type { UsageList } from '../../contract/types.ts';
import { callerOf } from '../../access/authenticate.ts';
import { untilServed } from '../../wire/until-served.ts';
import { invalidQuery, readTime } from './query.ts';

const MAX_DAYS: Readonly<Record<UsageQuery['per'], number>> = {
  hour: 31,
  day: USAGE_KEPT_DAYS,
  month: USAGE_KEPT_DAYS,
};
/** A caller can name any number of models, and all of them can end up in the list. */
const MAX_ENTRIES = 10_000;

export interface ShowUsageOptions extends ListLatenciesOptions {
  readonly store: Pick<Store, 'listUsage' | 'listRequestStats'>;
  readonly nowMs: () => number;
}

export interface ShowOwnUsageOptions extends ShowUsageOptions {
  readonly policy: () => Pick<BackendPolicy, 'exposesUpstream'>;
}

/** Answers with what the caller's own requests used, by hour, day or month (UTC) and model. */
export function showUsage({ store, stats, nowMs, policy }: ShowOwnUsageOptions): RequestHandler {
  return async (req, res) => {
    const { identity } = callerOf(res);
    const span = readSpan(req.query, nowMs());
    const rows = await listUsage(store, { caller: identity, ...span }, untilServed(res));
    const { backends, ...latencies } = await listLatencies({ store, stats }, { of: identity, ...span });
    res.json({
      object: 'list',
      data: rows.map(toUsageOfModel),
      ...latencies,
      backends: policy().exposesUpstream ? backends : [],
    } satisfies UsageList);
  };
}

export interface ListLatenciesOptions {
  readonly store: Pick<Store, 'listRequestStats'>;
  readonly stats: StatsObserver;
}

/** Returns how long requests took, which were refused and what backends read, with all that this process has counted. */
export async function listLatencies(
  { store, stats }: ListLatenciesOptions,
  query: RequestStatsQuery,
): Promise<Latencies> {
  await stats.flush();
  return toLatencies(await store.listRequestStats(query));
}

/** Throws ApiError where the answer would be too long. */
export async function listUsage(
  store: Pick<Store, 'listUsage'>,
  query: UsageQuery,
  signal: StopSignal,
): Promise<readonly UsageRow[]> {
  const rows = await store.listUsage({ ...query, atMost: MAX_ENTRIES }, signal);
  if (rows.length <= MAX_ENTRIES) return rows;
  throw invalidQuery(
    'from',
    `The answer has more than ${MAX_ENTRIES} entries. Ask for less time, or for longer spans.`,
  );
}

/** Returns the span of time that the query asks for. Throws ApiError that names the wrong parameter. */
export function readSpan(
  query: Readonly<Record<string, unknown>>,
  nowMs: number,
): Pick<UsageQuery, 'per' | 'fromMs' | 'untilMs'> {
  const { per = 'day' } = query;
  if (per !== 'hour' && per !== 'day' && per !== 'month')
    throw invalidQuery('per', 'per must be one of hour, day, month.');
  const maxDays = MAX_DAYS[per];
  const untilMs = readTime('until', query['until']) ?? nowMs;
  const fromMs = readTime('from', query['from']) ?? untilMs - USUAL_SPAN_MS[per];
  if (fromMs >= untilMs) throw invalidQuery('from', 'from must be before until.');
  if (untilMs - fromMs > maxDays * DAY_MS) {
    throw invalidQuery('from', `from must be at most ${maxDays} days before until with per=${per}.`);
  }
  return { per, fromMs, untilMs };
}

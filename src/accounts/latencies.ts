import { cachedShareOf } from '../core/reply/usage.ts';
import type { UsageQuery } from '../core/books/keys.ts';
import {
  addCounts,
  describeCounts,
  type CountedRequests,
  type RequestStatsQuery,
  type RequestStatsRow,
  type RequestStatsStore,
  type TimePercentiles,
} from '../core/books/request-stats.ts';
import type { InputOfBackend, Latency, Percentiles, Rejection, UsageList } from '../contract/record-types.ts';

export type Latencies = Pick<UsageList, 'latencies' | 'rejected' | 'backends'>;

/** Returns whose statistics go with the usage that a query asks for. */
export function ofQuery({ caller, group }: Pick<UsageQuery, 'caller' | 'group'>): RequestStatsQuery['of'] {
  return caller ?? (group === undefined || group === 'any' ? 'all' : group);
}

/** Where statistics of requests are. */
export interface StatsSource {
  readonly store: Pick<RequestStatsStore, 'listRequestStats'>;
  /** Resolves when all that this process has counted is in the store. */
  readonly stats: { flush(): Promise<void> };
}

/** Returns how long requests took, which were refused and what backends read, with all that this process has counted. */
export async function listLatencies({ store, stats }: StatsSource, query: RequestStatsQuery): Promise<Latencies> {
  await stats.flush();
  return toLatencies(await store.listRequestStats(query));
}

/** Returns what the statistics of a time say, in all and by each part of it, of all models and of each. */
export function toLatencies(rows: readonly RequestStatsRow[]): Latencies {
  const cells = new Map<string, Cell>();
  const parts = [...rows].sort((one, other) => one.startMs - other.startMs || (one.model < other.model ? -1 : 1));
  for (const { startMs, model, counts } of parts) {
    const start = startMs / 1000;
    for (const [cellStart, cellModel] of [
      [null, null],
      [null, model],
      [start, null],
      [start, model],
    ] as const) {
      const key = JSON.stringify([cellStart, cellModel]);
      const cell = cells.get(key) ?? { start: cellStart, model: cellModel, counts: new Map<string, number>() };
      cells.set(key, cell);
      addCounts(cell.counts, counts);
    }
  }
  const described = [...cells.values()].map((cell) => ({ ...cell, ...describeCounts(cell.counts) }));
  return {
    latencies: described.flatMap(toLatency),
    rejected: described.flatMap(toRejections),
    backends: described.flatMap(toInputs),
  };
}

interface Cell {
  readonly start: number | null;
  /** Null for all, and empty where it is not known. */
  readonly model: string | null;
  readonly counts: Map<string, number>;
}

function toLatency({ start, model, firstToken, duration }: Cell & CountedRequests): readonly Latency[] {
  if (firstToken === null && duration === null) return [];
  return [{ start, model, first_token: toPercentiles(firstToken), duration: toPercentiles(duration) }];
}

function toPercentiles(times: TimePercentiles | null): Percentiles | null {
  return times && { count: times.count, p50_ms: times.p50Ms, p95_ms: times.p95Ms };
}

function toRejections({ start, model, rejected }: Cell & CountedRequests): readonly Rejection[] {
  if (start === null || model === null) return [];
  return rejected.map(({ code, count }) => ({ start, model: model === '' ? null : model, code, count }));
}

function toInputs({ start, model, backends }: Cell & CountedRequests): readonly InputOfBackend[] {
  if (start === null || model === null) return [];
  return backends.map(({ backend, input, cached, reachable, moved, saved }) => ({
    start,
    model: model === '' ? null : model,
    backend,
    input_tokens: input,
    cached_tokens: cached,
    cached_share: cachedShareOf(cached, input),
    reachable_tokens: reachable,
    moved_turns: moved,
    saved,
  }));
}

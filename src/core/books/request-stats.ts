/** Times of requests in logarithmic buckets, refusals by code and the input of backends, which add up whoever counted them. */

import type { GroupId } from '../../contract/ids.ts';
import type { Identity } from '../ids.ts';
import type { UsageSpan } from './keys.ts';

/** How long requests of callers, of groups and of all took, and which were refused. */
export interface RequestStatsStore {
  /** Adds to what other processes have counted. What is not written after an error is lost. */
  addRequestStats(stats: readonly RequestStats[]): Promise<void>;
  /** Returns all hours, days or months (UTC) that begin in this time or include its beginning. */
  listRequestStats(query: RequestStatsQuery): Promise<readonly RequestStatsRow[]>;
}

/** What one process has counted of a caller and a model in an hour. */
export interface RequestStats {
  readonly caller: string;
  readonly groupId: GroupId | null;
  /** Empty for requests that were refused before their model was known to be one. */
  readonly model: string;
  /** UTC, counted from 1970. */
  readonly hour: number;
  readonly counts: RequestCounts;
}

export interface RequestStatsQuery extends UsageSpan {
  readonly of: Identity | GroupId | 'all';
}

export interface RequestStatsRow {
  readonly startMs: number;
  readonly model: string;
  readonly counts: RequestCounts;
}

/**
 * How many requests: by the bucket of a time such as `duration:57`, and of refusals such as `rejected:forbidden`. And how many
 * tokens of the input: of a backend such as `input:gpu-a`.
 */
export type RequestCounts = Readonly<Record<string, number>>;

export type Timed = 'first_token' | 'duration';

export interface TimePercentiles {
  /** How many times were measured. */
  readonly count: number;
  readonly p50Ms: number;
  readonly p95Ms: number;
}

/** In tokens, but for the turns and what was saved. */
export interface BackendInput {
  readonly input: number;
  /** From the backend's prefix cache. */
  readonly cached: number;
  /** Some backend had read it in the turn before, with the same words before it. */
  readonly reachable: number;
  /** Turns whose prefix another backend had read. */
  readonly moved: number;
  /** What the cached tokens would have cost beyond their price, in millionths of the currency. */
  readonly saved: number;
}

export interface CountedRequests {
  readonly firstToken: TimePercentiles | null;
  readonly duration: TimePercentiles | null;
  /** What was refused most comes first. */
  readonly rejected: readonly { readonly code: string; readonly count: number }[];
  readonly backends: readonly (BackendInput & { readonly backend: string })[];
}

/** Each bucket is so much wider than the one before it. Its middle is at most 5 % from any time in it. */
const WIDTH = 1.1;
const LOG_WIDTH = Math.log(WIDTH);

/** Returns the name under which a time counts. Times below a millisecond count as one. */
export function nameOfTime(timed: Timed, ms: number): string {
  return `${timed}:${Math.floor(Math.log(Math.max(1, ms)) / LOG_WIDTH)}`;
}

/** Returns the name under which a refusal counts. */
export function nameOfRejection(code: string): string {
  return `rejected:${code}`;
}

/** Returns the name under which the input of a backend counts. */
export function nameOfInput(kind: keyof BackendInput, backend: string): string {
  return `${kind}:${backend}`;
}

/** Adds counts to others. */
export function addCounts(sums: Map<string, number>, counts: RequestCounts): void {
  for (const [name, count] of Object.entries(counts)) sums.set(name, (sums.get(name) ?? 0) + count);
}

/** Returns what counts say. Percentiles are the middles of their buckets, by nearest rank. */
export function describeCounts(sums: ReadonlyMap<string, number>): CountedRequests {
  const rejected = [...sums]
    .flatMap(([name, count]) => {
      const [kind, code] = name.split(':');
      return kind === 'rejected' && code !== undefined ? [{ code, count }] : [];
    })
    .sort((one, other) => other.count - one.count || (one.code < other.code ? -1 : 1));
  return {
    firstToken: percentilesOf(sums, 'first_token'),
    duration: percentilesOf(sums, 'duration'),
    rejected,
    backends: backendsIn(sums),
  };
}

function backendsIn(sums: ReadonlyMap<string, number>): CountedRequests['backends'] {
  return [...sums.keys()].sort().flatMap((name) => {
    const [kind, backend] = name.split(':');
    if (kind !== 'input' || backend === undefined) return [];
    const of = (what: keyof BackendInput) => sums.get(nameOfInput(what, backend)) ?? 0;
    const counts = { input: of('input'), cached: of('cached'), reachable: of('reachable'), moved: of('moved') };
    return [{ backend, ...counts, saved: of('saved') }];
  });
}

function percentilesOf(sums: ReadonlyMap<string, number>, timed: Timed): TimePercentiles | null {
  const buckets = [...sums]
    .flatMap(([name, count]) => {
      const [kind, bucket] = name.split(':');
      return kind === timed ? [{ bucket: Number(bucket), count }] : [];
    })
    .sort((one, other) => one.bucket - other.bucket);
  const count = buckets.reduce((sum, each) => sum + each.count, 0);
  if (count === 0) return null;

  function msAt(share: number): number {
    let below = 0;
    const found = buckets.find((each) => (below += each.count) >= share * count);
    return Math.round(WIDTH ** ((found?.bucket ?? 0) + 0.5));
  }

  return { count, p50Ms: msAt(0.5), p95Ms: msAt(0.95) };
}

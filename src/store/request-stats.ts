import type { GroupId } from '../contract/ids.ts';
import type { RequestCounts } from '../core/request-stats.ts';
import type { Identity } from '../core/ids.ts';
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

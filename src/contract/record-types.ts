// Made from schemas/*.json by `npm run types`. Not to be edited.

import type { PriceTier, ErrorReply, RequestRecord } from './types.ts';

/**
 * The headers that the reply would have over HTTP, such as x-request-id and retry-after.
 */
export type Headers = Readonly<Record<string, string>>;
/**
 * Null when the key has no such limit.
 */
export type OwnLimit = {
  limit: number;
  remaining: number;
  resets_at: number;
} | null;
/**
 * The replies about request records, apart from a single record.
 */
export type RequestReplies = RequestsFound | DuplicateReply | AdminRequestList;
export type RequestsFound = RequestList | RequestRecord;
/**
 * The record of the first request, with the error that a client reads.
 */
export type DuplicateReply = RequestRecord & ErrorReply;
/**
 * The record of a request as the operator sees it.
 */
export type AdminRequest = RequestRecord & {
  /**
   * The id of the key. For keys that the gateway did not issue, a value that distinguishes callers.
   */
  key: string;
  /**
   * The id of the group that the key belonged to when the request was accepted; null for none.
   */
  group: string | null;
};
/**
 * How long answered requests took, by hour, day or month and model, oldest first. The hours, days and months count as a whole.
 */
export type Latencies = Latency[];
/**
 * The requests that never reached the backend, and so have no record, by hour, day or month, model and error code, oldest first.
 */
export type Rejections = Rejection[];
/**
 * What the prefix caches of the backends of BACKENDS_FILE served, by hour, day or month, model and backend, oldest first. Callers see it only where that file has expose_upstream; empty where UPSTREAM_BASE_URL names the only backend.
 */
export type InputOfBackends = InputOfBackend[];

/**
 * The caller's own key, as GET /api/v1/key shows it with AUTH_MODE=managed. Amounts of money are millionths of the currency unit, times Unix time in seconds; days, weeks and months are those of the time zone in PRICES_FILE, UTC by default.
 */
export interface OwnKey {
  object: 'key';
  id: string;
  name: string;
  /**
   * The first characters of the key.
   */
  prefix: string;
  created_at: number;
  expires_at: number | null;
  /**
   * The models that the key may use, by name or by a pattern with `*`; null when it may use all.
   */
  models: string[] | null;
  /**
   * The group of the key, whose funds and limits hold for all its keys together; null for none.
   */
  group: OwnGroup | null;
  /**
   * The whole gateway, whose limits hold for all keys together; null when it has none.
   */
  gateway: OwnGroup | null;
  /**
   * The prices in force of the models that the key may use, by name or by a pattern with `*`, in the currency unit per million tokens.
   */
  prices: OwnPrice[];
  /**
   * Null when no prices apply.
   */
  currency: string | null;
  /**
   * The credits that can still be spent, without reservations; null when the key is not prepaid.
   */
  balance: number | null;
  /**
   * Reserved for running requests. The unused part is returned.
   */
  held: number;
  rate_limits: {
    requests_per_minute: OwnLimit;
    tokens_per_minute: OwnLimit;
  };
  /**
   * Reservations count as spent.
   */
  spend_limits: {
    per_day: OwnLimit;
    per_week: OwnLimit;
    per_month: OwnLimit;
  };
  spent: {
    today: number;
    this_week: number;
    this_month: number;
  };
  /**
   * The usage of requests that have ended.
   */
  usage: {
    today: OwnUsage;
    this_month: OwnUsage;
  };
}
export interface OwnGroup {
  id: string;
  name: string;
  expires_at: number | null;
  models: string[] | null;
  /**
   * In millionths of the currency unit; null when the group has no credits of its own.
   */
  balance: number | null;
  /**
   * What running requests have reserved of the balance, in millionths of the currency unit.
   */
  held: number;
  rate_limits: {
    requests_per_minute: OwnLimit;
    tokens_per_minute: OwnLimit;
  };
  /**
   * In millionths of the currency unit, for each day, week and month.
   */
  spend_limits: {
    per_day: OwnLimit;
    per_week: OwnLimit;
    per_month: OwnLimit;
  };
  spent: {
    today: number;
    this_week: number;
    this_month: number;
  };
}
export interface OwnPrice {
  model: string;
  input: string;
  /**
   * For a million tokens of the input that were read from the cache of the backend.
   */
  cached_input: string;
  /**
   * For a million tokens of the input that were written to the cache of the backend.
   */
  cache_write: string;
  /**
   * For a million tokens of the input that are audio, where they cost something else.
   */
  audio_input?: string;
  /**
   * For a million tokens of audio that were read from the cache of the backend, where they cost something else than other audio.
   */
  cached_audio_input?: string;
  output: string;
  /**
   * For a million tokens of the output that are audio, where they cost something else.
   */
  audio_output?: string;
  /**
   * The prices of service tiers and of long requests, where they differ.
   */
  tiers?: PriceTier[];
}
export interface OwnUsage {
  requests: number;
  failed: number;
  cancelled: number;
  input_tokens: number;
  /**
   * Part of the input tokens.
   */
  cached_tokens: number;
  /**
   * Part of the input tokens, and none of the cached ones.
   */
  cache_write_tokens: number;
  output_tokens: number;
  /**
   * Part of the output tokens.
   */
  reasoning_tokens: number;
}
/**
 * The caller's own records, newest first.
 */
export interface RequestList {
  object: 'list';
  data: RequestRecord[];
  first_id: string | null;
  /**
   * The value of `after` for the next page. It may be the id of a record that is not in this page.
   */
  last_id: string | null;
  has_more: boolean;
}
/**
 * The records of all callers, newest first.
 */
export interface AdminRequestList {
  object: 'list';
  data: AdminRequest[];
  /**
   * The value of `after` for the next page. It may be the id of a record that is not in this page.
   */
  last_id: string | null;
  has_more: boolean;
}
/**
 * The usage of a caller's requests, as GET /api/v1/usage shows it: one entry per span of UTC time and model in which requests ended, oldest first.
 */
export interface UsageList {
  object: 'list';
  data: UsageOfModel[];
  latencies: Latencies;
  rejected: Rejections;
  backends: InputOfBackends;
}
/**
 * The requests to one model that ended in one hour, day or month.
 */
export interface UsageOfModel {
  /**
   * The beginning of the hour, day or month, as Unix time in seconds. The first and the last one are cut to the requested range.
   */
  start: number;
  /**
   * `(others)` for all models together that a caller names beyond 250 in an hour.
   */
  model: string;
  /**
   * All requests that ended, whatever their outcome.
   */
  requests: number;
  failed: number;
  cancelled: number;
  input_tokens: number;
  /**
   * Part of the input tokens.
   */
  cached_tokens: number;
  /**
   * Part of the input tokens, and none of the cached ones.
   */
  cache_write_tokens: number;
  /**
   * The part of the input tokens that the cached ones are, from 0 to 1.
   */
  cached_share: number;
  output_tokens: number;
  /**
   * Part of the output tokens.
   */
  reasoning_tokens: number;
  /**
   * In millionths of the currency unit; 0 when no prices apply.
   */
  cost: number;
  /**
   * What the cached tokens would have cost beyond their price, in millionths of the currency unit.
   */
  saved: number;
  /**
   * The total time of these requests, from acceptance to the end.
   */
  duration_ms: number;
}
export interface Latency {
  /**
   * The beginning of the hour, day or month in which the requests ended, as Unix time in seconds; null for all of the time together.
   */
  start: number | null;
  /**
   * Null for all models together.
   */
  model: string | null;
  /**
   * From the head of a streaming request to the first output of the backend; null where there was none.
   */
  first_token: Percentiles | null;
  /**
   * From the head of a request to the end of its reply.
   */
  duration: Percentiles | null;
}
export interface Percentiles {
  /**
   * Of how many requests.
   */
  count: number;
  /**
   * Half of the requests took no longer. It is at most 5 % off, as is the other one.
   */
  p50_ms: number;
  /**
   * 19 of 20 requests took no longer.
   */
  p95_ms: number;
}
export interface Rejection {
  /**
   * The beginning of the hour, day or month, as Unix time in seconds.
   */
  start: number;
  /**
   * Null if the request was refused before its model was known, or names one that has not answered.
   */
  model: string | null;
  /**
   * The code of the error.
   */
  code: string;
  /**
   * How many requests were refused with it.
   */
  count: number;
}
export interface InputOfBackend {
  /**
   * The beginning of the hour, day or month, as Unix time in seconds.
   */
  start: number;
  /**
   * Null for models beyond the first thousand of a process.
   */
  model: string | null;
  /**
   * Its name in BACKENDS_FILE.
   */
  backend: string;
  /**
   * As the backend reported them.
   */
  input_tokens: number;
  /**
   * Part of the input tokens.
   */
  cached_tokens: number;
  /**
   * The part of the input tokens that the cached ones are, from 0 to 1.
   */
  cached_share: number;
  /**
   * Part of the input tokens: some backend had read them in the turn before, with the same words before them. Keeping each conversation at its backend could reach so many.
   */
  reachable_tokens: number;
  /**
   * Turns that this backend answered although another one had read the turn before.
   */
  moved_turns: number;
  /**
   * What the cached tokens would have cost beyond their price, in millionths of the currency unit. What an older version of the gateway has served is not in it.
   */
  saved: number;
}
/**
 * The frame that answers a repeated request where DUPLICATE_STATUS is 200 or 202.
 */
export interface WebSocketDuplicate {
  type: 'duplicate';
  /**
   * The HTTP status.
   */
  status: number;
  headers: Headers;
  request: RequestRecord;
}

import type { RequestHandler } from 'express';
import { listLatencies, ofQuery, type StatsSource } from '../accounts/latencies.ts';
import { labelCaller, listUsage, toUsageOfKey } from '../accounts/usage.ts';
import type { KeyUsageList, UsageCurve, UsageTotal as WireTotal, UsageTotalList } from '../contract/operator-types.ts';
import type { UsageQuery, UsageTotal, UsageTotalsQuery } from '../core/books/keys.ts';
import type { Store } from '../core/books/store.ts';
import { isGroupId } from '../core/ids.ts';
import { cachedShareOf } from '../core/reply/usage.ts';
import { invalidQuery, readSpan, readText } from '../wire/query.ts';
import { untilServed } from '../wire/until-served.ts';
import type { Administration } from './administration.ts';

export interface OperatorUsageOptions extends StatsSource {
  readonly store: Store;
  readonly nowMs: () => number;
}

/**
 * `GET /admin/v1/usage`: the same of all callers, of the key `key`, of the group `group`, or with
 * `group=*` of all groups, by group.
 */
export function showUsageOfAll(
  { store, stats, nowMs }: OperatorUsageOptions,
  administration: Administration,
): RequestHandler {
  return async (req, res) => {
    const [key, group] = [readText('key', req.query), readText('group', req.query)];
    if (key !== undefined && group !== undefined) throw invalidQuery('group', 'Send key or group, and not both.');
    const span = readSpan(req.query, nowMs());
    const query: UsageQuery = {
      ...span,
      ...(key !== undefined && { caller: [await administration.keys.find(key)] }),
      ...(group !== undefined && { group: group === '*' ? 'any' : await administration.groups.find(group) }),
    };
    const rows = await listUsage(store, query, untilServed(res));
    const latencies = await listLatencies({ store, stats }, { ...span, of: ofQuery(query) });
    res.json({ object: 'list', data: rows.map(toUsageOfKey), ...latencies } satisfies KeyUsageList);
  };
}

type By = UsageTotalList['by'];

const MOST_TOTALS = 100;
/** A chart with more colors would be hard to read. */
const MOST_CURVES = 5;

/**
 * `GET /admin/v1/usage/totals`: what all requests of a time used by key, group, model or time. The
 * answer is short however many keys there are.
 */
export function showUsageTotals(
  { store, stats, nowMs }: OperatorUsageOptions,
  administration: Administration,
): RequestHandler {
  return async (req, res) => {
    const by = readBy(readText('by', req.query) ?? 'model');
    const [key, group] = [readText('key', req.query), readText('group', req.query)];
    if (key !== undefined && (group !== undefined || by === 'group')) {
      throw invalidQuery('key', 'key goes with neither group nor by=group.');
    }
    const span = readSpan(req.query, nowMs());
    const whose: Pick<UsageTotalsQuery, 'caller' | 'group'> = {
      ...(key !== undefined && { caller: [await administration.keys.find(key)] }),
      ...(group !== undefined && { group: await administration.groups.find(group) }),
    };
    const query = { ...span, ...whose, limit: MOST_TOTALS };
    const { total, totals, hasMore } = await store.listUsageTotals({ by, ...query }, untilServed(res));
    const nameOf = (name: string) => (by === 'key' ? labelCaller(name) : name);
    const readCurve = async (name: string | null, of: Partial<UsageTotalsQuery>): Promise<UsageCurve> => {
      const found = await store.listUsageTotals({ ...query, ...of, by: 'time' }, untilServed(res));
      return toCurve(name && nameOf(name), found.totals);
    };
    const readCurves = () => {
      const ofTop = totals.slice(0, MOST_CURVES).map(({ name }) => readCurve(name, toFilter(by, name)));
      return Promise.all([readCurve(null, {}), ...ofTop]);
    };
    // By time, the totals are the points of the one curve.
    const curves = by === 'time' ? [toCurve(null, totals)] : await readCurves();
    const latencies = await listLatencies({ store, stats }, { ...span, of: ofQuery(whose) });
    res.json({
      object: 'list',
      by,
      total: toWire(total, ''),
      data: totals.map((each) => toWire(each, nameOf(each.name))),
      has_more: hasMore,
      curves,
      ...latencies,
    } satisfies UsageTotalList);
  };
}

function readBy(text: string): By {
  if (text === 'key' || text === 'group' || text === 'model' || text === 'time') return text;
  throw invalidQuery('by', 'by must be one of key, group, model, time.');
}

function toFilter(by: By, name: string): Partial<UsageTotalsQuery> {
  return {
    ...(by === 'key' && { caller: [name] }),
    ...(by === 'group' && isGroupId(name) && { group: name }),
    ...(by === 'model' && { model: name }),
  };
}

function toCurve(name: string | null, totals: readonly UsageTotal[]): UsageCurve {
  return { name, data: totals.map(toPoint).toReversed() };
}

function toPoint({ name, requests, inputTokens, cachedTokens, costMicro }: UsageTotal): UsageCurve['data'][number] {
  const cached_share = cachedShareOf(cachedTokens, inputTokens);
  return { start: Date.parse(name) / 1000, requests, cached_share, cost: costMicro };
}

function toWire(total: UsageTotal, name: string): WireTotal {
  return {
    name,
    requests: total.requests,
    failed: total.failed,
    cancelled: total.cancelled,
    input_tokens: total.inputTokens,
    cached_tokens: total.cachedTokens,
    cached_share: cachedShareOf(total.cachedTokens, total.inputTokens),
    output_tokens: total.outputTokens,
    cost: total.costMicro,
    saved: total.savedMicro,
    duration_ms: total.durationMs,
  };
}

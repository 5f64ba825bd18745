import type { RequestHandler } from 'express';
import { listLatencies, ofQuery, type StatsSource } from '../accounts/latencies.ts';
import { listUsage, toUsageOfKey } from '../accounts/usage.ts';
import type { KeyUsageList } from '../contract/operator-types.ts';
import { invalidQuery, readSpan, readText } from '../wire/query.ts';
import type { UsageQuery } from '../core/books/keys.ts';
import type { Store } from '../core/books/store.ts';
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

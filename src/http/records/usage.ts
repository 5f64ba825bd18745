import type { RequestHandler } from 'express';
import { listLatencies, type StatsSource } from '../../accounts/latencies.ts';
import { listUsage, toUsageOfModel } from '../../accounts/usage.ts';
import type { ShownPolicy } from '../../core/routes.ts';
import type { Store } from '../../core/books/store.ts';
import type { UsageList } from '../../contract/record-types.ts';
import { callerOf } from '../../access/authenticate.ts';
import { untilServed } from '../../wire/until-served.ts';
import { readSpan } from '../../wire/query.ts';

export interface ShowUsageOptions extends StatsSource {
  readonly store: Store;
  readonly nowMs: () => number;
  readonly policy: () => ShownPolicy;
}

/** Answers with what the caller's own requests used, by hour, day or month (UTC) and model. */
export function showUsage({ store, stats, nowMs, policy }: ShowUsageOptions): RequestHandler {
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

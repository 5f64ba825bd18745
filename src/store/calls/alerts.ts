import type { AlertStore } from '../alerts.ts';
import { toSpending } from '../rows/alerts.ts';
import type { BatchQueue } from '../queue/batch-queue.ts';
import { dayOf, monthOf } from '../book/funds.ts';

export function createAlertCalls(queue: BatchQueue, clock: () => number): AlertStore {
  return {
    async listSpending({ beforeSeq = Number.MAX_SAFE_INTEGER, ...query }) {
      const nowMs = clock();
      const step = { ...query, beforeSeq, nowMs, day: dayOf(nowMs), month: monthOf(nowMs) };
      const rows = await queue.call(['listSpending', step], { isLookup: true, isList: true });
      return rows.map((row) => toSpending(row, nowMs));
    },
    claimAlert({ againAfterMs, ...claim }) {
      const nowMs = clock();
      const validFromMs = againAfterMs === undefined ? 0 : nowMs - againAfterMs;
      return queue.call(['claimAlert', { ...claim, nowMs, validFromMs }]);
    },
  };
}

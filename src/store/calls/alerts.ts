import { mapValues } from '../../core/map-values.ts';
import type { AlertStore } from '../../core/books/alerts.ts';
import { toSpending } from '../rows/alerts.ts';
import type { BatchQueue } from '../queue/batch-queue.ts';
import type { Calendar } from '../calendar.ts';

export function createAlertCalls(queue: BatchQueue, clock: () => number, calendar: Calendar): AlertStore {
  return {
    async listSpending({ beforeSeq = Number.MAX_SAFE_INTEGER, ...query }) {
      const nowMs = clock();
      const today = calendar.at(nowMs);
      const step = { ...query, beforeSeq, nowMs, ...mapValues(today, ({ number }) => number) };
      const rows = await queue.call(['listSpending', step], { isLookup: true, isList: true });
      return rows.map((row) => toSpending(row, today));
    },
    claimAlert({ againAfterMs, ...claim }) {
      const nowMs = clock();
      const validFromMs = againAfterMs === undefined ? 0 : nowMs - againAfterMs;
      return queue.call(['claimAlert', { ...claim, nowMs, validFromMs }]);
    },
  };
}

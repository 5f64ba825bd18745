import type { RequestStatsStore } from '../../core/books/request-stats.ts';
import type { BatchQueue, CallOptions } from '../queue/batch-queue.ts';
import { toRows, toStatsRow, toStep } from '../rows/request-stats.ts';

const LIST: CallOptions = { isLookup: true, isList: true };
/** Other calls wait for a step. */
const STEP = 200;

export function createRequestStatsCalls(queue: BatchQueue): RequestStatsStore {
  return {
    async addRequestStats(stats) {
      const rows = toRows(stats);
      for (let at = 0; at < rows.length; at += STEP) await queue.call(['addStats', rows.slice(at, at + STEP)]);
    },
    async listRequestStats(query) {
      return (await queue.call(['listStats', toStep(query)], LIST)).map(toStatsRow);
    },
  };
}

import { setTimeout as delay } from 'node:timers/promises';
import { HOUR_MS } from '../../core/time.ts';
import type { BatchQueue } from '../queue/batch-queue.ts';
import { PRUNE_STEP } from '../queue/operations.ts';

const PRUNE_SHARE = 0.2;

/**
 * Deletes old records, ledger entries and usage in steps between which other calls run. Returns how
 * many records.
 */
export async function prune(queue: BatchQueue, beforeMs: number, usageBeforeMs: number): Promise<number> {
  let pruned = 0;
  let fromMs = Number.MIN_SAFE_INTEGER;
  await inSteps(async () => {
    const ended = await queue.call(['pruneSome', fromMs, beforeMs]);
    pruned += ended.length;
    // PostgreSQL keeps what is deleted in the index for as long as a dump runs. The next step begins behind it.
    fromMs = Math.max(fromMs, ...ended);
    return ended.length === PRUNE_STEP;
  });
  // The numbers of groups are negative.
  let afterKey: number | null = Number.MIN_SAFE_INTEGER;
  await inSteps(async () => {
    if (afterKey !== null) afterKey = await queue.call(['carrySome', afterKey, beforeMs]);
    return afterKey !== null;
  });
  const beforeHour = Math.floor(usageBeforeMs / HOUR_MS);
  await inSteps(async () => (await queue.call(['pruneUsageSome', beforeHour])) === PRUNE_STEP);
  await inSteps(() => queue.call(['reclaimSome']));
  return pruned;
}

async function inSteps(step: () => Promise<boolean>): Promise<void> {
  for (;;) {
    const startedAtMs = performance.now();
    if (!(await step())) return;
    await delay((performance.now() - startedAtMs) * (1 / PRUNE_SHARE - 1));
  }
}

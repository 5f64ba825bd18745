import type { Store } from '../store/store.ts';
import type { RunningRequests } from './running.ts';

/** How long a cancel that another process was asked for may take to be heard here when nobody tells: well below a second. */
const EVERY_MS = 500;

/**
 * Ends the requests which run here when another process was asked to cancel them: another gateway on the same database, or
 * the command line. Asks the store when it has heard of one, and now and then while anything runs. Returns a function that
 * stops it.
 */
export function watchCancels(
  store: Pick<Store, 'listCancelRequested' | 'hearCancels'>,
  running: RunningRequests,
  everyMs = EVERY_MS,
): () => void {
  let isAsking = false;
  let hasHeard = false;

  async function look(): Promise<void> {
    if (isAsking || !running.busy) return;
    isAsking = true;
    try {
      do {
        // What is heard while the store is asked may have come too late for its answer.
        hasHeard = false;
        const asked = await store.listCancelRequested();
        await Promise.all(asked.map((requestId) => running.cancelIf(requestId, Promise.resolve(true))));
      } while (hasHeard);
    } catch {
      // The store cannot be read now; the next look may do better, and readiness says so.
    } finally {
      isAsking = false;
    }
  }

  const stopHearing = store.hearCancels(() => {
    hasHeard = true;
    void look();
  });
  const timer = setInterval(() => void look(), everyMs);
  timer.unref();
  return () => {
    clearInterval(timer);
    stopHearing();
  };
}

import type { Store } from '../core/books/store.ts';
import type { RunningRequests } from './running.ts';

/** Without a notification, a cancel from another process is noticed after at most this time. */
const EVERY_MS = 500;

/** Ends the requests that another process was asked to cancel. Returns a function that stops it. */
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
        // A notification during the query may be too late for its answer.
        hasHeard = false;
        const asked = await store.listCancelRequested();
        await Promise.all(asked.map((requestId) => running.cancelIf(requestId, Promise.resolve(true))));
      } while (hasHeard);
    } catch {
      // The next query may succeed. Readiness reports the outage.
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

import { createFairQueue } from '../core/fair-queue.ts';

/**
 * Returns what begins small pieces of work in the order in which they come, and only so many in one iteration of the event loop, so
 * that what runs already goes on in between. When more wait, owners take turns: much work of one holds up no other.
 */
export function spreadOverIterations(mostPerIteration: number): (owner: string, begin: () => void) => void {
  const waiting = createFairQueue<() => void>();
  let begun = 0;
  let isScheduled = false;

  return (owner, begin) => {
    if (begun < mostPerIteration && waiting.isEmpty()) {
      begun += 1;
      // Less than half may be counted for longer than its iteration, so that what comes alone asks for none.
      if (begun * 2 >= mostPerIteration) scheduleNext();
      begin();
      return;
    }
    scheduleNext();
    waiting.add(owner, begin);
  };

  function scheduleNext(): void {
    if (isScheduled) return;
    isScheduled = true;
    setImmediate(beginWaiting);
  }

  function beginWaiting(): void {
    isScheduled = false;
    begun = 0;
    while (begun < mostPerIteration && !waiting.isEmpty()) {
      scheduleNext();
      begun += 1;
      waiting.next()?.();
    }
  }
}

const beginRead = spreadOverIterations(1);

/**
 * Begins to read the next piece of something large, some 64 KiB, in turns with everything else that is large. Node would read up to
 * 2 MiB of each connection in one iteration of the event loop, and most of that time goes into memory that was not used before.
 */
export function readPiece(read: () => void): void {
  beginRead('', read);
}

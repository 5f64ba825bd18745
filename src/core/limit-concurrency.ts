import { createFairQueue } from './fair-queue.ts';

/** Runs at most `maxAtOnce` pieces of work at a time, in the order in which they came. */
export function limitConcurrency(maxAtOnce: number): <Result>(work: () => Promise<Result>) => Promise<Result> {
  const takeTurn = limitFairly(maxAtOnce);
  return (work) => takeTurn('', work);
}

/** Runs at most `maxAtOnce` pieces of work at a time. Owners take turns: much work of one holds up no other. */
export function limitFairly(maxAtOnce = 1): <Result>(owner: string, work: () => Promise<Result>) => Promise<Result> {
  const waiting = createFairQueue<() => void>();
  let running = 0;

  return async (owner, work) => {
    // The slot passes directly to the next in line, so that a newcomer cannot take it in between.
    if (running < maxAtOnce) running += 1;
    else await new Promise<void>((resolve) => waiting.add(owner, resolve));
    try {
      return await work();
    } finally {
      waiting.putLast(owner);
      const next = waiting.next();
      if (next === undefined) running -= 1;
      else next();
    }
  };
}

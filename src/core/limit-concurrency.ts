/**
 * Returns a function that runs at most `maxAtOnce` pieces of work at a time, first come, first
 * served.
 */
export function limitConcurrency(maxAtOnce: number): <Result>(work: () => Promise<Result>) => Promise<Result> {
  const waiting: (() => void)[] = [];
  let running = 0;

  return async (work) => {
    // `running` stays the same while a turn is handed on, so that no other call takes it.
    if (running < maxAtOnce) running += 1;
    else await new Promise<void>((resolve) => waiting.push(resolve));
    try {
      return await work();
    } finally {
      const next = waiting.shift();
      if (next === undefined) running -= 1;
      else next();
    }
  };
}

/** Runs at most `maxAtOnce` pieces of work at a time, in the order in which they came. */
export function limitConcurrency(maxAtOnce: number): <Result>(work: () => Promise<Result>) => Promise<Result> {
  const waiting: (() => void)[] = [];
  let running = 0;

  return async (work) => {
    // The slot passes directly to the next in line, so that a newcomer cannot take it in between.
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

/** Runs one piece of work at a time. Owners take turns: much work of one holds up no other. */
export function takeTurns(): <Result>(owner: string, work: () => Promise<Result>) => Promise<Result> {
  const takeTurn = limitConcurrency(1);
  const queues = new Map<string, { readonly takeTurn: typeof takeTurn; waiting: number }>();

  return async (owner, work) => {
    const queue = queues.get(owner) ?? { takeTurn: limitConcurrency(1), waiting: 0 };
    queues.set(owner, queue);
    queue.waiting += 1;
    try {
      return await queue.takeTurn(() => takeTurn(work));
    } finally {
      queue.waiting -= 1;
      if (queue.waiting === 0) queues.delete(owner);
    }
  };
}

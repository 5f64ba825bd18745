import { setImmediate as nextImmediate } from 'node:timers/promises';

/** Something that is done in some milliseconds, unless it is done or cancelled before. */
export interface Soon {
  now(): void;
  /** Returns whether it still waited. It will not be done any more. */
  cancel(): boolean;
}

/**
 * Calls `act` after `ms` milliseconds. The process may have been busy meanwhile, so what has arrived
 * until then is read first.
 */
export function soon(ms: number, act: () => void): Soon {
  let isWaiting = true;
  let immediate: NodeJS.Immediate | undefined;
  const timer = setTimeout(() => {
    immediate = setImmediate(now);
  }, ms);
  return { now, cancel };

  function now(): void {
    if (cancel()) act();
  }

  function cancel(): boolean {
    clearTimeout(timer);
    clearImmediate(immediate);
    const hasWaited = isWaiting;
    isWaiting = false;
    return hasWaited;
  }
}

/** Resolves with whether the promise is still open after `ms` milliseconds. Rejects as the promise does. */
export async function takesLonger(promise: Promise<unknown>, ms: number): Promise<boolean> {
  const { promise: late, resolve } = Promise.withResolvers<boolean>();
  const timer = soon(ms, () => resolve(true));
  try {
    return await Promise.race([promise.then(() => false), late]);
  } finally {
    timer.cancel();
  }
}

/**
 * Resolves in the next iteration of the event loop, when it has served others. The first immediate still
 * belongs to this one.
 */
export async function yieldToEventLoop(): Promise<void> {
  await nextImmediate();
  await nextImmediate();
}

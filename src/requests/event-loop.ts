import { setImmediate } from 'node:timers/promises';

/**
 * Resolves in the next iteration of the event loop, when it has served others. The first immediate still
 * belongs to this one.
 */
export async function yieldToEventLoop(): Promise<void> {
  await setImmediate();
  await setImmediate();
}

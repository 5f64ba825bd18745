import { setImmediate } from 'node:timers/promises';

/**
 * Resolves in the next turn of the event loop, when it has served others. The first immediate still
 * belongs to this turn.
 */
export async function nextTurn(): Promise<void> {
  await setImmediate();
  await setImmediate();
}

import type { ServerResponse } from 'node:http';
import { ApiError } from '../core/errors.ts';

const WAITING = Symbol('waiting');
type Reply = ServerResponse & { [WAITING]?: (() => void)[] };

/**
 * Calls the listener when the client has the whole reply or has disconnected, in the order of the
 * calls; never if that is so already. With one of Node's own for each, those of a stream would be
 * more than Node takes for a leak, and each would look through the others when it goes.
 */
export function onceServed(res: Reply, listener: () => void): void {
  const { [WAITING]: waiting } = res;
  if (waiting !== undefined) {
    waiting.push(listener);
    return;
  }
  const all = (res[WAITING] = [listener]);
  res.once('close', () => {
    for (const each of all) each();
  });
}

/** Returns a signal that aborts when the client has the whole reply or has disconnected. */
export function untilServed(res: ServerResponse): AbortSignal {
  const controller = new AbortController();
  const stop = (): void => controller.abort(new ApiError('client_disconnected'));
  if (res.closed) stop();
  else onceServed(res, stop);
  return controller.signal;
}

import type { ServerResponse } from 'node:http';
import { ApiError } from '../core/errors.ts';

const WAITING = Symbol('waiting');
type Reply = ServerResponse & { [WAITING]?: (() => void)[] };

/**
 * Calls the listener when the client has the whole reply or has disconnected, in the order of the
 * calls; at once if that is so already, as after a key was looked up. With one of Node's own for each,
 * those of a stream would be more than Node takes for a leak, and each would look through the others
 * when it goes.
 */
export function onceServed(res: Reply, listener: () => void): void {
  if (res.closed) return listener();
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
  onceServed(res, () => controller.abort(new ApiError('client_disconnected')));
  return controller.signal;
}

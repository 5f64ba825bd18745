import type { ServerResponse } from 'node:http';
import { ApiError } from '../core/errors.ts';

/** Returns a signal that aborts when the client has the whole reply or has disconnected. */
export function untilServed(res: ServerResponse): AbortSignal {
  const controller = new AbortController();
  const stop = (): void => controller.abort(new ApiError('client_disconnected'));
  if (res.closed) stop();
  else res.once('close', stop);
  return controller.signal;
}

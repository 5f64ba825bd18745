import type { ServerResponse } from 'node:http';
import { ApiError } from '../core/errors.ts';
import { createStopController, type StopSignal } from '../core/stop-signal.ts';

/** A signal which aborts when nobody waits for the reply any more: the client has all of it, or is gone. */
export function untilServed(res: ServerResponse): StopSignal {
  const controller = createStopController();
  const stop = (): void => controller.abort(new ApiError('client_disconnected'));
  if (res.closed) stop();
  else res.once('close', stop);
  return controller.signal;
}

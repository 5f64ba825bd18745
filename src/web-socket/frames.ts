import { ApiError } from '../core/errors.ts';
import { isObject, readJson } from '../core/json.ts';

/** In bytes. No larger frame is a control frame. */
const MAX_CONTROL = 4096;

/** Returns the type of a frame that is about a response and does not ask for one. */
export function readControl(bytes: Buffer): 'response.cancel' | 'response.steer' | undefined {
  if (bytes.length > MAX_CONTROL) return undefined;
  const frame = readJson(bytes.toString());
  const type = isObject(frame) ? frame['type'] : undefined;
  return type === 'response.cancel' || type === 'response.steer' ? type : undefined;
}

/** Throws the ApiError of a frame that cannot ask for a response. */
export function refuseOthers(bytes: Buffer, isBinary: boolean): void {
  if (isBinary) throw new ApiError('invalid_request', { message: 'Frames must be text frames; this one is binary.' });
  const type = readControl(bytes);
  if (type === undefined) return;
  const message =
    type === 'response.cancel'
      ? 'No response is running on this connection that could be cancelled.'
      : 'A running response takes no further input here. Cancel it, and continue with response.create.';
  throw new ApiError('invalid_request', { param: 'type', message });
}

/** The limit holds for the history and the frame together. */
export function tooLarge(maxBytes: number): ApiError {
  return new ApiError('payload_too_large', {
    param: 'previous_response_id',
    message: `The conversation so far has more than ${maxBytes} bytes. Send the part that is still needed in input instead.`,
  });
}

import { ApiError } from '../core/errors.ts';
import { isKnownType } from '../core/request/items.ts';
import { isList, isObject, readJson } from '../core/json.ts';
import type { JsonBody } from '../requests/incoming.ts';
import { parseJson } from '../core/parse-json.ts';
import { parseIdempotencyKey } from '../requests/idempotency-key.ts';
import { validateWebSocketCreate } from '../requests/validate.ts';

export interface CreateFrame {
  readonly body: JsonBody & { readonly value: Record<string, unknown> };
  readonly isWarmUp: boolean;
  readonly previousResponseId: string | undefined;
  readonly idempotencyKey: string | undefined;
}

export function readCreateFrame(bytes: Buffer, isBinary: boolean): CreateFrame {
  if (isBinary) throw new ApiError('invalid_request', { message: 'Frames must be text frames; this one is binary.' });
  refuseControl(bytes);
  const value = validateWebSocketCreate(parseJson(bytes));
  const { generate = true, previous_response_id: previousResponseId, idempotency_key: key } = value;
  if (value['stream_id'] !== undefined) {
    throw new ApiError('unsupported_parameter', {
      param: 'stream_id',
      message:
        'Responses of one connection are made one after the other. Leave stream_id out, or open more connections.',
    });
  }
  delete value.previous_response_id;
  value.stream = true;
  return {
    body: { bytes, value },
    isWarmUp: !generate,
    previousResponseId,
    idempotencyKey: parseIdempotencyKey(key, 'idempotency_key'),
  };
}

/** In bytes. No larger frame is a control frame. */
const MAX_CONTROL = 4096;

/** Returns the type of a frame that is about a response and does not ask for one. */
export function readControl(bytes: Buffer): 'response.cancel' | 'response.steer' | undefined {
  if (bytes.length > MAX_CONTROL) return undefined;
  const type = typeOf(readJson(bytes.toString()));
  return type === 'response.cancel' || type === 'response.steer' ? type : undefined;
}

/** Throws the ApiError of a frame that cannot be done. */
function refuseControl(bytes: Buffer): void {
  const type = readControl(bytes);
  if (type === undefined) return;
  const message =
    type === 'response.cancel'
      ? 'No response is running on this connection that could be cancelled.'
      : 'A running response takes no further input here. Cancel it, and continue with response.create.';
  throw new ApiError('invalid_request', { param: 'type', message });
}

export function inputItemsOf(input: unknown): readonly unknown[] {
  if (typeof input === 'string') return [{ type: 'message', role: 'user', content: input }];
  return isList(input) ? input : [];
}

/**
 * Throws ApiError for an output whose call is neither in the history nor among these items. The
 * history of a connection is complete, while a client over HTTP may have dropped the call. Unknown
 * types need no call.
 */
export function checkOutputs(items: readonly unknown[], history: readonly unknown[]): void {
  const calls = new Set([...history, ...items].filter((item) => typeOf(item).endsWith('_call')).map(callIdOf));
  items.forEach((item, index) => {
    const type = typeOf(item);
    if (!type.endsWith('_output') || !isKnownType(type)) return;
    const callId = callIdOf(item);
    if (typeof callId !== 'string' || calls.has(callId)) return;
    const param = `input[${index}].call_id`;
    throw new ApiError('invalid_request', { param, message: `${param} matches no call in this conversation.` });
  });
}

/** The limit holds for the history and the frame together. */
export function tooLarge(maxBytes: number): ApiError {
  return new ApiError('payload_too_large', {
    param: 'previous_response_id',
    message: `The conversation so far has more than ${maxBytes} bytes. Send the part that is still needed in input instead.`,
  });
}

function typeOf(item: unknown): string {
  return isObject(item) && typeof item['type'] === 'string' ? item['type'] : '';
}

function callIdOf(item: unknown): unknown {
  return isObject(item) ? item['call_id'] : undefined;
}

/** Returns the error with the paths of the client's input, which did not contain the history. */
export function withoutHistory(error: ApiError, historyLength: number): ApiError {
  if (historyLength === 0 || !error.param.startsWith('input[')) return error;
  const moved = (text: string): string =>
    text.replaceAll(/\binput\[(\d+)\]/g, (_all, index: string) => {
      const own = Number(index) - historyLength;
      return own < 0 ? 'previous_response_id' : `input[${own}]`;
    });
  const { code, status, headers, cause } = error;
  return new ApiError(code, { param: moved(error.param), message: moved(error.message), status, headers, cause });
}

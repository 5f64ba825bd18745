/** The frames of a WebSocket: what a client may send, and how an error is told. */

import { ApiError } from '../core/errors.ts';
import { isKnownType } from '../core/request/items.ts';
import { isList, isObject } from '../core/json.ts';
import type { JsonBody } from '../requests/incoming.ts';
import { parseJson } from '../http/body/body.ts';
import { parseIdempotencyKey } from '../requests/idempotency-key.ts';
import { validateWebSocketCreate } from '../requests/validate.ts';

/** A `response.create` frame, its own fields taken out of the request which it is otherwise. */
export interface CreateFrame {
  readonly body: JsonBody & { readonly value: Record<string, unknown> };
  readonly isWarmUp: boolean;
  readonly previousResponseId: string | undefined;
  readonly idempotencyKey: string | undefined;
}

/** Throws ApiError for anything but a `response.create` frame. */
export function readCreateFrame(bytes: Buffer, isBinary: boolean): CreateFrame {
  if (isBinary) throw new ApiError('invalid_request', { message: 'Frames must be text, and this one is binary.' });
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

/** The input of a request as a list of items. */
export function inputItemsOf(input: unknown): readonly unknown[] {
  if (typeof input === 'string') return [{ type: 'message', role: 'user', content: input }];
  return isList(input) ? input : [];
}

/**
 * Throws ApiError for an output among these items whose call is neither in the history nor among them: over HTTP a client
 * may have lost the call, but what a connection remembers is whole. Outputs that are left out need none.
 */
export function checkOutputs(items: readonly unknown[], history: readonly unknown[]): void {
  const calls = new Set([...history, ...items].filter((item) => typeOf(item).endsWith('_call')).map(callIdOf));
  items.forEach((item, index) => {
    const type = typeOf(item);
    if (!type.endsWith('_output') || !isKnownType(type)) return;
    const callId = callIdOf(item);
    if (typeof callId !== 'string' || calls.has(callId)) return;
    const param = `input[${index}].call_id`;
    throw new ApiError('invalid_request', { param, message: `${param} is the id of no call in this conversation.` });
  });
}

/** For what the connection remembers and the frame together. */
export function tooLarge(maxBytes: number): ApiError {
  return new ApiError('payload_too_large', {
    param: 'previous_response_id',
    message: `The conversation up to here has more than ${maxBytes} bytes. Send what is still needed of it in input instead.`,
  });
}

function typeOf(item: unknown): string {
  return isObject(item) && typeof item['type'] === 'string' ? item['type'] : '';
}

function callIdOf(item: unknown): unknown {
  return isObject(item) ? item['call_id'] : undefined;
}

/** The error as the client wrote its input, before which the history stood when the mistake was found. */
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

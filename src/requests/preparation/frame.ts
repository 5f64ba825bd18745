/** A frame of a WebSocket that asks for a response, and the conversation that it continues. */

import { ApiError } from '../../core/errors.ts';
import { isObject } from '../../core/json.ts';
import { isKnownType } from '../../core/request/items.ts';
import { parseIdempotencyKey } from '../idempotency-key.ts';
import { inputItemsOf, itemsOf } from '../item-memory.ts';
import { toTurn, withoutHistory } from './turns.ts';
import { prepare, type ParsedRequest, type Prepared, type PrepareServices } from './response.ts';
import { validateWebSocketCreate } from './validate.ts';

export interface CreateFrame {
  readonly isWarmUp: boolean;
  readonly previousResponseId: string | undefined;
  readonly idempotencyKey: string | undefined;
}

/** The items of each turn as JSON. */
export type Turns = readonly Uint8Array[];

/** What a frame continues. */
export interface Past {
  readonly turns: Turns;
  readonly bytes: number;
}

/** Takes the fields out of the frame that HTTP does not have. Throws ApiError. */
export function readCreateFrame(frame: unknown): CreateFrame {
  const value = validateWebSocketCreate(frame);
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
  return { isWarmUp: !generate, previousResponseId, idempotencyKey: parseIdempotencyKey(key, 'idempotency_key') };
}

/** Prepends the history to the input, if the frame continues one. Throws as `prepare`. */
export function prepareFrame(
  { isWarmUp }: CreateFrame,
  { past, ...parsed }: ParsedRequest & { readonly past: Turns | undefined },
  services: PrepareServices,
): Prepared {
  const value = isObject(parsed.value) ? { ...parsed.value } : {};
  const history = past?.flatMap(itemsOf) ?? [];
  const own = inputItemsOf(value['input']);
  if (past !== undefined) {
    checkOutputs(own, history);
    value['input'] = [...history, ...own];
  }
  const isEmpty = isWarmUp && history.length + own.length === 0;
  if (isEmpty) value['input'] = '';
  try {
    const options = { endpoint: 'responses', mayBeEmpty: isWarmUp } as const;
    const plan = prepare({ ...parsed, value }, options, services);
    // The preparation has replaced what an item refers to.
    const items = isEmpty ? [] : inputItemsOf(value['input']).slice(history.length);
    return { ...plan, turn: toTurn(items) };
  } catch (error) {
    throw withoutHistory(error, history.length);
  }
}

/**
 * Throws ApiError for an output whose call is neither in the history nor among these items. The
 * history of a connection is complete, while a client over HTTP may have dropped the call. Unknown
 * types need no call.
 */
function checkOutputs(items: readonly unknown[], history: readonly unknown[]): void {
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

function typeOf(item: unknown): string {
  return isObject(item) && typeof item['type'] === 'string' ? item['type'] : '';
}

function callIdOf(item: unknown): unknown {
  return isObject(item) ? item['call_id'] : undefined;
}

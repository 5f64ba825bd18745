import type { Branded, CallId, ItemId, KeyId, RequestId, ResponseId } from '../contract/ids.ts';

/**
 * The unique part that a response, its record and its items share: 32 lower-case hexadecimal
 * digits.
 */
export type UniquePart = Branded<'UniquePart'>;

/**
 * Makes unique parts. It is passed in, so that the core has no randomness and a test gets the same
 * ids every time.
 */
export type NewUniquePart = () => UniquePart;

const UNIQUE_PART = /^[0-9a-f]{32}$/;

/**
 * Reads 32 lower-case hexadecimal digits as a unique part. Throws a RangeError on anything else.
 */
export function toUniquePart(text: string): UniquePart {
  if (!UNIQUE_PART.test(text)) throw new RangeError('a unique part is 32 lower-case hexadecimal digits');
  return text as UniquePart;
}

/** Returns the response id with this unique part. */
export function toResponseId(unique: UniquePart): ResponseId {
  return `resp_${unique}` as ResponseId;
}

/** Returns the record id with this unique part. */
export function toRequestId(unique: UniquePart): RequestId {
  return `req_${unique}` as RequestId;
}

/** Returns the key id with this unique part. */
export function toKeyId(unique: UniquePart): KeyId {
  return `key_${unique}` as KeyId;
}

/** Reads `key_…`. Returns undefined when the text is not such an id. */
export function parseKeyId(text: string): KeyId | undefined {
  return /^key_[0-9a-f]{32}$/.test(text) ? (text as KeyId) : undefined;
}

/**
 * Reads the `req_…` or `resp_…` of a request and returns its `req_…`. Returns undefined for any
 * other text.
 */
export function parseRequestId(text: string): RequestId | undefined {
  const unique = /^(?:req|resp)_([0-9a-f]{32})$/.exec(text)?.[1];
  return unique === undefined ? undefined : toRequestId(unique as UniquePart);
}

/** Returns the id of the response that a record is about. */
export function toResponseIdOf(requestId: RequestId): ResponseId {
  return toResponseId(requestId.slice('req_'.length) as UniquePart);
}

/**
 * Message, function call, custom tool call, reasoning; tool search, local shell, shell and apply
 * patch call; compaction.
 */
export type ItemIdPrefix = 'msg' | 'fc' | 'ctc' | 'rs' | 'tsc' | 'lsh' | 'sh' | 'apc' | 'cmp';

/** Returns the id of the item at `outputIndex`. It is unique because the unique part is. */
export function toItemId(prefix: ItemIdPrefix, unique: UniquePart, outputIndex: number): ItemId {
  return `${prefix}_${unique}${outputIndex.toString(16).padStart(4, '0')}` as ItemId;
}

/**
 * Returns the unique part of the reply that contains the item or call with this id, or undefined
 * when the id was not made here.
 */
export function uniqueOfItem(id: string): UniquePart | undefined {
  return /^[a-z]+_([0-9a-f]{32})[0-9a-f]{4,}$/.exec(id)?.[1] as UniquePart | undefined;
}

/** Makes a call id for a call whose backend sent none, or one that is already used. */
export function mintCallId(unique: UniquePart, number: number): CallId {
  return `call_${unique}${number.toString(16).padStart(4, '0')}` as CallId;
}

/** Brands the backend's own call id. Any text but the empty one is valid. */
export function toCallId(backendId: string): CallId {
  return backendId as CallId;
}

export type RecordedEndpoint = 'responses' | 'responses.compact' | 'chat.completions';

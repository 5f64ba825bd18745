import type { Branded, CallId, ItemId, KeyId, RequestId, ResponseId } from '../contract/ids.ts';

/** The part that a response, its record and its items share: 32 lower-case hexadecimal digits, unique for ever. */
export type UniquePart = Branded<'UniquePart'>;

/** Where unique parts come from. Handed in, so that the core is free of randomness and a test gets the same ids every time. */
export type NewUniquePart = () => UniquePart;

const UNIQUE_PART = /^[0-9a-f]{32}$/;

/** Reads 32 lower-case hexadecimal digits as a unique part. Throws a RangeError on anything else. */
export function toUniquePart(text: string): UniquePart {
  if (!UNIQUE_PART.test(text)) throw new RangeError('a unique part is 32 lower-case hexadecimal digits');
  return text as UniquePart;
}

/** The id of the response that has this unique part. */
export function toResponseId(unique: UniquePart): ResponseId {
  return `resp_${unique}` as ResponseId;
}

/** The id of the record that has this unique part. */
export function toRequestId(unique: UniquePart): RequestId {
  return `req_${unique}` as RequestId;
}

/** The id of the key that has this unique part. */
export function toKeyId(unique: UniquePart): KeyId {
  return `key_${unique}` as KeyId;
}

/** Reads `key_…`; undefined when the text is no such id. */
export function parseKeyId(text: string): KeyId | undefined {
  return /^key_[0-9a-f]{32}$/.test(text) ? (text as KeyId) : undefined;
}

/** Takes `req_…` or `resp_…` of one request and returns its `req_…`; undefined when the text is neither. */
export function parseRequestId(text: string): RequestId | undefined {
  const unique = /^(?:req|resp)_([0-9a-f]{32})$/.exec(text)?.[1];
  return unique === undefined ? undefined : toRequestId(unique as UniquePart);
}

/** The id of the response that a record is about. */
export function toResponseIdOf(requestId: RequestId): ResponseId {
  return toResponseId(requestId.slice('req_'.length) as UniquePart);
}

/** Message, function call, custom tool call, reasoning; tool search, local shell, shell and apply patch call; compaction. */
export type ItemIdPrefix = 'msg' | 'fc' | 'ctc' | 'rs' | 'tsc' | 'lsh' | 'sh' | 'apc' | 'cmp';

/** The id of the item at `outputIndex`. Unique because the unique part is, so no further randomness is spent on items. */
export function toItemId(prefix: ItemIdPrefix, unique: UniquePart, outputIndex: number): ItemId {
  return `${prefix}_${unique}${outputIndex.toString(16).padStart(4, '0')}` as ItemId;
}

/** The unique part of the reply that an item or a call with this id is of; undefined for an id that was not made here. */
export function uniqueOfItem(id: string): UniquePart | undefined {
  return /^[a-z]+_([0-9a-f]{32})[0-9a-f]{4,}$/.exec(id)?.[1] as UniquePart | undefined;
}

/** A call id for a backend that sent none, or one that is taken. */
export function mintCallId(unique: UniquePart, number: number): CallId {
  return `call_${unique}${number.toString(16).padStart(4, '0')}` as CallId;
}

/** The backend's own id of a call; any text but the empty one will do. */
export function toCallId(backendId: string): CallId {
  return backendId as CallId;
}

/** Where a request came in. */
export type RecordedEndpoint = 'responses' | 'responses.compact' | 'chat.completions';

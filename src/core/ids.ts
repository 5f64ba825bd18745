/** Ids are branded strings, so that the compiler finds an `item_id` used where a `call_id` belongs. */

declare const brand: unique symbol;
type Branded<Name extends string> = string & { readonly [brand]: Name };

/** `resp_<unique>`: the response as the caller sees it. */
export type ResponseId = Branded<'ResponseId'>;
/** `req_<unique>`: the record of the request; shares its unique part with the response id. */
export type RequestId = Branded<'RequestId'>;
/** `msg_…`, `fc_…`, `rs_…`: one output item. */
export type ItemId = Branded<'ItemId'>;
/** The backend's name for a tool call, which its output refers to. */
export type CallId = Branded<'CallId'>;
/** `key_<unique>`: a key which the gateway has issued; stays the same when its secret is rotated. */
export type KeyId = Branded<'KeyId'>;
/** The part that a response, its record and its items share: 32 lower-case hexadecimal digits, unique for ever. */
export type UniquePart = Branded<'UniquePart'>;

/**
 * The type of an input item that is none of those known here. It is an enum, which does not exist when the program runs,
 * because the compiler cannot tell the members of a union apart by a brand.
 */
export declare enum UnknownItemType {
  Any = '',
}

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

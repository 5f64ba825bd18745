import type { Branded, CallId, GroupId, ItemId, KeyId, RequestId, ResponseId } from '../contract/ids.ts';

/** The 32 lower-case hexadecimal digits that a response, its record and its items share. */
export type UniquePart = Branded<'UniquePart'>;

/** This is passed in, because the core has no randomness. */
export type NewUniquePart = () => UniquePart;

const UNIQUE_PART = /^[0-9a-f]{32}$/;

/** Throws a RangeError unless the text is 32 lower-case hexadecimal digits. */
export function toUniquePart(text: string): UniquePart {
  if (!UNIQUE_PART.test(text)) throw new RangeError('a unique part is 32 lower-case hexadecimal digits');
  return text as UniquePart;
}

export function toResponseId(unique: UniquePart): ResponseId {
  return `resp_${unique}` as ResponseId;
}

export function toRequestId(unique: UniquePart): RequestId {
  return `req_${unique}` as RequestId;
}

export function toKeyId(unique: UniquePart): KeyId {
  return `key_${unique}` as KeyId;
}

export function parseKeyId(text: string): KeyId | undefined {
  return /^key_[0-9a-f]{32}$/.test(text) ? (text as KeyId) : undefined;
}

export function toGroupId(unique: UniquePart): GroupId {
  return `group_${unique}` as GroupId;
}

export function isGroupId(id: string): id is GroupId {
  return id.startsWith('group_');
}

/** The group of all keys, whether they are in another one or not. Exists once its limits are set. */
export const WHOLE_GATEWAY = 'group_00000000000000000000000000000000' as GroupId;

export function parseGroupId(text: string): GroupId | undefined {
  return /^group_[0-9a-f]{32}$/.test(text) ? (text as GroupId) : undefined;
}

/** Returns the `req_…` of a `req_…` or `resp_…`; undefined for any other text. */
export function parseRequestId(text: string): RequestId | undefined {
  const unique = /^(?:req|resp)_([0-9a-f]{32})$/.exec(text)?.[1];
  return unique === undefined ? undefined : toRequestId(unique as UniquePart);
}

/** Returns the least id that a request of this moment can have: the ids begin with their time. */
export function firstRequestIdAt(ms: number): string {
  return `req_${Math.max(0, ms).toString(16).padStart(12, '0')}`;
}

/** Returns the id of the response that a record is about. */
export function toResponseIdOf(requestId: RequestId): ResponseId {
  return toResponseId(requestId.slice('req_'.length) as UniquePart);
}

export type ItemIdPrefix = 'msg' | 'fc' | 'ctc' | 'rs' | 'tsc' | 'lsh' | 'sh' | 'apc' | 'ig' | 'cmp';

/** Returns the id of the item at `outputIndex` of this reply. */
export function toItemId(prefix: ItemIdPrefix, unique: UniquePart, outputIndex: number): ItemId {
  return `${prefix}_${unique}${outputIndex.toString(16).padStart(4, '0')}` as ItemId;
}

/** Returns the unique part in the id of an item or a call; undefined for ids not made here. */
export function uniqueOfItem(id: string): UniquePart | undefined {
  return /^[a-z]+_([0-9a-f]{32})[0-9a-f]{4,}$/.exec(id)?.[1] as UniquePart | undefined;
}

/** Makes an id for a call whose backend sent none, or one that is already used. */
export function mintCallId(unique: UniquePart, number: number): CallId {
  return `call_${unique}${number.toString(16).padStart(4, '0')}` as CallId;
}

/** Brands the backend's own call id. Any text but the empty one is valid. */
export function toCallId(backendId: string): CallId {
  return backendId as CallId;
}

export type RecordedEndpoint = 'responses' | 'responses.compact' | 'chat.completions';

/**
 * The first HMAC uses `GATEWAY_SECRET` and is stored. The others, with `GATEWAY_SECRET_PREVIOUS`,
 * are only looked for. All identities of one request have the same secrets in the same order.
 */
export type Identity = readonly [current: string, ...previous: string[]];

/** Returns what the store may know a caller as, each name once: an issued key has the same under every secret. */
export function namesOf(caller: Identity): readonly string[] {
  return [...new Set(caller)];
}

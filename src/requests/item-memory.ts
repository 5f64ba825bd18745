import { isList, isObject, readJson } from '../core/json.ts';
import { ApiError } from '../core/errors.ts';
import type { Identity } from '../core/ids.ts';
import type { OutputItem } from '../contract/types.ts';

/**
 * Some clients refer to output items by their ids, and others to the response that they continue. Both
 * are kept only in the memory of this process.
 */
export interface ItemResolver {
  /**
   * Puts the items of the response that the body continues before its input, and replaces references.
   * Returns how many items come before those of the body. A response that is unknown stays named.
   * Throws ApiError for an item that is unknown or belongs to another caller.
   */
  resolve(caller: Identity, body: unknown): number;
}

/** A response with all that it continues: JSON arrays of items, one after the other. */
export interface RememberedTurns {
  readonly turns: readonly Uint8Array<ArrayBuffer>[];
  readonly bytes: number;
}

/** What a response adds to the one that it continues. */
export interface NewTurns {
  readonly responseId: string;
  readonly turns: readonly Uint8Array<ArrayBuffer>[];
  readonly continues: string | undefined;
}

export interface WrittenItem {
  readonly id: string;
  readonly json: string;
}

export interface ItemMemory extends ItemResolver {
  remember(caller: Identity, items: readonly WrittenItem[]): void;
  /** Keeps a response behind the one that it continues, unless that one is forgotten. */
  rememberResponse(caller: Identity, response: NewTurns): void;
  /** Returns a response of this caller. */
  recallResponse(caller: Identity, responseId: string): RememberedTurns | undefined;
  /** Returns the number of bytes that `resolve` would add. */
  weigh(caller: Identity, body: unknown): number;
  /** Returns the items with these ids that `resolve` would find, up to the size that it refuses. */
  recall(caller: Identity, ids: readonly string[]): ReadonlyMap<string, RememberedItem>;
}

export interface ItemMemoryOptions {
  readonly itemMemoryTtlS: number;
  readonly maxBodyBytes: number;
  readonly nowMs: () => number;
  /** The limits are for all callers together; the one that has the most loses its oldest items first. */
  readonly maxItems?: number;
  readonly maxBytes?: number;
}

export interface RememberedItem {
  readonly json: string;
  readonly bytes: number;
  /** Of a response, which has no JSON of its own. */
  readonly turns?: RememberedTurns['turns'];
}

interface Remembered extends RememberedItem {
  readonly owner: string;
  readonly expiresAtMs: number;
}

interface Owned {
  /** In the order in which the items came. */
  readonly keys: Set<string>;
  bytes: number;
}

const NOTHING: RememberedTurns = { turns: [], bytes: 0 };
const NO_RESPONSE: RememberedItem = { json: '', ...NOTHING };
const MAX_ITEMS = 20_000;
const MAX_BYTES = 128 * 1024 * 1024;

/** Returns an empty memory. With a TTL of 0 it keeps nothing and changes no request. */
export function createItemMemory(options: ItemMemoryOptions): ItemMemory {
  const { itemMemoryTtlS, maxBodyBytes, nowMs, maxItems = MAX_ITEMS, maxBytes = MAX_BYTES } = options;
  // In the order in which they expire.
  const items = new Map<string, Remembered>();
  const ownedBy = new Map<string, Owned>();
  let bytes = 0;

  if (itemMemoryTtlS === 0) {
    return {
      remember: () => undefined,
      rememberResponse: () => undefined,
      recallResponse: () => undefined,
      resolve: () => 0,
      weigh: () => 0,
      recall: () => new Map(),
    };
  }
  return {
    remember(caller, written) {
      forgetExpired();
      for (const { id, json } of written) {
        const bytes = Buffer.byteLength(json);
        if (bytes <= maxBytes) add(caller, id, { json, bytes });
      }
      makeRoom();
    },
    rememberResponse(caller, { responseId, turns, continues }) {
      forgetExpired();
      const before = continues === undefined ? NOTHING : recallTurns(caller, continues);
      if (before === undefined) return;
      const bytes = turns.reduce((sum, turn) => sum + turn.length, before.bytes);
      if (bytes > maxBodyBytes) return;
      add(caller, responseId, { json: '', bytes, turns: [...before.turns, ...turns] });
      makeRoom();
    },
    recallResponse(caller, responseId) {
      forgetExpired();
      return recallTurns(caller, responseId);
    },
    resolve(caller, body) {
      forgetExpired();
      return resolveReferences(body, { find: (id) => items.get(keyOf(caller, id)), maxBytes: maxBodyBytes });
    },
    weigh(caller, body) {
      return idsIn(body).reduce((sum, id) => sum + (items.get(keyOf(caller, id))?.bytes ?? 0), 0);
    },
    recall(caller, ids) {
      forgetExpired();
      const found = new Map<string, RememberedItem>();
      let recalled = 0;
      for (const id of ids) {
        const item = items.get(keyOf(caller, id));
        if (item === undefined || recalled > maxBodyBytes) break;
        recalled += item.bytes;
        const { json, bytes, turns } = item;
        found.set(id, { json, bytes, ...(turns !== undefined && { turns }) });
      }
      return found;
    },
  };

  function recallTurns(caller: Identity, responseId: string): RememberedTurns | undefined {
    const { turns, bytes } = items.get(keyOf(caller, responseId)) ?? NOTHING;
    return turns === undefined || turns.length === 0 ? undefined : { turns, bytes };
  }

  function add(caller: Identity, id: string, remembered: RememberedItem): void {
    const key = keyOf(caller, id);
    const item = { ...remembered, owner: caller[0], expiresAtMs: nowMs() + itemMemoryTtlS * 1000 };
    forget(key);
    items.set(key, item);
    bytes += item.bytes;
    const owned = ownedBy.get(item.owner) ?? { keys: new Set(), bytes: 0 };
    ownedBy.set(item.owner, owned);
    owned.keys.add(key);
    owned.bytes += item.bytes;
  }

  function forget(key: string): void {
    const item = items.get(key);
    if (item === undefined) return;
    items.delete(key);
    bytes -= item.bytes;
    const owned = ownedBy.get(item.owner);
    if (owned === undefined) return;
    owned.keys.delete(key);
    owned.bytes -= item.bytes;
    if (owned.keys.size === 0) ownedBy.delete(item.owner);
  }

  /**
   * At most half of what an owner has goes at a time, so that owners are not searched for each
   * item.
   */
  function makeRoom(): void {
    for (;;) {
      if (items.size > maxItems)
        halve(
          ({ keys }) => keys.size,
          () => items.size > maxItems,
        );
      else if (bytes > maxBytes)
        halve(
          (owned) => owned.bytes,
          () => bytes > maxBytes,
        );
      else return;
    }
  }

  function halve(amount: (owned: Owned) => number, isOver: () => boolean): void {
    const owned = withMost(ownedBy, amount);
    if (owned === undefined) throw new Error('items are remembered that nobody owns');
    const half = amount(owned) / 2;
    for (const key of owned.keys) {
      if (amount(owned) <= half || !isOver()) return;
      forget(key);
    }
  }

  function forgetExpired(): void {
    const now = nowMs();
    for (const [key, { expiresAtMs }] of items) {
      if (expiresAtMs > now) return;
      forget(key);
    }
  }
}

export function writeItems(items: readonly OutputItem[]): readonly WrittenItem[] {
  return items.map((item) => ({ id: item.id, json: JSON.stringify(item) }));
}

function withMost(ownedBy: ReadonlyMap<string, Owned>, amount: (owned: Owned) => number): Owned | undefined {
  let most: Owned | undefined;
  for (const owned of ownedBy.values()) if (most === undefined || amount(owned) > amount(most)) most = owned;
  return most;
}

/** Returns the ids of the items that the body refers to, each once. */
export function referencesIn(body: unknown): readonly string[] {
  return [...new Set(idsIn(body))];
}

function idsIn(body: unknown): readonly string[] {
  if (!isObject(body)) return [];
  const { previous_response_id: previous, input } = body;
  const references = isList(input) ? input.filter(isReference).map(({ id }) => id) : [];
  return typeof previous === 'string' ? [previous, ...references] : references;
}

/** Returns the input as a list of items. */
export function inputItemsOf(input: unknown): readonly unknown[] {
  if (typeof input === 'string') return [{ type: 'message', role: 'user', content: input }];
  return isList(input) ? input : [];
}

export function itemsOf(turn: Uint8Array): readonly unknown[] {
  const items = readJson(Buffer.from(turn.buffer, turn.byteOffset, turn.length).toString());
  return isList(items) ? items : [];
}

export function resolveReferences(
  body: unknown,
  { find, maxBytes }: { readonly find: (id: string) => RememberedItem | undefined; readonly maxBytes: number },
): number {
  if (!isChangeable(body)) return 0;
  const { previous_response_id: previous } = body;
  const earlier = typeof previous === 'string' ? find(previous) : NO_RESPONSE;
  // The validation says so of a response that is unknown.
  if (earlier?.turns === undefined) return 0;
  let added = earlier.bytes;
  if (added > maxBytes) throw tooLarge('previous_response_id', maxBytes);
  // Those of the response refer to nothing.
  const items = earlier.turns.flatMap(itemsOf);
  if (isList(body['input'])) replaceReferences(body['input']);
  if (typeof previous === 'string') {
    delete body['previous_response_id'];
    body['input'] = [...items, ...inputItemsOf(body['input'])];
  }
  return items.length;

  function replaceReferences(input: unknown[]): void {
    for (const [index, item] of input.entries()) {
      if (!isReference(item)) continue;
      const path = `input[${index}]`;
      const found = find(item.id);
      if (found === undefined || found.json === '') throw notRemembered(path);
      added += found.bytes;
      if (added > maxBytes) throw tooLarge(path, maxBytes);
      input[index] = JSON.parse(found.json);
    }
  }
}

function isChangeable(body: unknown): body is Record<string, unknown> {
  return isObject(body);
}

/** The caller is part of the key, so that no caller can read the items of another. */
function keyOf([caller]: Identity, id: string): string {
  return `${caller} ${id}`;
}

/** The type may be left out, as in `validate.ts`. */
function isReference(item: unknown): item is { readonly id: string } {
  if (!isObject(item) || typeof item['id'] !== 'string') return false;
  const { type, role, content } = item;
  return type === 'item_reference' || (type ?? role ?? content ?? null) === null;
}

function notRemembered(path: string): ApiError {
  return new ApiError('invalid_request', {
    param: path,
    message:
      `${path} refers to an item that is not remembered here: it is too old, or was never given to this API key by this ` +
      'gateway. Send the full item instead ("store": false makes the AI SDK do so).',
  });
}

function tooLarge(path: string, maxBytes: number): ApiError {
  return new ApiError('payload_too_large', {
    param: path,
    message: `The items that input refers to have more than ${maxBytes} bytes up to ${path}.`,
  });
}

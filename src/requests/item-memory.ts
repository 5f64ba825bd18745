import { isList, isObject } from '../core/json.ts';
import { ApiError } from '../core/errors.ts';
import type { Identity } from '../identity/identities.ts';
import type { OutputItem } from '../contract/types.ts';

/**
 * The AI SDK refers to output items by id unless `store` is false. They are kept only in the memory
 * of this process.
 */
export interface ItemResolver {
  /**
   * Replaces references in the body, and returns the number of bytes that this adds. Throws
   * ApiError for an item that is unknown or belongs to another caller.
   */
  resolve(caller: Identity, body: unknown): number;
}

export interface ItemMemory extends ItemResolver {
  /** Returns the number of bytes that are remembered. */
  remember(caller: Identity, items: readonly OutputItem[]): number;
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
    return { remember: () => 0, resolve: () => 0, weigh: () => 0, recall: () => new Map() };
  }
  return {
    remember(caller, output) {
      forgetExpired();
      let added = 0;
      for (const item of output) {
        const json = JSON.stringify(item);
        const size = Buffer.byteLength(json);
        if (size > maxBytes) continue;
        add(keyOf(caller, item.id), {
          json,
          bytes: size,
          owner: caller[0],
          expiresAtMs: nowMs() + itemMemoryTtlS * 1000,
        });
        added += size;
      }
      makeRoom();
      return added;
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
        found.set(id, { json: item.json, bytes: item.bytes });
      }
      return found;
    },
  };

  function add(key: string, item: Remembered): void {
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

  /** At most the half of what one owner has goes at a time, so that owners are not looked through for each item. */
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
  if (!isObject(body) || !isList(body['input'])) return [];
  return body['input'].filter(isReference).map(({ id }) => id);
}

/** Replaces references in the body as `ItemMemory.resolve` does. */
export function resolveReferences(
  body: unknown,
  { find, maxBytes }: { readonly find: (id: string) => RememberedItem | undefined; readonly maxBytes: number },
): number {
  if (!isObject(body) || !isList(body['input'])) return 0;
  let added = 0;
  for (const [index, item] of body['input'].entries()) {
    if (!isReference(item)) continue;
    const path = `input[${index}]`;
    const found = find(item.id);
    if (found === undefined) throw notRemembered(path);
    added += found.bytes;
    if (added > maxBytes) throw tooLarge(path, maxBytes);
    body['input'][index] = JSON.parse(found.json);
  }
  return added;
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

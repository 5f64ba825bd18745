import { isList } from './json.ts';
import { toWellFormedJson } from './well-formed.ts';

/** Shorter lists are not worth the parts. */
const MIN_ITEMS = 8;

/**
 * Returns the object as JSON in UTF-8, with the replacement character for each half of a surrogate
 * pair. Long lists come last, and must not have `undefined` in them.
 *
 * One character beyond Latin-1 makes V8 keep a whole text in two bytes a character, and to write such
 * a text takes three times as long. So each item of a long list, such as the messages of an agent,
 * is written by itself.
 */
export function encodeJson(
  fields: object,
  { inOwnMemory = false }: { readonly inOwnMemory?: boolean } = {},
): Buffer<ArrayBuffer> {
  const { parts, lists } = partsOf(fields);
  const lengths = parts.map((part) => Buffer.byteLength(part));
  const allocate = (size: number) => (inOwnMemory ? Buffer.allocUnsafeSlow(size) : Buffer.allocUnsafe(size));
  const bytes = allocate(lengths.reduce((sum, length) => sum + length + 1, -1));
  const ends: number[] = [];
  let end = 0;
  for (const [index, part] of parts.entries()) {
    if (index > 0) bytes[end++] = COMMA;
    // Where they are the same bytes, Latin-1 is the cheaper way to them.
    end += bytes.write(part, end, lengths[index] === part.length ? 'latin1' : 'utf8');
    ends.push(end);
  }
  if (lists.length > 0) written.set(bytes, new Map(lists.map((list) => endsOfItems(list, ends))));
  return bytes;
}

/** The ends of the items of a list, by the index of its bracket. */
export type ItemEnds = ReadonlyMap<number, readonly number[]>;

/** Of each request, so that who reads it again need not look for them. */
const written = new WeakMap<Buffer, ItemEnds>();

/** Returns the ends of the items of each long list in these bytes, if they were encoded here. */
export function itemEndsIn(bytes: Buffer): ItemEnds | undefined {
  return written.get(bytes);
}

interface WrittenList {
  /** The parts of its first and of its last item, which begin and end with what is not theirs. */
  readonly first: number;
  readonly last: number;
  readonly before: number;
  readonly behind: number;
}

function endsOfItems({ first, last, before, behind }: WrittenList, ends: readonly number[]): [number, number[]] {
  const start = first === 0 ? 0 : (ends[first - 1] ?? 0) + 1;
  const own = ends.slice(first, last + 1);
  return [start + before - 1, [...own.slice(0, -1), (own.at(-1) ?? 0) - behind]];
}

/** Returns the texts that are the JSON of the object once they are joined with commas, and which of them are items. */
function partsOf(fields: object): { readonly parts: string[]; readonly lists: readonly WrittenList[] } {
  const lists: [name: string, items: unknown[]][] = [];
  for (const [name, value] of Object.entries(fields))
    if (isList(value) && value.length >= MIN_ITEMS) lists.push([name, value]);
  if (lists.length === 0) return { parts: [toJson(fields)], lists: [] };
  const others: object = { ...fields, ...Object.fromEntries(lists.map(([name]) => [name, undefined])) };
  const json = toJson(others).slice(0, -1);
  const parts = json === '{' ? [] : [json];
  const writtenLists = lists.map(([name, items], index): WrittenList => {
    const first = parts.length;
    for (const item of items) parts.push(toJson(item));
    const opening = `${first === 0 ? '{' : ''}${toJson(name)}:[`;
    parts[first] = opening + parts[first];
    parts.push(`${parts.pop()}]`);
    const behind = index === lists.length - 1 ? 2 : 1;
    return { first, last: parts.length - 1, before: Buffer.byteLength(opening), behind };
  });
  parts.push(`${parts.pop()}}`);
  return { parts, lists: writtenLists };
}

function toJson(value: unknown): string {
  return toWellFormedJson(JSON.stringify(value));
}

const COMMA = 0x2c;

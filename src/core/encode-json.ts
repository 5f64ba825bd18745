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
  const parts = partsOf(fields);
  const lengths = parts.map((part) => Buffer.byteLength(part));
  const allocate = (size: number) => (inOwnMemory ? Buffer.allocUnsafeSlow(size) : Buffer.allocUnsafe(size));
  const bytes = allocate(lengths.reduce((sum, length) => sum + length + 1, -1));
  let end = 0;
  for (const [index, part] of parts.entries()) {
    if (index > 0) bytes[end++] = COMMA;
    // Where they are the same bytes, Latin-1 is the cheaper way to them.
    end += bytes.write(part, end, lengths[index] === part.length ? 'latin1' : 'utf8');
  }
  return bytes;
}

/** Returns the texts that are the JSON of the object once they are joined with commas. */
function partsOf(fields: object): string[] {
  const lists: [name: string, items: unknown[]][] = [];
  for (const [name, value] of Object.entries(fields))
    if (isList(value) && value.length >= MIN_ITEMS) lists.push([name, value]);
  if (lists.length === 0) return [toJson(fields)];
  const others: object = { ...fields, ...Object.fromEntries(lists.map(([name]) => [name, undefined])) };
  const json = toJson(others).slice(0, -1);
  const parts = json === '{' ? [] : [json];
  for (const [name, items] of lists) {
    const first = parts.length;
    for (const item of items) parts.push(toJson(item));
    parts[first] = `${first === 0 ? '{' : ''}${toJson(name)}:[${parts[first]}`;
    parts.push(`${parts.pop()}]`);
  }
  parts.push(`${parts.pop()}}`);
  return parts;
}

function toJson(value: unknown): string {
  return toWellFormedJson(JSON.stringify(value));
}

const COMMA = 0x2c;

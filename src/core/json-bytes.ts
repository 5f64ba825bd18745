import { isSpace, readJson } from './json.ts';
import { endOfString } from './json-size.ts';

export interface Field {
  /** Undefined for a very long name. */
  readonly name: string | undefined;
  readonly nameStart: number;
  readonly start: number;
  readonly end: number;
}

export interface Edit {
  readonly start: number;
  readonly end: number;
  readonly text: string;
}

const MAX_STRING_BYTES = 2048;
/** In ASCII, with nothing escaped, as the name of nearly every field. The parser of JSON takes ten times as long for it. */
const PLAIN = /^"[ !#-[\]-~]*"$/;

/**
 * Returns the fields of the object that begins at or after `start`, repeated ones included; none of a list. After what is not JSON
 * nothing is read.
 */
export function fieldsOf(bytes: Buffer, start: number): readonly Field[] {
  const fields: Field[] = [];
  let opening = start;
  // A byte order mark may come first.
  while (opening < bytes.length && bytes[opening] !== 0x7b && bytes[opening] !== 0x5b) opening++;
  readFields(bytes, opening, (name, at, nameStart) => {
    const next = endOfValue(bytes, at);
    let end = next;
    while (isSpace(bytes[end - 1])) end--;
    fields.push({ name, nameStart, start: at, end });
    return next;
  });
  return fields;
}

/** Reads the value that begins at this index, and returns where it ends. */
type ReadValue = (at: number) => number;

/**
 * Reads the object that begins at `start`, with its brace or with the comma before more of its fields, each byte once, and returns
 * where it ends. Other values have no fields. After what is not JSON nothing is read.
 */
export function readFields(
  bytes: Buffer,
  start: number,
  readField: (name: string | undefined, at: number, nameStart: number) => number,
): number {
  if (bytes[start] !== 0x7b && bytes[start] !== 0x2c) return endOfValue(bytes, start);
  return readSeries(bytes, start + 1, 0x22, (nameStart) => {
    const nameEnd = endOfString(bytes, nameStart + 1) + 1;
    const colon = afterSpace(bytes, nameEnd);
    if (bytes[colon] !== 0x3a) return bytes.length;
    return readField(readString(bytes.subarray(nameStart, nameEnd)), afterSpace(bytes, colon + 1), nameStart);
  });
}

/** As `readFields`, of the items of a list. */
export function readItems(bytes: Buffer, start: number, readItem: ReadValue): number {
  return bytes[start] === 0x5b ? readSeries(bytes, start + 1, undefined, readItem) : endOfValue(bytes, start);
}

/** As `readItems`, from an index within the list: behind its bracket or behind one of its items. */
export function readMoreItems(bytes: Buffer, start: number, readItem: ReadValue): number {
  const at = afterSpace(bytes, start);
  return readSeries(bytes, bytes[at] === 0x2c ? at + 1 : at, undefined, readItem);
}

/** Each part begins with this byte, if it is given. */
function readSeries(bytes: Buffer, start: number, first: number | undefined, readPart: ReadValue): number {
  for (let at = afterSpace(bytes, start); at < bytes.length; at = afterSpace(bytes, at + 1)) {
    if (bytes[at] === 0x7d || bytes[at] === 0x5d) return at + 1;
    if (first !== undefined && bytes[at] !== first) return bytes.length;
    at = afterSpace(bytes, readPart(at));
    if (bytes[at] !== 0x2c) return at + 1;
  }
  return bytes.length;
}

export function endOfValue(bytes: Buffer, start: number): number {
  return endOf(bytes, start, 0);
}

/** Returns the index of the bracket that closes the list with the item which begins at `start`. */
export function endOfItems(bytes: Buffer, start: number): number {
  return endOf(bytes, start, 1) - 1;
}

function endOf(bytes: Buffer, start: number, depthBefore: number): number {
  let depth = depthBefore;
  for (let at = start; at < bytes.length; at++) {
    switch (bytes[at]) {
      case 0x22: // "
        at = endOfString(bytes, at + 1);
        if (depth === 0) return at + 1;
        break;
      case 0x7b: // {
      case 0x5b: // [
        depth++;
        break;
      case 0x7d: // }
      case 0x5d: // ]
        depth--;
        if (depth < 0) return at;
        if (depth === 0) return at + 1;
        break;
      case 0x2c: // ,
        if (depth === 0) return at;
        break;
      default:
    }
  }
  return bytes.length;
}

function afterSpace(bytes: Buffer, start: number): number {
  let at = start;
  while (isSpace(bytes[at])) at++;
  return at;
}

/** Returns the text of a short JSON string; undefined for anything else. */
export function readString(literal: Buffer): string | undefined {
  if (literal.length > MAX_STRING_BYTES) return undefined;
  const text = literal.toString('latin1');
  if (PLAIN.test(text)) return text.slice(1, -1);
  const value = readJson(literal.toString());
  return typeof value === 'string' ? value : undefined;
}

/**
 * Returns the bytes with these edits; the same bytes without edits. Edits must not overlap, but an
 * insertion may be at the start of another edit.
 */
export function splice(bytes: Buffer, edits: readonly Edit[]): Buffer {
  if (edits.length === 0) return bytes;
  const pieces: Buffer[] = [];
  let copied = 0;
  for (const { start, end, text } of edits.toSorted((one, other) => one.start - other.start || one.end - other.end)) {
    pieces.push(bytes.subarray(copied, start), Buffer.from(text));
    copied = end;
  }
  return Buffer.concat([...pieces, bytes.subarray(copied)]);
}

/** What JSON may have before it is parsed: a few kilobytes can block the process for seconds. */

import { isObject, readJson } from './json.ts';

export const MAX_DEPTH = 128;
/** 32 MiB of `[],[],…` would become gigabytes and block the process for seconds. */
const MAX_CONTAINERS = 100_000;
/** The time of the parser grows faster than the fields: 300,000 take most of a second. */
const MAX_NAMES = 50_000;
/** Millions of short strings or numbers in a list take most of a second to be read and written. */
const MAX_VALUES = 200_000;
/** Smaller texts cannot cost much. */
const UNMEASURED_BYTES = 256 * 1024;

export interface JsonSize {
  /** Of elements and fields, nearly. */
  readonly values: number;
  /** What is too much, as the end of a sentence. Nothing behind it has been counted. */
  readonly excess: string | undefined;
  /** Where the first fields of the outermost object end: the commas and the brace behind them. Absent if it was not measured. */
  readonly fieldEnds?: readonly number[];
}

/** Few requests have as many, and a list may have millions of items. */
const MAX_FIELD_ENDS = 64;

/** Returns what is too much about JSON of more than 256 KiB, as the end of a sentence. */
export function excessOf(bytes: Uint8Array): string | undefined {
  return sizeOf(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length), MAX_VALUES).excess;
}

/** Measures JSON of more than 256 KiB. A list of tokens to embed may have any number of values. */
export function sizeOf(bytes: Buffer, maxValues = Infinity): JsonSize {
  return bytes.length <= UNMEASURED_BYTES ? UNMEASURED : measureJson(bytes, maxValues);
}

const UNMEASURED: JsonSize = { values: 0, excess: undefined };

/** As `excessOf`, of a text. */
export function excessOfText(text: string): string | undefined {
  return text.length <= UNMEASURED_BYTES ? undefined : excessOf(Buffer.from(text));
}

/** Returns undefined for invalid JSON, and for what has too much. */
export function readBoundedJson(text: string): unknown {
  return excessOfText(text) === undefined ? readJson(text) : undefined;
}

/** Returns the JSON of an object that is in a JSON string; undefined for other texts. */
export function objectInString(text: string): string | undefined {
  const inner = readBoundedJson(text);
  return typeof inner === 'string' && isObject(readBoundedJson(inner)) ? inner : undefined;
}

export function measureJson(bytes: Buffer, maxValues = Infinity): JsonSize {
  let depth = 0;
  let containers = 0;
  let names = 0;
  let commas = 0;
  const fieldEnds: number[] = [];
  for (let at = 0; at < bytes.length; at++) {
    switch (bytes[at]) {
      case 0x22: // "
        at = endOfString(bytes, at + 1);
        break;
      case 0x5b: // [
      case 0x7b: // {
        depth++;
        containers++;
        if (depth > MAX_DEPTH) return excess(`is nested deeper than ${MAX_DEPTH} levels`);
        if (containers > MAX_CONTAINERS) return excess(`has more than ${MAX_CONTAINERS} arrays and objects`);
        break;
      case 0x5d: // ]
      case 0x7d: // }
        if (depth === 1) noteEnd(at);
        depth--;
        break;
      case 0x2c: // ,
        if (depth === 1) noteEnd(at);
        commas++;
        if (commas > maxValues) return excess(`has more than ${maxValues} values`);
        break;
      case 0x3a: // :
        names++;
        if (names > MAX_NAMES) return excess(`has more than ${MAX_NAMES} fields`);
        break;
      default:
    }
  }
  return { values: commas + containers, excess: undefined, fieldEnds };

  function noteEnd(at: number): void {
    if (fieldEnds.length < MAX_FIELD_ENDS) fieldEnds.push(at);
  }

  function excess(words: string): JsonSize {
    return { values: commas + containers, excess: words };
  }
}

/**
 * Returns the index of the quote that closes the string whose content begins at `start`, or the
 * length of the bytes. The native search skips long strings such as images.
 */
export function endOfString(bytes: Buffer, start: number): number {
  let at = start;
  while (at < bytes.length) {
    const near = at + 48;
    while (at < near) {
      const byte = bytes[at];
      if (byte === 0x22 || byte === undefined) return at;
      at += byte === 0x5c ? 2 : 1;
    }
    const stop = bytes.indexOf(0x22, at);
    if (stop < 0) return bytes.length;
    if (backslashesBefore(bytes, at, stop) % 2 === 0) return stop;
    at = stop + 1;
  }
  return at;
}

/** After an odd number of backslashes the quote is part of the string. */
function backslashesBefore(bytes: Buffer, from: number, end: number): number {
  let at = end;
  while (at > from && bytes[at - 1] === 0x5c) at--;
  return end - at;
}

import { isKnownParameter } from '../../contract/known-parameters.ts';
import type { CreateResponse } from '../../contract/types.ts';
import { isList, isObject, QUOTE } from '../json.ts';
import { fieldsOf, splice, type Edit } from '../json-bytes.ts';
import { endOfString } from '../json-size.ts';

/** Node.js has it (TC39, "JSON.parse source text access"), and the types of TypeScript do not. */
declare global {
  interface JSON {
    rawJSON(text: string): object;
  }
}

/** Their JSON Schemas are passed on as they are. */
const WITH_SCHEMAS = new Set(['tools', 'text']);

/**
 * Returns the request with the integers of the body itself in the parameters and JSON Schemas that
 * are passed on. Numbers of JavaScript round them from 2^53 on, and a `seed` or a `maximum` may have
 * 64 bits.
 */
export function withExactIntegers(request: CreateResponse, body: Buffer): CreateResponse {
  const rounded = Object.entries(request).filter(
    ([name, value]) => (WITH_SCHEMAS.has(name) || !isKnownParameter(name)) && hasRounded(value),
  );
  if (rounded.length === 0) return request;
  const names = new Set(rounded.map(([name]) => name));
  const exact: Record<string, unknown> = {};
  for (const { name = '', start, end } of fieldsOf(body, 0)) {
    if (names.has(name)) exact[name] = parseExact(body.subarray(start, end));
  }
  return { ...request, ...exact };
}

function hasRounded(value: unknown): boolean {
  if (Array.isArray(value)) return value.some(hasRounded);
  if (typeof value === 'object' && value !== null) return Object.values(value).some(hasRounded);
  return isRounded(value);
}

function isRounded(value: unknown): boolean {
  return Number.isInteger(value) && !Number.isSafeInteger(value);
}

/**
 * Parses JSON whose rounded integers have been replaced by strings. A reviver would see the numbers
 * as they are written too, but costs far more for each value than the parser.
 */
export function parseExact(json: Buffer): unknown {
  const integers: string[] = [];
  const edits: Edit[] = [];
  for (const { start, end } of numbersIn(json)) {
    const source = json.toString('latin1', start, end);
    if (!isRounded(Number(source))) continue;
    edits.push({ start, end, text: JSON.stringify(MARK + String(integers.length)) });
    integers.push(source);
  }
  return restored(JSON.parse(splice(json, edits).toString()), integers);
}

/** A caller who writes it too puts one of its own integers there. */
const MARK = '\0integer ';

/** A shorter number, such as 1e9, is not rounded. */
const MIN_ROUNDED_LENGTH = 4;

function* numbersIn(json: Buffer): Generator<Pick<Edit, 'start' | 'end'>> {
  for (let at = 0; at < json.length; at++) {
    if (json[at] === QUOTE) at = endOfString(json, at + 1);
    if (!isDigitOrSign(json[at])) continue;
    const start = at;
    while (isOfNumber(json[at + 1])) at++;
    if (at + 1 - start >= MIN_ROUNDED_LENGTH) yield { start, end: at + 1 };
  }
}

function isDigitOrSign(byte = 0): boolean {
  return (byte >= 0x30 && byte <= 0x39) || byte === 0x2d;
}

/** Is true of digits, signs, the point and the exponent. */
function isOfNumber(byte = 0): boolean {
  return isDigitOrSign(byte) || byte === 0x2e || byte === 0x2b || (byte | 0x20) === 0x65;
}

/** Changes the value. Recursion is safe: the body is at most 128 levels deep. */
function restored(value: unknown, integers: readonly string[]): unknown {
  if (typeof value === 'string' && value.startsWith(MARK)) {
    const source = integers[Number(value.slice(MARK.length))];
    return source === undefined ? value : JSON.rawJSON(source);
  }
  if (isList(value)) {
    value.forEach((inner, index) => {
      value[index] = restored(inner, integers);
    });
  } else if (isObject(value)) {
    Reflect.deleteProperty(value, '__proto__');
    for (const name in value) Reflect.set(value, name, restored(value[name], integers));
  }
  return value;
}

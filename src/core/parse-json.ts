import { ApiError } from './errors.ts';
import { isObject } from './json.ts';
import { type ListPlace, MAX_DEPTH, sizeOf } from './json-size.ts';
import { findSyntaxError } from './json-syntax.ts';

/** The search for a mistake takes far longer than the parser. */
const MAX_SEARCHED = 256 * 1024;

/** Shorter lists are not worth the parts. */
const MIN_ITEMS = 8;
const MARK = '\0';
/** Nobody can write it in another way. Who writes it too has its body parsed as a whole. */
const MARK_JSON = JSON.stringify(MARK);
const MARK_ESCAPE = MARK_JSON.slice(1, -1);

/**
 * Returns the value without own `__proto__` keys. Throws ApiError `invalid_json`, or
 * `invalid_request` if it is nested too deep or has too many arrays, objects or fields. Whoever has
 * measured it says so.
 */
export function parseJson(bytes: Buffer, { excess, list } = sizeOf(bytes)): unknown {
  if (bytes.length === 0)
    throw new ApiError('invalid_json', { message: 'The body is empty; a JSON object is needed.' });
  if (excess !== undefined) throw tooMuch(excess);
  const value = (list && parseByItem(bytes, list)) ?? parseText(decodeUtf8(bytes));
  checkDepth(value);
  return value;
}

/**
 * One character beyond Latin-1 makes V8 keep a whole text in two bytes a character, and to decode and
 * parse such a text takes twice as long. So each item of a long list, such as the history of an
 * agent, is parsed by itself. Returns undefined where only the whole can say what is wrong.
 */
function parseByItem(bytes: Buffer, { start, end, commas }: ListPlace): object | undefined {
  const before = bytes.subarray(0, start);
  const after = bytes.subarray(end);
  if (commas.length < MIN_ITEMS || bytes[end - 1] !== CLOSING) return undefined;
  if (before.includes(MARK_ESCAPE) || after.includes(MARK_ESCAPE)) return undefined;
  try {
    const value: unknown = JSON.parse(utf8.decode(Buffer.concat([before, Buffer.from(MARK_JSON), after])));
    if (!isObject(value)) return undefined;
    const name = Object.keys(value).find((field) => value[field] === MARK);
    // Of fields with one name the last one counts, which may be another than the list.
    if (name === undefined) return undefined;
    const items = [...commas, end - 1].map((comma, index): unknown =>
      JSON.parse(utf8Within.decode(bytes.subarray((commas[index - 1] ?? start) + 1, comma))),
    );
    return Object.assign(value, { [name]: items });
  } catch {
    return undefined;
  }
}

const CLOSING = ']'.charCodeAt(0);

/** Throws ApiError `invalid_request` for a large body that has too much to be read. */
export function refuseExcess(bytes: Buffer): void {
  const { excess } = sizeOf(bytes);
  if (excess !== undefined) throw tooMuch(excess);
}

function tooMuch(excess: string): ApiError {
  return new ApiError('invalid_request', { message: `The body ${excess}.` });
}

const utf8 = new TextDecoder('utf-8', { fatal: true });
/** Only the body may begin with a mark of its byte order. */
const utf8Within = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

function decodeUtf8(bytes: Buffer): string {
  try {
    return utf8.decode(bytes);
  } catch (error) {
    throw new ApiError('invalid_json', { message: 'The body is not valid UTF-8.', cause: error });
  }
}

function parseText(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    // The parser's own message quotes the body, so it is not kept, not even as the cause.
    const place =
      text.length > MAX_SEARCHED
        ? `. The position of a mistake is only reported for a body of up to ${MAX_SEARCHED / 1024} KiB`
        : `: ${describe(text, findSyntaxError(text))}`;
    throw new ApiError('invalid_json', { message: `The body is not valid JSON${place}.` });
  }
}

function describe(text: string, position: number): string {
  if (position >= text.length) return 'it ends too early';
  const lines = text.slice(0, position).split('\n');
  return `unexpected character at line ${lines.length}, column ${(lines.at(-1)?.length ?? 0) + 1} (position ${position})`;
}

/** Goes level by level, so that deep nesting cannot exhaust the stack. */
function checkDepth(root: unknown): void {
  let level = isContainer(root) ? [root] : [];
  for (let depth = 1; level.length > 0; depth++) {
    if (depth > MAX_DEPTH) throw tooMuch(`is nested deeper than ${MAX_DEPTH} levels`);
    const below: Container[] = [];
    for (const container of level) {
      if (Array.isArray(container)) {
        for (const inner of container) if (isContainer(inner)) below.push(inner);
        continue;
      }
      for (const key in container) {
        const inner = container[key];
        if (key === '__proto__') Reflect.deleteProperty(container, key);
        else if (isContainer(inner)) below.push(inner);
      }
    }
    level = below;
  }
}

type Container = unknown[] | Record<string, unknown>;

function isContainer(value: unknown): value is Container {
  return typeof value === 'object' && value !== null;
}

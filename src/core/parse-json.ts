import { ApiError } from './errors.ts';
import { MAX_DEPTH, sizeOf } from './json-size.ts';
import { findSyntaxError } from './json-syntax.ts';

/** The search for a mistake takes far longer than the parser. */
const MAX_SEARCHED = 256 * 1024;

/**
 * Returns the value without own `__proto__` keys. Throws ApiError `invalid_json`, or
 * `invalid_request` if it is nested too deep or has too many arrays, objects or fields. Whoever has
 * measured it says so.
 */
export function parseJson(bytes: Buffer, { excess } = sizeOf(bytes)): unknown {
  if (bytes.length === 0)
    throw new ApiError('invalid_json', { message: 'The body is empty; a JSON object is needed.' });
  if (excess !== undefined) throw tooMuch(excess);
  const value = parseText(decodeUtf8(bytes));
  checkDepth(value);
  return value;
}

/** Throws ApiError `invalid_request` for a large body that has too much to be read. */
export function refuseExcess(bytes: Buffer): void {
  const { excess } = sizeOf(bytes);
  if (excess !== undefined) throw tooMuch(excess);
}

function tooMuch(excess: string): ApiError {
  return new ApiError('invalid_request', { message: `The body ${excess}.` });
}

const utf8 = new TextDecoder('utf-8', { fatal: true });

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
    const position =
      text.length > MAX_SEARCHED
        ? `. The position of a mistake is only reported for a body of up to ${MAX_SEARCHED / 1024} KiB`
        : `: ${describe(text, findSyntaxError(text))}`;
    throw new ApiError('invalid_json', { message: `The body is not valid JSON${position}.` });
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

/** Returns undefined for invalid JSON, because the parser's error would quote the text. */
export function readJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

export function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** Narrows to `unknown[]`, where Array.isArray narrows to `any[]`. */
export function isList(value: unknown): value is unknown[] {
  return Array.isArray(value);
}

/** Returns the list, or an empty one for any other value. */
export function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}

/** As a UTF-16 code unit or a byte. */
export const QUOTE = 0x22;
/** As a UTF-16 code unit or a byte. */
export const BACKSLASH = 0x5c;

/** Whether a UTF-16 code unit or a byte is white space in JSON. */
export function isSpace(code: number | undefined): boolean {
  return code === 0x20 || code === 0x0a || code === 0x0d || code === 0x09;
}

/** Returns the index of the quote that ends the JSON string, or the length of the text. */
export function endOfString(text: string, start: number): number {
  let quote = text.indexOf('"', start);
  while (quote >= 0 && isEscaped(text, quote)) quote = text.indexOf('"', quote + 1);
  return quote < 0 ? text.length : quote;
}

/** Whether an odd number of backslashes comes before this index. */
export function isEscaped(text: string, at: number): boolean {
  let backslashes = 0;
  while (text[at - 1 - backslashes] === '\\') backslashes += 1;
  return backslashes % 2 === 1;
}

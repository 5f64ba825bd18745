/** JSON of which nothing is known yet. */

/** What the text says as JSON; undefined where it is not JSON. The parser's own message would quote the text. */
export function readJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** Whether this is an object of named fields: no list, and not null. */
export function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** As Array.isArray, which makes `any[]` of what is unknown. */
export function isList(value: unknown): value is unknown[] {
  return Array.isArray(value);
}

import { readFileSync, statSync } from 'node:fs';

const MAX_BYTES = 1_048_576;

export type ValueFile =
  | { readonly lines: readonly string[]; readonly problem?: undefined }
  | { readonly lines?: undefined; readonly problem: string };

/** Returns the lines of a file that holds a value, without comments, or the problem in words that follow a name. Does not throw. */
export function readValueFile(path: string): ValueFile {
  try {
    if (statSync(path).size > MAX_BYTES) return { problem: `is larger than ${MAX_BYTES} bytes` };
    const lines = readFileSync(path, 'utf8').split('\n');
    return { lines: lines.filter((line) => !line.trimStart().startsWith('#')) };
  } catch {
    return { problem: 'cannot be read' };
  }
}

const KEY = /^[\x21-\x7e]{1,4096}$/;

/** Returns whether a header can carry this key. */
export function isKey(text: string): boolean {
  return KEY.test(text);
}

/** Returns the key in a file, which may be read again and again; undefined where it holds none now. Does not throw. */
export function readKeyFile(path: string): string | undefined {
  const isFile = statSync(path, { throwIfNoEntry: false })?.isFile() === true;
  const text = isFile ? readValueFile(path).lines?.join('\n').trim() : undefined;
  return text !== undefined && isKey(text) ? text : undefined;
}

import { readFileSync, statSync } from 'node:fs';

const MAX_BYTES = 1_048_576;

type SmallFile =
  | { readonly text: string; readonly problem?: undefined }
  | { readonly text?: undefined; readonly problem: string };

/** Returns the text of a file of at most 1 MiB, or the problem in words that follow a name. Does not throw. */
export function readSmallFile(path: string): SmallFile {
  try {
    const stats = statSync(path);
    // Reading a pipe would block the process until something writes to it.
    if (!stats.isFile()) return { problem: 'is not a file' };
    if (stats.size > MAX_BYTES) return { problem: `is larger than ${MAX_BYTES} bytes` };
    return { text: readFileSync(path, 'utf8') };
  } catch {
    return { problem: 'cannot be read' };
  }
}

/** Returns the lines of a file that holds a value, without comments. */
export function linesOf(text: string): readonly string[] {
  return text.split('\n').filter((line) => !line.trimStart().startsWith('#'));
}

const KEY = /^[\x21-\x7e]{1,4096}$/;

export function isKey(text: string): boolean {
  return KEY.test(text);
}

/** Returns the key in a file, which may be read again and again; undefined where it holds none now. Does not throw. */
export function readKeyFile(path: string): string | undefined {
  const key = linesOf(readSmallFile(path).text ?? '')
    .join('\n')
    .trim();
  return isKey(key) ? key : undefined;
}

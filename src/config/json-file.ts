import { readFileSync, statSync } from 'node:fs';

const MAX_BYTES = 1_048_576;

export type JsonFile =
  | { readonly value: unknown; readonly problem?: undefined }
  | { readonly value?: undefined; readonly problem: string };

/** Returns the value of a JSON file, or the problem in words that follow a name. Does not throw. */
export function readJsonFile(path: string): JsonFile {
  try {
    const stats = statSync(path);
    // Reading a pipe would block the process until something writes to it.
    if (!stats.isFile()) return { problem: 'is not a file' };
    if (stats.size > MAX_BYTES) return { problem: `is larger than ${MAX_BYTES} bytes` };
    const value: unknown = JSON.parse(readFileSync(path, 'utf8'));
    return { value };
  } catch (error) {
    return { problem: error instanceof SyntaxError ? 'is not valid JSON' : 'cannot be read' };
  }
}

import type { ValidateFunction } from 'ajv';
import { lazily } from '../core/lazily.ts';
import { readSmallFile } from './value-file.ts';

export type JsonFile =
  | { readonly value: unknown; readonly characters: number; readonly problem?: undefined }
  | { readonly value?: undefined; readonly characters?: undefined; readonly problem: string };

/** Returns the value of a JSON file, or the problem in words that follow a name. Does not throw. */
export function readJsonFile(path: string): JsonFile {
  const { text, problem } = readSmallFile(path);
  if (problem !== undefined) return { problem };
  try {
    return { value: JSON.parse(text), characters: text.length };
  } catch {
    return { problem: 'is not valid JSON' };
  }
}

const MAX_CHARACTERS_OF_ALL_MISTAKES = 65_536;

/**
 * Returns what compiles the validator of a file with so many characters: one that finds every mistake, and for a large file one
 * that ends with the first. Ajv copies all mistakes with each further one, which for 100,000 would take minutes.
 */
export function compileBySize<Value>(
  compile: (allErrors: boolean) => ValidateFunction<Value>,
): (characters: number) => ValidateFunction<Value> {
  const [findAll, findFirst] = [lazily(() => compile(true)), lazily(() => compile(false))];
  return (characters) => (characters > MAX_CHARACTERS_OF_ALL_MISTAKES ? findFirst() : findAll());
}

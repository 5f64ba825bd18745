import { existsSync } from 'node:fs';
import type { Environment } from './settings.ts';

const FILE = '.env';

/**
 * Adds to the environment of the process what `.env` in the working directory says, where there is one; what is in the
 * environment already goes first. Returns the names of the variables that come from the file. `env` is `process.env`.
 */
export function loadEnvFile(env: Environment): ReadonlySet<string> {
  if (!existsSync(FILE)) return new Set();
  const before = new Set(Object.keys(env));
  process.loadEnvFile(FILE);
  return new Set(Object.keys(env).filter((name) => !before.has(name)));
}

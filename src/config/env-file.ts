import { existsSync } from 'node:fs';
import type { Environment } from './settings.ts';

const FILE = '.env';

/**
 * Adds the variables of `.env` in the working directory to the environment; those that are set
 * already win. Returns the names that come from the file. `env` is `process.env`.
 */
export function loadEnvFile(env: Environment): ReadonlySet<string> {
  if (!existsSync(FILE)) return new Set();
  const before = new Set(Object.keys(env));
  process.loadEnvFile(FILE);
  return new Set(Object.keys(env).filter((name) => !before.has(name)));
}

import { existsSync } from 'node:fs';
import type { Environment } from './settings.ts';

export const ENV_FILE = '.env';

/** Adds the variables of `.env` that are not set yet to `process.env`, and returns their names. */
export function loadEnvFile(env: Environment): ReadonlySet<string> {
  if (!existsSync(ENV_FILE)) return new Set();
  const before = new Set(Object.keys(env));
  process.loadEnvFile(ENV_FILE);
  return new Set(Object.keys(env).filter((name) => !before.has(name)));
}

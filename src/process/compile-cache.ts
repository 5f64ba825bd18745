import { existsSync } from 'node:fs';
import { enableCompileCache } from 'node:module';
import { join } from 'node:path';

/**
 * Lets Node keep, for later starts, what it makes of the sources when they run as they lie in a clone: it strips their types
 * and compiles them, which is a third of a start. It is kept among the packages, where no other user can put anything; where
 * that cannot be written, nothing is. `env` is `process.env`, from which threads and further processes know of it.
 */
export function keepCompiled(programFolder: string, env: NodeJS.ProcessEnv): void {
  const packages = join(programFolder, '../node_modules');
  if (env['NODE_COMPILE_CACHE'] !== undefined || !existsSync(packages)) return;
  // What was compiled before is counted less exactly.
  if (env['NODE_V8_COVERAGE'] !== undefined) return;
  const folder = join(packages, '.cache/compiled');
  if (enableCompileCache(folder).directory !== undefined) env['NODE_COMPILE_CACHE'] = folder;
}

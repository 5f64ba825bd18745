/**
 * Loads what a start loads, and ends. `npm ci` runs it in a clone, so that Node has stripped and compiled the sources before the
 * first start (compile-cache.ts).
 */
import { join } from 'node:path';
import { findNodeProblem } from './node-version.ts';

if (findNodeProblem(process.versions.node) === undefined) {
  const { keepCompiled } = await import('./compile-cache.ts');
  keepCompiled(join(import.meta.dirname, '..'), process.env);
  const loaded = [import('./serve.ts'), import('../gateway.ts'), import('../store/sqlite/worker.ts')];
  // What cannot be loaded is for the start to tell, and not for npm ci to fail at.
  await Promise.allSettled(loaded);
}

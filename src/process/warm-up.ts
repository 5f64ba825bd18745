/** A part of `npm ci` in a clone, so that the first start finds compiled sources. */
import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { findNodeProblem } from './start-problem.ts';
import { KEEP_YOUNG, keepRequestsYoung } from './young-objects.ts';

if (findNodeProblem(process.versions.node) === undefined) {
  console.error('Compiling the gateway so that its first start is fast. This takes a few seconds …');
  keepRequestsYoung();
  const { keepCompiled } = await import('./compile-cache.ts');
  keepCompiled(join(import.meta.dirname, '..'), process.env);
  const loaded = [import('./serve.ts'), import('../gateway.ts'), import('../store/sqlite/worker.ts')];
  // The start reports what cannot be loaded; npm ci must not fail of it.
  await Promise.allSettled(loaded);
  // The program itself is compiled where it starts, here with a port that it refuses. What is compiled is kept for these flags alone.
  const main = join(import.meta.dirname, '../main.ts');
  spawnSync(process.execPath, [KEEP_YOUNG, main], { env: { ...process.env, PORT: 'none' }, stdio: 'ignore' });
}

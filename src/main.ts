import { findNodeProblem } from './process/node-version.ts';

const nodeProblem = findNodeProblem(process.versions.node);
if (nodeProblem === undefined) {
  // Imported only now: an old Node dies while it loads the database driver, before anything could be said.
  const { keepCompiled } = await import('./process/compile-cache.ts');
  keepCompiled(import.meta.dirname, process.env);
  const { serve } = await import('./process/serve.ts');
  await serve();
} else {
  console.error(nodeProblem);
  process.exitCode = 1;
}

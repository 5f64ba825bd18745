import { findNodeProblem } from './process/node-version.ts';

const nodeProblem = findNodeProblem(process.versions.node);
if (nodeProblem === undefined) {
  // The import is dynamic, because an old Node crashes in the database driver before it prints.
  const { keepCompiled } = await import('./process/compile-cache.ts');
  keepCompiled(import.meta.dirname, process.env);
  const { serve } = await import('./process/serve.ts');
  await serve();
} else {
  console.error(nodeProblem);
  process.exitCode = 1;
}

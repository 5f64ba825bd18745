import { findStartProblem } from './process/start-problem.ts';
import { keepRequestsYoung } from './process/young-objects.ts';

const problem = findStartProblem();
if (problem === undefined) {
  keepRequestsYoung();
  // The import is dynamic, because an old Node crashes in the database driver before it prints.
  const { keepCompiled } = await import('./process/compile-cache.ts');
  keepCompiled(import.meta.dirname, process.env);
  const { serve } = await import('./process/serve.ts');
  await serve();
} else {
  console.error(problem);
  process.exitCode = 1;
}

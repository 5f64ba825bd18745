import { findNodeProblem } from './node-version.ts';

/**
 * Returns in one line why nothing can start here; undefined when it can. Call it before a package
 * is imported.
 */
export function findStartProblem(): string | undefined {
  return findNodeProblem(process.versions.node) ?? findMissingPackages();
}

function findMissingPackages(): string | undefined {
  try {
    import.meta.resolve('express');
    return undefined;
  } catch {
    return 'Nothing is installed yet: run npm ci first.';
  }
}

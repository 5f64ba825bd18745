/** Node 20 crashes inside better-sqlite3, and the versions between are not tested. */
const LEAST_MAJOR = 22;
const LEAST_MINOR = 20;

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

/** Returns in one line why this version of Node cannot run the gateway; undefined when it can. */
export function findNodeProblem(version: string): string | undefined {
  const [major = 0, minor = 0] = version.split('.').map(Number);
  if (major > LEAST_MAJOR || (major === LEAST_MAJOR && minor >= LEAST_MINOR)) return undefined;
  return `The gateway needs Node ${LEAST_MAJOR}.${LEAST_MINOR} or newer; this is ${version}. In a clone of the repository, npm ci installs a newer one for npm start.`;
}

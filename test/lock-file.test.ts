import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'chai';

interface LockedPackage {
  readonly resolved?: string;
  readonly gypfile?: boolean;
  readonly optionalDependencies?: Readonly<Record<string, string>>;
}

const LOCK_FILES = ['../package-lock.json', 'clients/package-lock.json'];

/** What npm ci needs of a lock file, on every machine; npm install does not always leave it so. */
for (const lockFile of LOCK_FILES) {
  describe(`test/${lockFile}`, () => {
    const packages = readPackages(lockFile);

    it('names no registry, so that it works with any', () => {
      expect(Object.keys(packages)).to.include('node_modules/openai');
      expect(Object.values(packages).filter(({ resolved }) => resolved !== undefined)).to.deep.equal([]);
    });

    it('names the packages for all platforms, without which npm ci refuses it', () => {
      const names = Object.values(packages).flatMap((locked) => Object.keys(locked.optionalDependencies ?? {}));
      expect(names).to.satisfy((names: string[]) => names.some((name) => name.endsWith('-darwin-arm64')));
      expect(names.filter((name) => packages[`node_modules/${name}`] === undefined)).to.deep.equal([]);
    });
  });
}

describe('package-lock.json', () => {
  // npm 10 looks for this line here, not in the package itself, and would compile what is compiled already. npm install
  // leaves the line out: put it back.
  it('says that better-sqlite3 brings its binaries ("gypfile": false)', () => {
    expect(readPackages('../package-lock.json')['node_modules/better-sqlite3']).to.have.property('gypfile', false);
  });
});

function readPackages(lockFile: string): Record<string, LockedPackage> {
  const text = readFileSync(join(import.meta.dirname, lockFile), 'utf8');
  return (JSON.parse(text) as { packages: Record<string, LockedPackage> }).packages;
}

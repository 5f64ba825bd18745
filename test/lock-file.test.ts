import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'chai';

interface LockedPackage {
  readonly resolved?: string;
  readonly gypfile?: boolean;
  readonly optionalDependencies?: Readonly<Record<string, string>>;
}

const LOCK_FILE = join(import.meta.dirname, '../package-lock.json');

/** What npm ci needs of the lock file, on every machine; npm install does not always leave it so. */
describe('package-lock.json', () => {
  const { packages } = JSON.parse(readFileSync(LOCK_FILE, 'utf8')) as { packages: Record<string, LockedPackage> };

  it('names no registry, so that it works with any', () => {
    expect(Object.keys(packages)).to.include('node_modules/node');
    expect(Object.values(packages).filter(({ resolved }) => resolved !== undefined)).to.deep.equal([]);
  });

  it('names the packages for all platforms, without which npm ci refuses it', () => {
    const names = Object.values(packages).flatMap((locked) => Object.keys(locked.optionalDependencies ?? {}));
    expect(names).to.include('@oxlint/binding-darwin-arm64');
    expect(names.filter((name) => packages[`node_modules/${name}`] === undefined)).to.deep.equal([]);
  });

  // npm 10 looks for this line here, not in the package itself, and would compile what is compiled already. npm install
  // leaves the line out: put it back.
  it('says that better-sqlite3 brings its binaries ("gypfile": false)', () => {
    expect(packages['node_modules/better-sqlite3']).to.have.property('gypfile', false);
  });
});

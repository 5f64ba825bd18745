/** Who may import whom: the tables in src/README.md, held against every import. */
import { globSync, readFileSync } from 'node:fs';
import { dirname, join, normalize } from 'node:path';
import { expect } from 'chai';

const ROOT = join(import.meta.dirname, '..');

interface Room {
  readonly name: string;
  readonly rooms: readonly string[];
  readonly packages: readonly string[];
}

interface Import {
  readonly file: string;
  readonly room: string;
  /** As the table would have it. */
  readonly name: string;
  readonly isPackage: boolean;
}

const SYNTAX = /^(?:import|export)\b[^'";]*?\bfrom '([^'\n]+)'|^import '([^'\n]+)'|\bimport\('([^'\n]+)'\)/gm;
const table = readTable(readFileSync(join(ROOT, 'src/README.md'), 'utf8'));
const files = globSync('src/**/*.{ts,js}', { cwd: ROOT }).filter(
  (file) => !file.includes('/vendor/') && !file.includes('.generated.'),
);
const imports = files.flatMap((file) => importsOf(file, readFileSync(join(ROOT, file), 'utf8')));

describe('the rooms', () => {
  it('are all in the table', () => {
    expect(new Set(files.map(roomOf))).to.deep.equal(new Set(table.map(({ name }) => name)));
  });

  for (const { name, rooms, packages } of table) {
    const own = imports.filter(({ room }) => room === name);

    it(`${name} imports no room that the table does not name`, () => {
      const others = own.filter((each) => !each.isPackage && !rooms.some((room) => covers(room, each.name)));
      expect(others).to.deep.equal([]);
    });

    it(`${name} imports no package that the table does not name`, () => {
      const others = own.filter((each) => each.isPackage && !packages.some((known) => isOf(known, each.name)));
      expect(others).to.deep.equal([]);
    });

    it(`${name} needs all that the table allows it`, () => {
      const unused = [
        ...rooms.filter((room) => !own.some((each) => !each.isPackage && covers(room, each.name))),
        ...packages.filter((known) => !own.some((each) => each.isPackage && isOf(known, each.name))),
      ];
      expect(unused).to.deep.equal([]);
    });
  }

  it('stand above each other, none of them in a circle', () => {
    const placed = new Set<string>();
    const isPlaced = (room: string): boolean => placed.has(room.split('/')[0] ?? '');
    for (let left = table; left.length > 0; left = left.filter(({ name }) => !placed.has(name))) {
      const next = left.filter(({ rooms }) => rooms.every(isPlaced)).map(({ name }) => name);
      expect(next, `of ${left.map(({ name }) => name).join(', ')}`).to.have.length.above(0);
      for (const name of next) placed.add(name);
    }
  });

  it('are found in every kind of import', () => {
    const source = [
      `import type { A } from '../http/app.ts';`,
      `export { b } from '../store/sqlite/open.ts';`,
      `import {\n  c,\n} from '../store/store.ts';`,
      `const d = await import('../gateway.ts');`,
      `import 'pg';`,
      `import e from '@opentelemetry/api';`,
    ];
    expect(importsOf('src/core/ids.ts', source.join('\n')).map(({ name }) => name)).to.deep.equal([
      'http',
      'store/sqlite',
      'store',
      'gateway.ts',
      'pg',
      '@opentelemetry/api',
    ]);
  });
});

/** Reads the table whose first column is a room, and whose last two are rooms and packages in backquotes. */
function readTable(markdown: string): readonly Room[] {
  const rows = markdown.split('\n').filter((line) => /^\| `[\w.-]+` \|/.test(line) && line.split('|').length === 6);
  return rows.map((row) => {
    const [, name = '', , rooms = '', packages = ''] = row.split('|');
    const [only = ''] = namesIn(name);
    return { name: only, rooms: namesIn(rooms), packages: namesIn(packages) };
  });
}

function namesIn(cell: string): readonly string[] {
  return Array.from(cell.matchAll(/`([^`]+)`/g), ([, name = '']) => name);
}

/** Imports within a room, and of schemas and the package file, are free. */
function importsOf(file: string, source: string): readonly Import[] {
  const room = roomOf(file);
  // Comments of the console name types, which no browser loads, and its snippets are for other programs.
  const code = file.endsWith('.js') ? source.replaceAll(/^\s*(?:\/\*\*|\*|\/\/).*$|`[^`]*`/gm, '') : source;
  const names = Array.from(code.matchAll(SYNTAX), ([, from, alone, later]) => from ?? alone ?? later ?? '');
  return names.flatMap((name): readonly Import[] => {
    if (!name.startsWith('.')) {
      const isPackage = /^(?:node:)?@?[a-z][\w./-]*$/.test(name);
      return isPackage ? [{ file, room, name: packageOf(name), isPackage }] : [];
    }
    const target = normalize(join(dirname(file), name));
    if (!target.startsWith('src/') || roomOf(target) === room) return [];
    const [, top = '', sub = ''] = target.split('/');
    const isDeep = target.split('/').length > 3 && top === 'store';
    return [{ file, room, name: isDeep ? `${top}/${sub}` : top, isPackage: false }];
  });
}

function roomOf(file: string): string {
  return file.split('/')[1] ?? '';
}

function packageOf(name: string): string {
  const [scope = '', second = ''] = name.split('/');
  return scope.startsWith('@') ? `${scope}/${second}` : scope;
}

function covers(allowed: string, room: string): boolean {
  return allowed === room || (allowed.endsWith('/*') && room.split('/')[0] === allowed.slice(0, -2));
}

/** `node` stands for every module of Node. */
function isOf(known: string, name: string): boolean {
  return known === name || (known === 'node' && name.startsWith('node:'));
}

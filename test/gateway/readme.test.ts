import { execFile } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect } from 'chai';

const ROOT = join(import.meta.dirname, '../..');
/** In the examples for clients, which are other programs with variables of their own. */
const CLIENT_VARIABLES = ['GATEWAY_API_KEY'];

/** What README shows is run as it stands. */
describe('README', () => {
  const readme = readFileSync(join(ROOT, 'README.md'), 'utf8');
  let folder: string;

  beforeEach(() => {
    // Inside the project, so that the example finds its imports.
    folder = mkdtempSync(join(ROOT, 'test', 'readme-'));
  });

  afterEach(() => {
    rmSync(folder, { recursive: true, force: true });
  });

  it('has an example of embedding that passes', async () => {
    const example = /## Embedding\n[\s\S]*?```ts\n([\s\S]*?)```/.exec(readme)?.[1] ?? '';
    expect(example).to.include('createGateway');
    const file = join(folder, 'example.ts');
    writeFileSync(file, example.replace('./src/gateway.ts', '../../src/gateway.ts'));
    const mocha = join(ROOT, 'node_modules/mocha/bin/mocha.js');
    const { stdout } = await promisify(execFile)(process.execPath, [mocha, '--no-config', '--exit', file], {
      cwd: ROOT,
    });
    expect(stdout).to.include('1 passing');
  }).timeout(20_000);

  it('names every setting by its right name', () => {
    const settings = JSON.parse(readFileSync(join(ROOT, 'schemas/settings.json'), 'utf8')) as { properties: object };
    const known = new Set([...Object.keys(settings.properties), ...CLIENT_VARIABLES]);
    const named = [...readme.matchAll(/`([A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+)[=`]/g)].map((match) => match[1]);
    expect(named.filter((name) => name !== undefined && !known.has(name))).to.deep.equal([]);
  });
});

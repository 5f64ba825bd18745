import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect } from 'chai';
import { openGateway, type TestGateway } from '../support/gateway.ts';
import { blocksRunAs } from './blocks.ts';
import { ROOT, type Block } from './documents.ts';

const run = promisify(execFile);
/** One that has the package `openai` runs the programs in Python; any other one reads them. */
const PYTHON = process.env['PYTHON'] ?? 'python3';
const READ = 'import ast, sys; ast.parse(sys.argv[1])';

/** What README and the guides show is run as it stands, but for the port of the gateway. */
describe('each program of a guide', () => {
  let gateway: TestGateway;

  beforeEach(async () => {
    gateway = await openGateway({});
  });

  afterEach(() => gateway.close());

  for (const block of blocksRunAs('program').filter(({ language }) => language === 'js')) {
    it(`runs in front of the demo backend: ${nameOf(block)}`, async () => {
      const args = ['--input-type=module', '--eval', block.code.replaceAll('http://127.0.0.1:8080', gateway.url)];
      const { stdout } = await run(process.execPath, args, { cwd: ROOT, env: environment() });
      expect(stdout.trim()).not.to.equal('');
    });
  }

  describe('in Python', () => {
    let canRun: boolean;

    before(async function () {
      canRun = await works(PYTHON, '-c', 'import openai');
      if (canRun) return;
      const canRead = await works(PYTHON, '--version');
      console.log(`\n  not run, since there is no ${canRead ? 'package openai' : PYTHON}: the programs in Python`);
      if (!canRead) this.skip();
    });

    for (const block of blocksRunAs('program').filter(({ language }) => language === 'python')) {
      it(`runs in front of the demo backend: ${nameOf(block)}`, async () => {
        const code = block.code.replaceAll('http://127.0.0.1:8080', gateway.url);
        const args = canRun ? ['-c', code] : ['-c', READ, code];
        const { stdout } = await run(PYTHON, args, { env: environment() });
        if (canRun) expect(stdout.trim()).not.to.equal('');
      });
    }
  });
});

describe('each test of a guide', () => {
  let folder: string;

  beforeEach(() => {
    // Inside the project, so that it finds its imports.
    folder = mkdtempSync(join(ROOT, 'test', 'readme-'));
  });

  afterEach(() => rmSync(folder, { recursive: true, force: true }));

  for (const block of blocksRunAs('mocha')) {
    it(`passes: ${nameOf(block)}`, async () => {
      const file = join(folder, 'example.ts');
      writeFileSync(file, block.code.replace('./src/gateway.ts', '../../src/gateway.ts'));
      const mocha = join(ROOT, 'node_modules/mocha/bin/mocha.js');
      const { stdout } = await run(process.execPath, [mocha, '--no-config', '--exit', file], { cwd: ROOT });
      expect(stdout).to.match(/ [1-9]\d* passing/);
    });
  }
});

function works(command: string, ...args: readonly string[]): Promise<boolean> {
  return run(command, args).then(
    () => true,
    () => false,
  );
}

function nameOf({ path, line }: Block): string {
  return `${path}:${line}`;
}

function environment(): NodeJS.ProcessEnv {
  return { ...process.env, GATEWAY_API_KEY: 'demo' };
}

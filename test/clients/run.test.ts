import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, readdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, dirname, join } from 'node:path';
import { text } from 'node:stream/consumers';
import { expect } from 'chai';
import { hashFolder } from '../support/hash-folder.ts';
import { HAS_OPENCODE, NOTHING_SENT_HOME, PROGRAMS } from './turns/agents.ts';

const MAIN = join(import.meta.dirname, '../../src/cli/main.ts');

const AGENTS = [
  { name: 'codex', args: ['exec', '--skip-git-repo-check', 'Say hello.'], file: '.codex/config.toml' },
  { name: 'opencode', args: ['run', '--title', 'Hello', 'Say hello.'], file: '.config/opencode/opencode.json' },
  { name: 'pi', args: ['-p', 'Say hello.'], file: '.pi/agent/models.json' },
] as const;

describe('run', () => {
  let root: string;
  let home: string;

  beforeEach(() => {
    root = mkdtempSync(join(tmpdir(), 'run-'));
    home = join(root, 'home');
    for (const name of ['home', 'bin', 'tmp', 'work']) mkdirSync(join(root, name));
    for (const [name, path] of Object.entries(PROGRAMS)) symlinkSync(path, join(root, 'bin', name));
  });
  afterEach(() => rmSync(root, { recursive: true }));

  for (const { name, args, file } of AGENTS) {
    it(`gets an answer of the demo backend for ${name}, whose own settings it neither reads nor changes`, async function () {
      if (name === 'opencode' && !HAS_OPENCODE) {
        console.log('\n  not run, since opencode has no package for this system: run opencode');
        return this.skip();
      }
      mkdirSync(join(home, dirname(file)), { recursive: true });
      writeFileSync(join(home, file), 'broken');
      const before = hashFolder(home);
      const env = {
        ...NOTHING_SENT_HOME,
        HOME: home,
        TMPDIR: join(root, 'tmp'),
        PATH: [join(root, 'bin'), dirname(process.execPath), process.env['PATH']].join(delimiter),
      };
      const child = spawn(process.execPath, [MAIN, 'run', name, '--', ...args], {
        cwd: join(root, 'work'),
        env,
        stdio: ['ignore', 'pipe', 'pipe'],
      });
      const [stdout, stderr] = await Promise.all([text(child.stdout), text(child.stderr), once(child, 'close')]);
      expect(child.exitCode, stderr).to.equal(0);
      expect(stdout).to.include('Hello from the demo backend!');
      expect(hashFolder(home)).to.equal(before);
      expect(readdirSync(join(root, 'tmp')).filter((left) => left.startsWith('responses-gateway-'))).to.deep.equal([]);
    });
  }
});

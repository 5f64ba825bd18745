import { execFile, execFileSync } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect } from 'chai';
import { blocksRunAs } from '../docs/blocks.ts';
import { ROOT } from '../docs/documents.ts';
import { DEPLOY, MANIFESTS, readManifests } from './files.ts';
import { readDashboard } from './queries.ts';

const run = promisify(execFile);
const ENV = { PATH: `${process.env['PATH']}:/usr/sbin` };

interface Check {
  readonly name: string;
  readonly program: string;
  /** Prints the version, or the help. */
  readonly version: readonly string[];
  readonly args: readonly string[];
}

const CHECKS: readonly Check[] = [
  {
    name: 'compose.yaml',
    program: 'docker-compose',
    version: ['version'],
    args: ['-f', 'compose.yaml', 'config', '--quiet'],
  },
  { name: 'haproxy.cfg', program: 'haproxy', version: ['-v'], args: ['-c', '-q', '-f', 'haproxy.cfg'] },
  {
    name: 'prometheus.yml, with alerts.yml',
    program: 'promtool',
    version: ['--version'],
    args: ['check', 'config', 'prometheus.yml'],
  },
  {
    name: 'alertmanager.yml',
    program: 'amtool',
    version: ['--version'],
    args: ['check-config', 'alertmanager.yml'],
  },
  {
    name: 'the queries of dashboard.json',
    program: 'promtool',
    version: ['--version'],
    args: ['check', 'rules', 'queries.yml'],
  },
];

describe('the files in src/deploy', () => {
  let folder: string;

  before(() => {
    folder = mkdtempSync(join(tmpdir(), 'deploy-'));
    cpSync(DEPLOY, folder, { recursive: true });
    // What the guide says to write.
    writeFileSync(
      join(folder, '.env'),
      'UPSTREAM_BASE_URL=http://backend:8000/v1\nPOSTGRES_PASSWORD=p\nGATEWAY_SECRET=s\n',
    );
    mkdirSync(join(folder, 'config'), { recursive: true });
    writeFileSync(join(folder, 'config/metrics-token'), 't'.repeat(16));
    const rules = readDashboard().map(({ query }, at) => ({ record: `query:${at}`, expr: query }));
    writeFileSync(join(folder, 'queries.yml'), JSON.stringify({ groups: [{ name: 'queries', rules }] }));
  });

  after(() => rmSync(folder, { recursive: true }));

  for (const { name, program, version, args } of CHECKS) {
    it(`are what ${program} takes: ${name}`, async function () {
      if (!canRun(program, version)) {
        console.log(`\n  not run, since ${program} is not installed: ${name}`);
        return this.skip();
      }
      await run(program, args, { cwd: folder, env: ENV });
    });
  }

  for (const file of MANIFESTS) {
    it(`have names and values that the types of Kubernetes know: ${file}`, async () => {
      const typed = readManifests(file).map(
        (object) =>
          `(${JSON.stringify(object)}) satisfies import('kubernetes-models/${object.apiVersion}').I${object.kind};\n`,
      );
      // The compiler finds the package from here alone.
      const program = join(ROOT, `node_modules/.cache/${file}.mts`);
      mkdirSync(join(ROOT, 'node_modules/.cache'), { recursive: true });
      writeFileSync(program, typed.join(''));
      try {
        const args = ['--noEmit', '--ignoreConfig', '--strict', '--skipLibCheck', '--module', 'nodenext', program];
        const { stdout } = await run(join(ROOT, 'node_modules/.bin/tsc'), args).catch((error: unknown) => {
          // It prints its complaints, and the error has them.
          if (error instanceof Error && 'stdout' in error) return error;
          throw error;
        });
        expect(stdout).to.equal('');
      } finally {
        rmSync(program);
      }
    });
  }
});

describe('the unit of systemd in the guide', () => {
  it('is what systemd takes', async function () {
    if (!canRun('systemd-analyze', ['--version'])) {
      console.log('\n  not run, since systemd is not installed: the unit');
      return this.skip();
    }
    const folder = mkdtempSync(join(tmpdir(), 'unit-'));
    try {
      for (const { code } of blocksRunAs('unit')) {
        const file = join(folder, 'responses-gateway.service');
        // The program of the guide is not on every machine.
        writeFileSync(file, code.replace(/^ExecStart=\S+/m, `ExecStart=${process.execPath}`));
        const { stderr } = await run('systemd-analyze', ['verify', '--man=no', file], { env: ENV });
        expect(stderr.split('\n').filter((line) => line.includes(file))).to.deep.equal([]);
      }
    } finally {
      rmSync(folder, { recursive: true });
    }
  });
});

function canRun(program: string, args: readonly string[]): boolean {
  try {
    execFileSync(program, args, { stdio: 'ignore', env: ENV });
    return true;
  } catch {
    return false;
  }
}

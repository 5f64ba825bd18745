import { execFile, execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect } from 'chai';
import { parse, parseAllDocuments } from 'yaml';
import packageJson from '../../package.json' with { type: 'json' };
import settings from '../../schemas/settings.json' with { type: 'json' };
import { readConfig } from '../../src/config/config.ts';
import { blocksRunAs } from '../docs/blocks.ts';
import { ROOT } from '../docs/documents.ts';
import { readDashboard } from './queries.ts';

const run = promisify(execFile);
const DEPLOY = join(ROOT, 'src/deploy');
const ENV = {
  PATH: `${process.env['PATH']}:/usr/sbin`,
  UPSTREAM_BASE_URL: 'http://backend:8000/v1',
  POSTGRES_PASSWORD: 'p',
  GATEWAY_SECRET: 's',
  METRICS_TOKEN: 't',
};
const GRACE_S = (5000 + settings.properties.DRAIN_TIMEOUT_MS.default) / 1000 + 5;

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
    name: 'prometheus.yml',
    program: 'promtool',
    version: ['--version'],
    args: ['check', 'config', '--syntax-only', 'prometheus.yml'],
  },
  { name: 'alerts.yml', program: 'promtool', version: ['--version'], args: ['check', 'rules', 'alerts.yml'] },
];

describe('the files in src/deploy', () => {
  for (const { name, program, version, args } of CHECKS) {
    it(`are what ${program} takes: ${name}`, async function () {
      if (!canRun(program, version)) {
        console.log(`\n  not run, since ${program} is not installed: ${name}`);
        return this.skip();
      }
      await run(program, args, { cwd: DEPLOY, env: ENV });
    });
  }

  it('have queries that promtool takes: dashboard.json', async function () {
    if (!canRun('promtool', ['--version'])) {
      console.log('\n  not run, since promtool is not installed: the queries of dashboard.json');
      return this.skip();
    }
    const folder = mkdtempSync(join(tmpdir(), 'dashboard-'));
    try {
      const rules = readDashboard().map(({ query }, at) => ({ record: `query:${at}`, expr: query }));
      writeFileSync(join(folder, 'queries.yml'), JSON.stringify({ groups: [{ name: 'queries', rules }] }));
      await run('promtool', ['check', 'rules', 'queries.yml'], { cwd: folder, env: ENV });
    } finally {
      rmSync(folder, { recursive: true });
    }
  });

  it('set only settings that there are, and give a gateway the time to drain', () => {
    const { services } = parse(read('compose.yaml'), { merge: true }) as Compose;
    const [deployment] = parseAllDocuments(read('kubernetes.yaml')).map((document) => document.toJS() as Deployment);
    const pod = deployment?.spec.template.spec;
    const names = [
      ...Object.keys(services['gateway-a']?.environment ?? {}),
      ...(pod?.containers.flatMap(({ env }) => env.map(({ name }) => name)) ?? []),
    ];
    expect(names).to.include.members(['UPSTREAM_BASE_URL', 'DRAIN_DELAY_MS', 'GATEWAY_SECRET']);
    expect(names.filter((name) => !(name in settings.properties))).to.deep.equal([]);
    expect(pod?.terminationGracePeriodSeconds).to.be.at.least(GRACE_S);
    expect(services['gateway-b']?.stop_grace_period).to.equal(`${GRACE_S}s`);
  });

  it('let nobody in without a key, and believe no address that a caller writes: kubernetes.yaml', () => {
    const [deployment] = parseAllDocuments(read('kubernetes.yaml')).map((document) => document.toJS() as Deployment);
    const [container] = deployment?.spec.template.spec.containers ?? [];
    const { authMode, trustProxy } = readConfig({
      ...Object.fromEntries(container?.env.map(({ name, value }) => [name, value]) ?? []),
      DATABASE_URL: 'postgres://user@database/gateway',
      GATEWAY_SECRET: 's'.repeat(32),
    });
    expect(authMode).to.equal('managed');
    expect(trustProxy, 'there is no proxy in the file').to.equal(0);
  });

  it('run the image that the first lines build, whether or not a registry has it: kubernetes.yaml', () => {
    const [deployment] = parseAllDocuments(read('kubernetes.yaml')).map((document) => document.toJS() as Deployment);
    const [container] = deployment?.spec.template.spec.containers ?? [];
    const image = `responses-gateway:${packageJson.version}`;
    expect(container).to.include({ image, imagePullPolicy: 'IfNotPresent' });
    expect(read('kubernetes.yaml')).to.include(`#   docker build -t ${image} .\n`);
  });

  it('name objects of Kubernetes that belong together', () => {
    const documents = parseAllDocuments(read('kubernetes.yaml'));
    expect(documents.flatMap(({ errors }) => errors)).to.deep.equal([]);
    const [deployment, service, budget] = documents.map((document) => document.toJS() as Deployment);
    const labels = deployment?.spec.template.metadata.labels;
    expect(deployment?.spec.selector).to.deep.equal({ matchLabels: labels });
    expect(service?.spec.selector).to.deep.equal(labels);
    expect(budget?.spec.selector).to.deep.equal({ matchLabels: labels });
  });
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

describe('the image', () => {
  const dockerfile = readFileSync(join(ROOT, 'Dockerfile'), 'utf8');

  it('is made of files that the build is given', () => {
    const given = readFileSync(join(ROOT, '.dockerignore'), 'utf8').split('\n');
    const copied = [...dockerfile.matchAll(/^COPY (?!--from)(.+) \S+$/gm)].flatMap(([, names = '']) =>
      names.split(' '),
    );
    expect(copied).to.include.members(['package.json', 'src', 'schemas']);
    expect(copied.filter((name) => !given.includes(`!${name}`))).to.deep.equal([]);
  });

  it('runs as a user without rights, with the command line in its path', () => {
    expect(dockerfile).to.match(/^USER [1-9]\d*:[1-9]\d*$/m);
    expect(dockerfile).to.match(/^ENTRYPOINT \["responses-gateway"\]$/m);
  });
});

interface Compose {
  readonly services: Readonly<
    Record<string, { readonly environment?: Readonly<Record<string, string>>; readonly stop_grace_period?: string }>
  >;
}

interface Deployment {
  readonly spec: {
    readonly selector: unknown;
    readonly template: {
      readonly metadata: { readonly labels: unknown };
      readonly spec: {
        readonly terminationGracePeriodSeconds: number;
        readonly containers: readonly { readonly env: readonly { readonly name: string; readonly value: string }[] }[];
      };
    };
  };
}

function read(name: string): string {
  return readFileSync(join(DEPLOY, name), 'utf8');
}

function canRun(program: string, args: readonly string[]): boolean {
  try {
    execFileSync(program, args, { stdio: 'ignore', env: ENV });
    return true;
  } catch {
    return false;
  }
}

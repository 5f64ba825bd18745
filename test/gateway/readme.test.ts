import { execFile, execFileSync } from 'node:child_process';
import { existsSync, globSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect } from 'chai';
import { startGatewayProcess, type GatewayProcess } from '../support/gateway-process.ts';

const run = promisify(execFile);
const ROOT = join(import.meta.dirname, '../..');
/** In the examples for clients, which are other programs with variables of their own. */
const CLIENT_VARIABLES = ['GATEWAY_API_KEY'];

/** README and the guides by their paths. */
const DOCUMENTS: ReadonlyMap<string, string> = new Map(
  ['README.md', ...globSync('src/docs/*.md', { cwd: ROOT }).toSorted()].map((path) => [
    path,
    readFileSync(join(ROOT, path), 'utf8'),
  ]),
);

/** What README and the guides show is run as it stands. */
describe('README with the guides', () => {
  let folder: string;

  beforeEach(() => {
    // Inside the project, so that the example finds its imports.
    folder = mkdtempSync(join(ROOT, 'test', 'readme-'));
  });

  afterEach(() => {
    rmSync(folder, { recursive: true, force: true });
  });

  it('has an example of embedding that passes', async () => {
    const clients = DOCUMENTS.get('src/docs/clients.md') ?? '';
    const example = /## Embedding\n[\s\S]*?```ts\n([\s\S]*?)```/.exec(clients)?.[1] ?? '';
    expect(example).to.include('createGateway');
    const file = join(folder, 'example.ts');
    writeFileSync(file, example.replace('./src/gateway.ts', '../../src/gateway.ts'));
    const mocha = join(ROOT, 'node_modules/mocha/bin/mocha.js');
    const { stdout } = await run(process.execPath, [mocha, '--no-config', '--exit', file], {
      cwd: ROOT,
    });
    expect(stdout).to.include('1 passing');
  });

  for (const [path, text] of DOCUMENTS) {
    it(`names every setting by its right name: ${path}`, () => {
      const settings = JSON.parse(readFileSync(join(ROOT, 'schemas/settings.json'), 'utf8')) as { properties: object };
      const known = new Set([...Object.keys(settings.properties), ...CLIENT_VARIABLES]);
      const named = [...text.matchAll(/`([A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+)[=`]/g)].map((match) => match[1]);
      expect(named.filter((name) => name !== undefined && !known.has(name))).to.deep.equal([]);
    });

    it(`names only tests that there are: ${path}`, () => {
      const named = [...text.matchAll(/`(test\/[\w./-]+\.ts)`/g)].map((match) => match[1] ?? '');
      expect(named.filter((name) => !existsSync(join(ROOT, name)))).to.deep.equal([]);
    });

    it(`has one base URL and one name of the key in its examples: ${path}`, () => {
      const examples = [...text.matchAll(/```(?:sh|ts|js|python|toml)\n(.*?)```/gs)].map(([, code]) => code).join('');
      const urls = [...examples.matchAll(/\bhttps?:\/\/127\.0\.0\.1:\d+(?:\/[\w-]+){0,2}/g)].map(([url]) => url);
      for (const url of urls) expect(url).to.match(/^http:\/\/127\.0\.0\.1:8080\/(?:api\/v1|admin\/v1)$/);
      const keys = [...examples.matchAll(/Bearer (\S+?)['"]|(\w*API_KEY)\b/g)].map(([, key, name]) => key ?? name);
      expect(
        keys.filter((key) => !['$GATEWAY_API_KEY', 'GATEWAY_API_KEY', '$ADMIN_TOKEN'].includes(key ?? '')),
      ).to.deep.equal([]);
    });
  }

  it('names the versions of the clients that the tests install', () => {
    const { dependencies } = JSON.parse(readFileSync(join(ROOT, 'test/clients/package.json'), 'utf8')) as {
      dependencies: Record<string, string>;
    };
    const rows = [...(DOCUMENTS.get('src/docs/clients.md') ?? '').matchAll(/^\|.*\| `(\S+)` \| (\d\S*) \|$/gm)];
    expect(rows).not.to.deep.equal([]);
    for (const [, name = '', version] of rows) expect(dependencies[name], name).to.equal(version);
  });
});

describe('the guide on managed keys', () => {
  const guide = DOCUMENTS.get('src/docs/managed-keys.md') ?? '';
  const [files = '', ...blocks] = [...guide.matchAll(/```sh\n(.*?)```/gs)].map(([, code = '']) => code);
  let folder: string;
  let gateway: GatewayProcess | undefined;

  before(function () {
    if (canRunShell()) return;
    console.log('\n  not run, since there is no bash or no curl: the commands of the guide on managed keys');
    this.skip();
  });

  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'readme-'));
    writeFileSync(join(folder, '.curlrc'), 'silent\nshow-error\nfail-with-body\n');
  });

  afterEach(async () => {
    gateway?.kill();
    await gateway?.ended();
    rmSync(folder, { recursive: true, force: true });
  });

  it('shows commands that work one after another, from the first file to the usage of all', async () => {
    await shell(files.replaceAll(/^npm .*$/gm, ''));
    gateway = await startGatewayProcess({ DATABASE_URL: 'file:./data/gateway.db' }, { folder });
    const { url = '' } = gateway;
    let said = '';
    for (const block of blocks) {
      const command = block
        .replaceAll('http://127.0.0.1:8080', url)
        .replaceAll('npm run -s cli --', `'${process.execPath}' '${join(ROOT, 'src/cli/main.ts')}'`)
        .replaceAll('rgk_…', /rgk_\w{40}/.exec(said)?.[0] ?? '');
      said += await shell(command);
    }
    expect(said).to.match(/^balance +10\.00$/m);
    // 9 tokens of input at 2.50 and 20 of output at 10.00, rounded up.
    expect(said).to.include('"balance":9999777,"held":0').and.to.include('settle   -0.000223');
    expect(said)
      .to.match(/\d{4}-\d\d +alice .* 0\.000223 /)
      .and.to.match(/"key":"key_\w+".*"cost":223/);
    expect(said).to.match(/^status +disabled$/m);
  });

  async function shell(script: string): Promise<string> {
    const env = { PATH: process.env['PATH'], CURL_HOME: folder };
    const { stdout } = await run('bash', ['-euc', script], { cwd: folder, env });
    return stdout;
  }
});

function canRunShell(): boolean {
  try {
    execFileSync('bash', ['-c', 'curl --version'], { stdio: 'ignore' });
    return true;
  } catch {
    return false;
  }
}

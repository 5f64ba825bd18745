import { existsSync, globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'chai';
import packageJson from '../../package.json' with { type: 'json' };
import settings from '../../schemas/settings.json' with { type: 'json' };
import { isGone } from '../../src/config/gone-settings.ts';
import { ERRORS } from '../../src/core/errors.ts';
import clients from '../clients/package.json' with { type: 'json' };
import { HEAVY_CLIENTS } from '../lab/heavy/clients.ts';
import { howIsRun } from './blocks.ts';
import { BLOCKS, DOCUMENTS, ROOT } from './documents.ts';

/** What the examples read beside the settings: clients, compose.yaml, Node and other programs have variables of their own. */
const OTHER_VARIABLES = [
  'ALL_PROXY',
  'BACKEND_LOGIN',
  'GATEWAY_API_KEY',
  'HTTPS_PROXY',
  'HTTP_PROXY',
  'NODE_EXTRA_CA_CERTS',
  'NO_PROXY',
  'OTEL_EXPORTER_OTLP_ENDPOINT',
  'POSTGRES_PASSWORD',
];
const BASE_URL = /^http:\/\/127\.0\.0\.1:8080\/(?:api\/v1|admin\/v1)$/;
const EXAMPLES = new Set(['sh', 'ts', 'js', 'python', 'toml']);
const KEYS = new Set(['$GATEWAY_API_KEY', 'GATEWAY_API_KEY', '$ADMIN_TOKEN']);
const ALL = DOCUMENTS.map(({ text }) => text).join('\n');

for (const { path, text } of DOCUMENTS) {
  describe(`names in ${path}`, () => {
    it('are those of settings, where they look like one', () => {
      const names = Object.keys(settings.properties);
      const known = new Set([...names, ...names.map((name) => `${name}_FILE`), 'NAME_FILE', ...OTHER_VARIABLES]);
      const named = text.matchAll(/(?<![\w.$-])([A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+)(?=[=`])/g);
      expect([...named].map(([, name = '']) => name).filter((name) => !known.has(name) && !isGone(name))).to.deep.equal(
        [],
      );
    });

    it('are those of tests that there are', () => {
      const named = [...text.matchAll(/`(test\/[\w./-]+\.ts)`/g)].map(([, name = '']) => name);
      expect(named.filter((name) => !existsSync(join(ROOT, name)))).to.deep.equal([]);
    });

    it('are those of scripts that there are', () => {
      const scripts = new Set(Object.keys(packageJson.scripts));
      const named = [...text.matchAll(/\bnpm run (?:-s |--silent )?([\w:]+)/g)].map(([, name = '']) => name);
      expect(named.filter((name) => !scripts.has(name))).to.deep.equal([]);
      const lab = readFileSync(join(ROOT, 'test/lab/run.ts'), 'utf8');
      const programs = [...text.matchAll(/\bnpm run lab (\w+)/g)].map(([, name = '']) => name);
      expect(programs.filter((name) => !lab.includes(`\n  ${name}: {`))).to.deep.equal([]);
    });

    it('are one base URL and one key in all examples', () => {
      // The paths of the description begin with /api/v1.
      const code = BLOCKS.filter((block) => block.path === path && EXAMPLES.has(block.language))
        .filter((block) => howIsRun(block) !== 'generated')
        .map((block) => block.code)
        .join('');
      const urls = [...code.matchAll(/\bhttps?:\/\/127\.0\.0\.1:\d+(?:\/[\w-]+){0,2}/g)].map(([url]) => url);
      expect(urls.filter((url) => !BASE_URL.test(url))).to.deep.equal([]);
      const keys = [...code.matchAll(/Bearer (\S+?)['"]|\b(\w*API_KEY)\b/g)].map(([, key, name = '']) => key ?? name);
      expect(keys.filter((key) => !KEYS.has(key))).to.deep.equal([]);
    });

    it('are those of metrics that are served', () => {
      const served = globSync('src/telemetry/*.ts', { cwd: ROOT })
        .map((file) => readFileSync(join(ROOT, file), 'utf8'))
        .join('\n');
      const named = [...text.matchAll(/\b(?:responses_gateway|gen_ai)_\w*[a-z]/g)].map(([name]) => name);
      expect(named.filter((name) => !served.includes(name.replace(/_(?:bucket|sum|count)$/, '')))).to.deep.equal([]);
    });
  });
}

describe('the name of the package', () => {
  // No registry has it: whoever registered it there would run code at the reader's.
  it('is never asked of a registry by what the guides, the messages or the files of src tell people to run', () => {
    const files = globSync(['README.md', '.env.example', 'Dockerfile', '.github/**/*', 'schemas/*', 'src/**/*'], {
      cwd: ROOT,
      withFileTypes: true,
    }).filter((entry) => entry.isFile());
    const asked =
      /\b(?:npx|bunx|npm (?:exec|x|i|install|add)|(?:pnpm|yarn|bun) (?:dlx|x|add|install))(?: (?!--no-install )-\S+)* responses-gateway(?![\w/-])/g;
    const found = files.flatMap((entry) => {
      const file = join(entry.parentPath, entry.name);
      return [...readFileSync(file, 'utf8').matchAll(asked)].map(([command]) => `${file}: ${command}`);
    });
    expect(files).to.have.length.above(100);
    expect(found).to.deep.equal([]);
  });
});

describe('names in README and the guides together', () => {
  it('are those of messages, where a heading of the troubleshooting quotes one', () => {
    const sources = globSync('src/**/*.ts', { cwd: ROOT }).map((file) =>
      codeOf(readFileSync(join(ROOT, file), 'utf8')),
    );
    const quoted = [...ALL.matchAll(/^### .*"([^"]+)"$/gm)].map(([, message = '']) => message);
    expect(quoted).not.to.deep.equal([]);
    expect(quoted.filter((message) => !sources.some((source) => source.includes(message)))).to.deep.equal([]);
  });

  it('are those of all errors, with the status that each has', () => {
    const rows = [...ALL.matchAll(/^\| (\d{3}) \| ((?:`\w+`(?:, )?)+) \|$/gm)];
    const shown = rows.flatMap(([, status = '', codes = '']) =>
      [...codes.matchAll(/`(\w+)`/g)].map(([, code = '']) => ({ code, status: Number(status) })),
    );
    expect(shown).not.to.deep.equal([]);
    const statuses = new Map(Object.entries(ERRORS).map(([code, { status }]) => [code, status]));
    for (const { code, status } of shown) expect(status, code).to.equal(statuses.get(code));
    expect([...statuses.keys()].filter((code) => !ALL.includes(`\`${code}\``))).to.deep.equal([]);
  });

  it('are those of the clients that the tests install, with their versions', () => {
    const versions: Readonly<Record<string, string>> = { ...clients.dependencies, ...clients.optionalDependencies };
    const rows = [...ALL.matchAll(/^\|.*\| `(\S+)` \| (\d\S*) \|$/gm)];
    expect(rows).not.to.deep.equal([]);
    for (const [, name = '', version] of rows) expect(version, name).to.equal(versions[name]);
    for (const { name, version } of HEAVY_CLIENTS) expect(ALL.replaceAll('\n', ' ')).to.include(`${name} ${version}`);
  });
});

/** Without the lines of its comments. */
function codeOf(source: string): string {
  return source.replaceAll(/^\s*(?:\/\/|\/?\*).*$/gm, '');
}

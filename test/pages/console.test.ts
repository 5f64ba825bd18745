import { expect } from 'chai';
import packageJson from '../../package.json' with { type: 'json' };
import { openGateway, type TestGateway } from '../support/gateway.ts';

describe('the console over HTTP', () => {
  let gateway: TestGateway;

  before(async () => {
    gateway = await openGateway({
      DEFAULT_MODEL_ID: 'best-model',
      PUBLIC_BASE_URL: 'https://gateway.example.com/',
      ADMIN_TOKEN: 'the-admin-token-of-this-test',
    });
  });

  after(() => gateway.close());

  it('is a page that may load and ask nothing but this gateway, and cannot be framed', async () => {
    const reply = await fetch(`${gateway.url}/console/`);
    const policy = reply.headers.get('content-security-policy') ?? '';
    expect(reply.status).to.equal(200);
    expect(Object.fromEntries(reply.headers)).to.include({
      'content-type': 'text/html; charset=utf-8',
      'cache-control': 'no-cache',
      'x-content-type-options': 'nosniff',
      'referrer-policy': 'no-referrer',
      'cross-origin-opener-policy': 'same-origin',
    });
    expect(policy.split('; ')).to.include.members([
      "default-src 'none'",
      "script-src 'self'",
      "style-src 'self'",
      "connect-src 'self'",
      "img-src 'self' data:",
      "base-uri 'none'",
      "form-action 'none'",
      "frame-ancestors 'none'",
      "require-trusted-types-for 'script'",
      'trusted-types dompurify',
    ]);
    expect(policy).not.to.match(/unsafe|\*|https?:/);
  });

  for (const { path, location } of [
    { path: '/console?x=/', location: 'console/' },
    { path: '/console/operator?x=/', location: 'operator/' },
  ]) {
    it(`sends from ${path} to the folder, since the page names its files as neighbours`, async () => {
      const reply = await fetch(gateway.url + path, { redirect: 'manual' });
      expect([reply.status, reply.headers.get('location')]).to.deep.equal([307, location]);
    });
  }

  it('has every file that the page and its scripts name', async () => {
    const base = `${gateway.url}/console/`;
    const seen = new Map<string, string>();
    const open = [base];
    for (let url = open.pop(); url !== undefined; url = open.pop()) {
      // The pages beside it have tests of their own.
      if (seen.has(url) || !url.startsWith(base)) continue;
      const reply = await fetch(url);
      expect(reply.status, url).to.equal(200);
      seen.set(url, reply.headers.get('content-type') ?? '');
      const text = await reply.text();
      // Libraries have such texts in their own programs.
      if (/vendor\/(marked|purify|uplot)/.test(url)) continue;
      const links = text.matchAll(/(?:src|href)="([^"#$]+)"|^(?!\/\*| \*).*\b(?:from |import\()'(\.[^']+)'/gm);
      for (const [, link, module] of links) open.push(new URL(link ?? module ?? '', url).href);
    }
    const served = new Set([...seen.keys()].map((url) => url.slice(base.length)));
    expect([...served]).to.include.members([
      'style.css',
      'main.js',
      'vendor/uplot.js',
      'vendor/purify.js',
      'operator/main.js',
    ]);
    expect([...seen.values()]).to.include.members(['text/css; charset=utf-8', 'text/javascript; charset=utf-8']);
    expect([...served].every((path) => !path.includes('..'))).to.equal(true);
  });

  it('knows each file by what is in it', async () => {
    const etags = await Promise.all(
      ['', 'style.css', 'main.js', 'vendor/uplot.js'].map(async (path) =>
        (await fetch(`${gateway.url}/console/${path}`)).headers.get('etag'),
      ),
    );
    expect(new Set(etags).size).to.equal(4);
  });

  it('says of the gateway what the page needs, and no secret', async () => {
    const reply = await fetch(`${gateway.url}/console/config.json`);
    expect(reply.headers.get('cache-control')).to.equal('no-store');
    expect(await reply.json()).to.deep.equal({
      version: packageJson.version,
      auth_mode: 'passthrough',
      demo: true,
      operator: true,
      default_model: 'best-model',
      base_url: 'https://gateway.example.com',
      currency: null,
    });
  });

  for (const path of [
    'tsconfig.json',
    'vendor/uplot.d.ts',
    '../package.json',
    '..%2f..%2fpackage.json',
    'index.html/x',
  ]) {
    it(`has no ${path}`, async () => {
      expect((await fetch(`${gateway.url}/console/${path}`)).status).to.equal(404);
    });
  }

  it('takes no other method than GET', async () => {
    const reply = await fetch(`${gateway.url}/console/main.js`, { method: 'POST' });
    expect([reply.status, reply.headers.get('allow')]).to.deep.equal([405, 'GET']);
  });
});

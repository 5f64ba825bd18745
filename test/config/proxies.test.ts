import { expect } from 'chai';
import { describeStart } from '../../src/config/banner.ts';
import { readConfig } from '../../src/config/config.ts';
import { proxyFor } from '../../src/config/proxies.ts';
import type { Environment } from '../../src/config/settings.ts';

const PROXIES = { HTTP_PROXY: 'http://plain.test:3128', HTTPS_PROXY: 'http://secure.test:3128' };

describe('the proxy of an address', () => {
  for (const { target, env, variable } of [
    { target: 'http://a.test/v1', env: PROXIES, variable: 'HTTP_PROXY' },
    { target: 'https://a.test/v1', env: PROXIES, variable: 'HTTPS_PROXY' },
    { target: 'https://a.test/v1', env: { ...PROXIES, https_proxy: 'small.test' }, variable: 'https_proxy' },
    { target: 'https://a.test/v1', env: { HTTP_PROXY: 'plain.test', ALL_PROXY: 'all.test' }, variable: 'ALL_PROXY' },
    { target: 'https://a.test/v1', env: { HTTP_PROXY: 'plain.test' }, variable: undefined },
    { target: 'https://a.test/v1', env: { HTTPS_PROXY: ' ' }, variable: undefined },
    ...['http://localhost:1/v1', 'http://127.0.0.9/v1', 'http://[::1]/v1', 'http://a.localhost/v1'].map((target) => ({
      target,
      env: PROXIES,
      variable: undefined,
    })),
  ] satisfies { target: string; env: Environment; variable: string | undefined }[]) {
    it(`is that of ${variable ?? 'no variable'} for ${target} with ${Object.keys(env).join(' and ')}`, () => {
      expect(proxyFor(target, env)?.variable).to.equal(variable);
    });
  }

  for (const { entry, spares, leaves } of [
    { entry: '*', spares: ['a.test', '10.0.0.1'], leaves: [] },
    {
      entry: 'b.test, a.test',
      spares: ['a.test', 'b.test', 'x.a.test', 'A.TEST', 'a.test.'],
      leaves: ['aa.test', 'test'],
    },
    { entry: '.a.test', spares: ['x.a.test', 'a.test'], leaves: ['xa.test'] },
    { entry: '*.a.test', spares: ['x.a.test'], leaves: ['xa.test'] },
    { entry: 'a.test:8000', spares: ['a.test:8000', 'x.a.test:8000'], leaves: ['a.test', 'a.test:8001'] },
    { entry: 'a.test:80', spares: ['a.test'], leaves: [] },
    { entry: '10.0.0.0/8', spares: ['10.9.9.9', '10.9.9.9:81'], leaves: ['11.0.0.1', 'a.test'] },
    { entry: '10.0.0.1', spares: ['10.0.0.1'], leaves: ['10.0.0.11', '9.10.0.0.1.test'] },
    { entry: '[fd00::1]:81', spares: ['[fd00::1]:81'], leaves: ['[fd00::1]'] },
    { entry: 'fd00::/8', spares: ['[fd00::1]'], leaves: ['[fe00::1]', '10.0.0.1'] },
  ]) {
    it(`is none for what NO_PROXY=${entry} names`, () => {
      const find = (host: string): boolean =>
        proxyFor(`http://${host}/v1`, { ...PROXIES, NO_PROXY: entry }) === undefined;
      expect(spares.filter((host) => !find(host))).to.deep.equal([]);
      expect(leaves.filter(find)).to.deep.equal([]);
    });
  }

  it('is refused where the gateway cannot speak to it, if an address needs it', () => {
    const env = { ALL_PROXY: 'socks5://u:secret@127.0.0.1:1080', UPSTREAM_BASE_URL: 'https://api.test/v1' };
    expect(() => readConfig(env)).to.throw(
      'ALL_PROXY: must be the http:// or https:// URL of a proxy, with %25 for each percent sign in its password; NO_PROXY=api.test goes without one',
    );
    expect(readConfig({ ...env, NO_PROXY: 'api.test' }).upstreamProxy).to.equal(null);
  });

  it('is refused where its password has a percent sign that begins no escape', () => {
    const env = { HTTPS_PROXY: 'http://u:50%@proxy.test:3128', UPSTREAM_BASE_URL: 'https://api.test/v1' };
    expect(() => readConfig(env)).to.throw('HTTPS_PROXY: must be the http:// or https:// URL of a proxy');
  });

  it('is in the banner, without its password', () => {
    const env = { UPSTREAM_BASE_URL: 'https://api.test/v1', HTTPS_PROXY: 'http://u:secret@proxy.test:3128' };
    const lines = describeStart({ config: readConfig(env), url: 'http://127.0.0.1:8080', demo: false });
    expect(lines).to.include('  proxy     http://proxy.test:3128 (HTTPS_PROXY)');
    expect(lines.join('')).not.to.include('secret');
  });
});

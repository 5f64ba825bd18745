import { expect } from 'chai';
import { describeStart } from '../../src/config/banner.ts';
import { readConfig } from '../../src/config/config.ts';
import type { Environment } from '../../src/config/settings.ts';

describe('the banner', () => {
  for (const { name, url, env = {}, clientUrl } of [
    { name: 'where it listens', url: 'http://127.0.0.1:8080', clientUrl: 'http://127.0.0.1:8080' },
    {
      name: 'the loopback where it listens everywhere',
      url: 'http://0.0.0.0:8080',
      clientUrl: 'http://127.0.0.1:8080',
    },
    { name: 'the loopback of IPv6 there', url: 'http://[::]:8080', clientUrl: 'http://[::1]:8080' },
    {
      name: 'PUBLIC_BASE_URL',
      url: 'http://0.0.0.0:8080',
      env: { PUBLIC_BASE_URL: 'https://gateway.example.com/' },
      clientUrl: 'https://gateway.example.com',
    },
  ] satisfies { name: string; url: string; env?: Environment; clientUrl: string }[]) {
    it(`sends a person to ${name}`, () => {
      const lines = describeStart({ config: readConfig(env), url, demo: true });
      expect(lines[0]).to.equal(`Responses gateway at ${url}`);
      expect(lines).to.include.members([`  console   ${clientUrl}/console`, `  docs      ${clientUrl}/docs`]);
      expect(lines.find((line) => line.includes('curl'))).to.include(`curl ${clientUrl}/api/v1/responses `);
    });
  }

  for (const { env, demo = false, key } of [
    { env: {}, demo: true, key: 'demo' },
    { env: { UPSTREAM_BASE_URL: 'http://127.0.0.1:9/v1' }, key: 'your-key    # of the backend' },
    { env: { AUTH_MODE: 'static', API_KEYS: 'k'.repeat(32) }, key: 'your-key    # one of API_KEYS' },
    { env: { AUTH_MODE: 'managed' }, key: 'your-key    # from ./gateway keys create' },
  ] satisfies { env: Environment; demo?: boolean; key: string }[]) {
    it(`says where a caller has the key from: ${key}`, () => {
      const lines = describeStart({ config: readConfig(env), url: 'http://127.0.0.1:8080', demo });
      expect(lines).to.include(`  export GATEWAY_API_KEY=${key}`);
    });
  }

  it('says where the metrics are that have a port of their own', () => {
    const start = { config: readConfig({}), url: 'http://127.0.0.1:8080', demo: true };
    const metricsUrl = 'http://127.0.0.1:9090';
    expect(describeStart({ ...start, metricsUrl })).to.include('  metrics   http://127.0.0.1:9090/metrics');
    expect(describeStart(start).join()).not.to.include('metrics');
  });
});

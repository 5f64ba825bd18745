import { CONSTANTS } from '../../src/config/constants.ts';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseEnv } from 'node:util';
import { expect } from 'chai';
import { ConfigError, readConfig } from '../../src/config/config.ts';
import { DIALECTS } from '../../src/core/dialects.ts';
import type { Environment } from '../../src/config/settings.ts';
import { ENV_EXAMPLE_PATH } from '../support/generate-env-example.ts';

const BACKEND = { UPSTREAM_BASE_URL: 'http://backend.test/v1' };
const WEBHOOK = {
  ALERT_WEBHOOK_URL: 'https://hooks.test/x',
  ALERT_WEBHOOK_SECRET: `whsec_${'a'.repeat(32)}`,
};
const NO_WEBHOOK_SECRET =
  'ALERT_WEBHOOK_SECRET: must be whsec_ followed by at least 24 bytes in base64; it signs what is sent to ' +
  'ALERT_WEBHOOK_URL; make one with echo whsec_$(openssl rand -base64 32)';
const STATIC = { ...BACKEND, AUTH_MODE: 'static' };

describe('readConfig', () => {
  it('gives every default for an empty environment', () => {
    expect(readConfig({})).to.deep.equal({
      ...CONSTANTS,
      host: '127.0.0.1',
      port: 8080,
      publicBaseUrl: null,
      isLoopback: true,
      allowedHosts: [],
      trustProxy: 0,
      upstreamBaseUrl: null,
      backendsFile: null,
      backends: null,
      upstreamApiKey: null,
      upstreamApiKeyFile: null,
      upstreamHeaders: {},
      upstreamProxy: null,
      upstreamDialect: 'generic',
      dialect: DIALECTS.generic,
      dialectsFile: null,
      modelAliases: new Map(),
      defaultModelId: null,
      passthroughPaths: [],
      authMode: 'passthrough',
      apiKeys: [],
      adminToken: null,
      corsOrigins: [],
      databaseUrl: 'file:./data/gateway.db',
      workers: 1,
      gatewaySecret: null,
      gatewaySecretPrevious: null,
      timeZone: 'UTC',
      recordRetentionDays: 30,
      pricesFile: null,
      prices: null,
      modelsFile: null,
      models: null,
      defaultMaxOutputTokens: 4096,
      compactionModel: null,
      hostedTools: 'drop',
      history: 'keep',
      imageUrls: 'any',
      reasoningOutput: 'summary',
      itemMemoryTtlS: 0,
      maxBodyBytes: 32 * 1024 * 1024,
      maxBodyBytesInFlight: 512 * 1024 * 1024,
      maxConcurrentRequests: 2000,
      callerSharePercent: 100,
      connectTimeoutMs: 5_000,
      firstByteTimeoutMs: 600_000,
      idleTimeoutMs: 300_000,
      drainDelayMs: 0,
      duplicateStatus: 409,
      drainTimeoutMs: 30_000,
      maxWebSockets: 2000,
      logLevel: 'info',
      logFormat: 'auto',
      metricsToken: null,
      metricsPort: null,
      metricsHost: '127.0.0.1',
      isMetricsLoopback: true,
      alertWebhook: null,
      warnings: [],
    });
  });

  it('gives the same for .env.example with every setting switched on, so that the defaults stated there are true', () => {
    const example = readFileSync(ENV_EXAMPLE_PATH, 'utf8').replaceAll(/^#(?=[A-Z])/gm, '');
    expect(Object.keys(parseEnv(example))).to.include('UPSTREAM_BASE_URL');
    expect(readConfig(parseEnv(example))).to.deep.equal(readConfig({}));
  });

  it('is frozen', () => {
    const config = readConfig({ ...STATIC, API_KEYS: 'one' });
    for (const value of [config, config.apiKeys, config.passthroughPaths, config.warnings]) {
      expect(value).to.be.frozen;
    }
  });

  const readings: readonly { name: string; env: Environment; expected: object }[] = [
    {
      name: 'an empty variable as an absent one',
      env: { HOST: '', PORT: ' ' },
      expected: { host: '127.0.0.1', port: 8080 },
    },
    {
      name: 'JSON lines in production',
      env: { ...BACKEND, NODE_ENV: 'production' },
      expected: { logFormat: 'json' },
    },
    {
      name: 'pretty lines where they are asked for, in production too',
      env: { ...BACKEND, NODE_ENV: 'production', LOG_FORMAT: 'pretty' },
      expected: { logFormat: 'pretty' },
    },
    {
      name: 'where the metrics are served',
      env: { METRICS_PORT: '9090', HOST: '::1', METRICS_TOKEN: 'a-token-of-enough-letters' },
      expected: { metricsPort: 9090, metricsHost: '::1', metricsToken: 'a-token-of-enough-letters', warnings: [] },
    },
    {
      name: 'the token of the admin API',
      env: { ADMIN_TOKEN: 'sixteen--letters' },
      expected: { adminToken: 'sixteen--letters' },
    },
    {
      name: 'a text without the white space around it',
      env: { PORT: ' 0 ', HOST: '::1\n' },
      expected: { port: 0, host: '::1' },
    },
    { name: 'a number', env: { DRAIN_TIMEOUT_MS: '0' }, expected: { drainTimeoutMs: 0 } },
    {
      name: 'a base URL without slashes at its end',
      env: { UPSTREAM_BASE_URL: 'HTTPS://Backend.test:443/api/v1//', PUBLIC_BASE_URL: 'http://gateway.test/' },
      expected: { upstreamBaseUrl: 'https://backend.test/api/v1', publicBaseUrl: 'http://gateway.test' },
    },
    {
      name: 'aliases',
      env: { MODEL_ALIASES: '{"small": "llama-8b", "__proto__": "llama-70b"}' },
      expected: {
        modelAliases: new Map([
          ['small', 'llama-8b'],
          ['__proto__', 'llama-70b'],
        ]),
      },
    },
    {
      name: 'keys between commas and white space, each once',
      env: { ...STATIC, API_KEYS: 'one, two\tthree\n,one,' },
      expected: { authMode: 'static', apiKeys: ['one', 'two', 'three'] },
    },
    {
      name: 'the key of the backend with AUTH_MODE=static',
      env: { ...STATIC, API_KEYS: 'one', UPSTREAM_API_KEY: 'sk-1' },
      expected: { upstreamApiKey: 'sk-1' },
    },
    {
      name: 'keys of its own beside the key of the backend',
      env: { AUTH_MODE: 'managed', UPSTREAM_API_KEY: 'sk-1' },
      expected: { authMode: 'managed', upstreamApiKey: 'sk-1' },
    },
    {
      name: 'further paths',
      env: { PASSTHROUGH_PATHS: '/v1/embeddings, /v1/audio/speech' },
      expected: { passthroughPaths: ['/v1/embeddings', '/v1/audio/speech'] },
    },
    { name: 'a number of proxies', env: { TRUST_PROXY: '2' }, expected: { trustProxy: 2 } },
    {
      name: 'proxies by address',
      env: { TRUST_PROXY: 'loopback, 10.0.0.0/8 fd00::/8' },
      expected: { trustProxy: ['loopback', '10.0.0.0/8', 'fd00::/8'] },
    },
    { name: 'a database in memory', env: { DATABASE_URL: ':memory:' }, expected: { databaseUrl: ':memory:' } },
    {
      name: 'a database by its absolute path',
      env: { DATABASE_URL: 'file:///var/lib/gateway.db' },
      expected: { databaseUrl: 'file:///var/lib/gateway.db' },
    },
    {
      name: 'a webhook in the own network',
      env: { ...WEBHOOK, ALERT_WEBHOOK_URL: 'http://10.0.0.5/x' },
      expected: { alertWebhook: { url: 'http://10.0.0.5/x', secret: WEBHOOK.ALERT_WEBHOOK_SECRET } },
    },
    {
      name: 'a database on a server',
      env: { DATABASE_URL: 'postgres://u:p@db:5433/x?sslmode=require', GATEWAY_SECRET: 'a long enough secret' },
      expected: { databaseUrl: 'postgres://u:p@db:5433/x?sslmode=require' },
    },
    {
      name: 'a backend behind any address',
      env: { ...BACKEND, HOST: '0.0.0.0', NODE_ENV: 'production' },
      expected: { host: '0.0.0.0', upstreamBaseUrl: 'http://backend.test/v1' },
    },
    { name: 'a demo on another loopback address', env: { HOST: '127.0.0.9' }, expected: { host: '127.0.0.9' } },
  ];

  for (const { name, env, expected } of readings) {
    it(`reads ${name}`, () => {
      expect(readConfig(env)).to.deep.include(expected);
    });
  }

  const mistakes: readonly { env: Environment; problem: string }[] = [
    { env: { PORT: '80x' }, problem: 'PORT: must be a whole number from 0 to 65535 (it is "80x")' },
    { env: { PORT: '65536' }, problem: 'PORT: must be a whole number from 0 to 65535 (it is "65536")' },
    { env: { PORT: '-1' }, problem: 'PORT: must be a whole number from 0 to 65535 (it is "-1")' },
    { env: { PORT: '1e3' }, problem: 'PORT: must be a whole number from 0 to 65535 (it is "1e3")' },
    {
      env: { IDLE_TIMEOUT_MS: '0' },
      problem: 'IDLE_TIMEOUT_MS: must be a whole number from 1 to 86400000 (it is "0")',
    },
    {
      env: { LOG_LEVEL: 'loud' },
      problem: 'LOG_LEVEL: must be one of fatal, error, warn, info, debug, trace, silent (it is "loud")',
    },
    {
      env: { METRICS_TOKEN: 'short' },
      problem: 'METRICS_TOKEN: must have at least 16 visible ASCII characters without white space',
    },
    {
      env: { AUTH_MODE: 'keys' },
      problem: 'AUTH_MODE: must be one of passthrough, static, managed (it is "keys")',
    },
    {
      env: { ADMIN_TOKEN: 'fifteen-letters' },
      problem: 'ADMIN_TOKEN: must have at least 16 visible ASCII characters without white space',
    },
    {
      env: { ADMIN_TOKEN: 'the token of the operator' },
      problem: 'ADMIN_TOKEN: must have at least 16 visible ASCII characters without white space',
    },
    { env: { HOST: 'http://x' }, problem: 'HOST: must look like 127.0.0.1 or 0.0.0.0 or ::1 (it is "http://x")' },
    {
      env: { DEFAULT_MODEL_ID: 'a\u0000' },
      problem: String.raw`DEFAULT_MODEL_ID: must look like llama-3.3-70b (it is "a\u0000")`,
    },
    {
      env: { DATABASE_URL: 'data.db' },
      problem:
        'DATABASE_URL: must look like file:./data/gateway.db or :memory: or postgres://gateway:password@db.example.com/gateway (it is "data.db")',
    },
    {
      env: { DATABASE_URL: 'file://data/gateway.db' },
      problem:
        'DATABASE_URL: must look like file:./data/gateway.db or :memory: or postgres://gateway:password@db.example.com/gateway (it is "file://data/gateway.db")',
    },
    {
      env: { DATABASE_URL: 'mysql://user:canary@db/x' },
      problem:
        'DATABASE_URL: must look like file:./data/gateway.db or :memory: or postgres://gateway:password@db.example.com/gateway',
    },
    {
      env: { DATABASE_URL: 'postgres://user:canary@db/x' },
      problem: 'GATEWAY_SECRET: must be set with PostgreSQL, the same for all gateways that share the database',
    },
    {
      env: { DATABASE_URL: 'postgres://user:canary@[db/x', GATEWAY_SECRET: 'a long enough secret' },
      problem: 'DATABASE_URL: is not a valid URL; are special characters in its password escaped?',
    },
    { env: { WORKERS: '0' }, problem: 'WORKERS: must be a whole number from 1 to 64 (it is "0")' },
    {
      env: { WORKERS: '2', ITEM_MEMORY_TTL_S: '60' },
      problem:
        'ITEM_MEMORY_TTL_S: must be 0 with more than one of WORKERS: each remembers what it has answered itself, and the ' +
        'next request of a conversation may come to another',
    },
    {
      env: { ALERT_WEBHOOK_URL: 'https://hooks.test/canary' },
      problem: NO_WEBHOOK_SECRET,
    },
    {
      env: { ...WEBHOOK, ALERT_WEBHOOK_URL: 'https://user:canary@hooks.test/' },
      problem: 'ALERT_WEBHOOK_URL: must be a URL without user name and password',
    },
    {
      env: { ...WEBHOOK, ALERT_WEBHOOK_URL: 'hooks.test/canary' },
      problem: 'ALERT_WEBHOOK_URL: must look like https://hooks.example.com/gateway',
    },
    {
      env: { ...WEBHOOK, ALERT_WEBHOOK_SECRET: 'canary' },
      problem: NO_WEBHOOK_SECRET,
    },
    { env: { GATEWAY_SECRET: 'canary' }, problem: 'GATEWAY_SECRET: must have at least 16 characters' },
    {
      env: { GATEWAY_SECRET_PREVIOUS: 'canary' },
      problem: 'GATEWAY_SECRET_PREVIOUS: must have at least 16 characters',
    },
    {
      env: { ...STATIC, API_KEYS: 'one', UPSTREAM_API_KEY: 'canary with spaces' },
      problem: 'UPSTREAM_API_KEY: must be visible ASCII characters without white space',
    },
    {
      env: { ...STATIC, API_KEYS: 'canärie' },
      problem: 'API_KEYS: must be visible ASCII characters without white space',
    },
    { env: STATIC, problem: 'API_KEYS: must name at least one key with AUTH_MODE=static' },
    { env: { ...STATIC, API_KEYS: ',' }, problem: 'API_KEYS: must name at least one key with AUTH_MODE=static' },
    { env: { API_KEYS: 'canary' }, problem: 'API_KEYS: apply only with AUTH_MODE=static; set it, or remove them' },
    {
      env: { AUTH_MODE: 'managed', API_KEYS: 'canary' },
      problem: 'API_KEYS: apply only with AUTH_MODE=static; set it, or remove them',
    },
    { env: { ...STATIC, API_KEYS_FILE: '/nowhere/keys' }, problem: 'API_KEYS_FILE: cannot be read' },
    { env: { ...STATIC, API_KEYS_FILE: '/dev/zero' }, problem: 'API_KEYS_FILE: is not a file' },
    {
      env: { ...BACKEND, UPSTREAM_API_KEY: 'canary' },
      problem:
        "UPSTREAM_API_KEY: must not be set with AUTH_MODE=passthrough, where the backend gets the caller's own key; " +
        'use AUTH_MODE=static with API_KEYS, or every stranger would spend on this key',
    },
    {
      env: { UPSTREAM_BASE_URL: 'backend.test/v1' },
      problem: 'UPSTREAM_BASE_URL: must be a URL that begins with http:// or https:// (it is "backend.test/v1")',
    },
    {
      env: { UPSTREAM_BASE_URL: 'ftp://backend.test/v1' },
      problem: 'UPSTREAM_BASE_URL: must be a URL that begins with http:// or https:// (it is "ftp://backend.test/v1")',
    },
    {
      env: { UPSTREAM_BASE_URL: 'http://127.0.0.1:8000/v1 UPSTREAM_DIALECT=vllm' },
      problem: 'UPSTREAM_BASE_URL: must hold no white space; a second setting goes on a line of its own',
    },
    {
      env: { UPSTREAM_BASE_URL: 'https://user:canary@backend.test/v1' },
      problem: 'UPSTREAM_BASE_URL: must hold no user name, password or fragment, and no query but api-version',
    },
    {
      env: { UPSTREAM_BASE_URL: 'https://backend.test/v1?key=canary' },
      problem: 'UPSTREAM_BASE_URL: must hold no user name, password or fragment, and no query but api-version',
    },
    {
      env: { UPSTREAM_BASE_URL: 'https://backend.test/v1/chat/completions/' },
      problem: 'UPSTREAM_BASE_URL: must be the URL before the paths; leave /chat/completions/ out',
    },
    {
      env: { PUBLIC_BASE_URL: 'gateway.test' },
      problem: 'PUBLIC_BASE_URL: must be a URL that begins with http:// or https:// (it is "gateway.test")',
    },
    {
      env: { HOST: '0.0.0.0' },
      problem:
        'UPSTREAM_BASE_URL: must be set, since the demo backend that stands in for it is for a loopback HOST only (HOST is 0.0.0.0)',
    },
    {
      env: { HOST: '127.evil.test' },
      problem:
        'UPSTREAM_BASE_URL: must be set, since the demo backend that stands in for it is for a loopback HOST only (HOST is 127.evil.test)',
    },
    {
      env: { NODE_ENV: 'production' },
      problem:
        'UPSTREAM_BASE_URL: must be set, since the demo backend that stands in for it is refused with NODE_ENV=production',
    },
    ...['{"a": 1}', '{"a": ""}', '{"": "b"}', '["a"]', 'a=b', '{"a"'].map((aliases) => ({
      env: { MODEL_ALIASES: aliases },
      problem: `MODEL_ALIASES: must be a JSON object of texts that are not empty, such as {"gpt-5": "llama-3.3-70b"} (it is ${JSON.stringify(aliases)})`,
    })),
    {
      env: { MODEL_ALIASES: '{"a": "b", "b": "c"}' },
      problem: 'MODEL_ALIASES: a must stand for a model, but b is an alias itself',
    },
    {
      env: { MODEL_ALIASES: '{"a": "a"}' },
      problem: 'MODEL_ALIASES: a must stand for a model, but a is an alias itself',
    },
    ...['true', '1, loopback', '10.0.0.0/33', '10.0.0.0/8/8', '::/129', 'proxy.test', ','].map((proxies) => ({
      env: { TRUST_PROXY: proxies },
      problem: `TRUST_PROXY: must be the number of proxies in front, or their addresses and subnets (it is ${JSON.stringify(proxies)})`,
    })),
    ...['embeddings', '/embeddings', '/v1', '/v1/', '/v1/..', '/v1//x', '/v1/%2e%2e', '/v1/a#b'].map((path) => ({
      env: { PASSTHROUGH_PATHS: path },
      problem: `PASSTHROUGH_PATHS: must be a list such as /v1/embeddings, /v1/audio (it is ${JSON.stringify(path)})`,
    })),
    {
      env: { MAX_BODY_BYTES: '1001', MAX_BODY_BYTES_IN_FLIGHT: '1000' },
      problem: 'MAX_BODY_BYTES_IN_FLIGHT: must be at least MAX_BODY_BYTES, which is 1001',
    },
    {
      env: { PASSTHROUGH_PATHS: '/v1/responses/compact' },
      problem: 'PASSTHROUGH_PATHS: must not name /v1/responses/compact, where the gateway answers itself',
    },
    {
      env: { PASSTHROUGH_PATHS: '/v1/usage' },
      problem: 'PASSTHROUGH_PATHS: must not name /v1/usage, where the gateway answers itself',
    },
    {
      env: { PASSTHROUGH_PATHS: '/v1/key' },
      problem: 'PASSTHROUGH_PATHS: must not name /v1/key, where the gateway answers itself',
    },
  ];

  for (const { env, problem } of mistakes) {
    it(`refuses ${JSON.stringify(env)}`, () => {
      expect(problemsOf(env)).to.deep.equal([problem]);
    });
  }

  it('shows no more than the beginning of a long value', () => {
    expect(problemsOf({ PORT: 'x'.repeat(5000) })[0]).to.have.lengthOf.below(200);
  });

  it('names all mistakes at once, with the misspelt names that may have caused them', () => {
    const problems = problemsOf({
      PORT: 'x',
      LOG_LEVEL: 'x',
      UPSTREAM_API_KEY: 'sk-1',
      HOST: '0.0.0.0',
      UPSTREAM_URL: 'x',
    });
    expect(problems.map((problem) => problem.split(':')[0])).to.deep.equal([
      'PORT',
      'LOG_LEVEL',
      'UPSTREAM_API_KEY',
      'UPSTREAM_BASE_URL',
      'UPSTREAM_URL',
    ]);
  });

  it('does not complain of what follows from a mistake already named', () => {
    expect(problemsOf({ HOST: '0.0.0.0', ...STATIC, API_KEYS: 'ä' })).to.have.lengthOf(1);
  });

  it('says all of it in the message of the error', () => {
    expect(() => readConfig({ PORT: 'x', LOG_LEVEL: 'x' })).to.throw(ConfigError, /PORT: must .*\n.*LOG_LEVEL: must /);
  });

  describe('with a file of keys', () => {
    let folder: string;

    beforeEach(() => {
      folder = mkdtempSync(join(tmpdir(), 'config-'));
    });

    afterEach(() => {
      rmSync(folder, { recursive: true });
    });

    it('reads the keys beside those of the variable, without the comments', () => {
      const env = {
        ...STATIC,
        API_KEYS: 'one',
        API_KEYS_FILE: keysFile('# the team\ntwo\r\n\n  # old: canary\nthree\n'),
      };
      expect(readConfig(env).apiKeys).to.deep.equal(['one', 'two', 'three']);
    });

    it('refuses a file that holds no key', () => {
      expect(problemsOf({ ...STATIC, API_KEYS_FILE: keysFile('# none\n') })).to.deep.equal([
        'API_KEYS: must name at least one key with AUTH_MODE=static',
      ]);
    });

    it('refuses a file of more than a megabyte', () => {
      expect(problemsOf({ ...STATIC, API_KEYS_FILE: keysFile('x'.repeat(1_048_577)) })).to.deep.equal([
        'API_KEYS_FILE: is larger than 1048576 bytes',
      ]);
    });

    it('reads each secret, and what may hold one, in the place of its variable', () => {
      const secret = 'a long enough secret';
      const url = 'postgres://gateway:password@db.example.com/gateway';
      expect(readConfig({ GATEWAY_SECRET_FILE: keysFile(`${secret}\n`), DATABASE_URL: url }).gatewaySecret).to.equal(
        secret,
      );
      expect(readConfig({ DATABASE_URL_FILE: keysFile(url), GATEWAY_SECRET: secret }).databaseUrl).to.equal(url);
      const aliases = readConfig({ MODEL_ALIASES_FILE: keysFile('{"one": "other"}') }).modelAliases;
      expect([...aliases]).to.deep.equal([['one', 'other']]);
    });

    it('refuses one beside its variable, an empty one, and one whose text is wrong', () => {
      const ADMIN_TOKEN_FILE = keysFile('too short');
      expect(problemsOf({ ADMIN_TOKEN_FILE })).to.deep.equal([
        'ADMIN_TOKEN: must have at least 16 visible ASCII characters without white space',
      ]);
      expect(problemsOf({ ADMIN_TOKEN_FILE, ADMIN_TOKEN: 'a-token-of-enough-letters' })).to.deep.equal([
        'ADMIN_TOKEN_FILE: must not be set beside ADMIN_TOKEN',
      ]);
      expect(problemsOf({ ADMIN_TOKEN_FILE: keysFile(' \n') })).to.deep.equal(['ADMIN_TOKEN_FILE: is empty']);
    });

    function keysFile(text: string): string {
      const path = join(folder, 'keys');
      writeFileSync(path, text);
      return path;
    }
  });

  for (const { isLocal, hosts } of [
    {
      isLocal: true,
      hosts: [
        '127.0.0.1',
        '127.255.0.3',
        '127.1',
        '::1',
        '0:0:0:0:0:0:0:1',
        '::0001',
        '::1%lo',
        '::ffff:127.0.0.1',
        'localhost',
        'LOCALHOST',
        'LocalHost.',
      ],
    },
    {
      isLocal: false,
      hosts: ['0.0.0.0', '::', '10.0.0.5', '128.0.0.1', '::2', 'fe80::1%eth0', '127.example', 'localhost.example'],
    },
  ]) {
    for (const host of hosts) {
      it(`takes ${host} for ${isLocal ? 'a' : 'no'} loopback address, of the API and of the metrics`, () => {
        expect(readConfig({ ...BACKEND, HOST: host }).isLoopback).to.equal(isLocal);
        expect(
          readConfig({ ...BACKEND, METRICS_TOKEN: 'a-token-of-enough-letters', HOST: host }).isMetricsLoopback,
        ).to.equal(isLocal);
      });
    }
  }

  const doubts: readonly { env: Environment; warnings: readonly string[] }[] = [
    {
      env: { UPSTREAM_BASE_URL: 'https://backend.test/' },
      warnings: ['UPSTREAM_BASE_URL: has no path; most backends need /v1 at the end'],
    },
    {
      env: { ...STATIC, API_KEYS: 'short' },
      warnings: ['API_KEYS: has a key of fewer than 16 characters, which can be guessed'],
    },
    { env: { ...STATIC, HOST: '0.0.0.0', API_KEYS: 'long-enough-to-hold' }, warnings: [] },
    { env: { ...STATIC, API_KEYS: 'a-key-of-many-characters' }, warnings: [] },
    {
      env: { ...BACKEND, METRICS_PORT: '9090', HOST: '0.0.0.0' },
      warnings: ['METRICS_PORT: listens on 127.0.0.1 only, since METRICS_TOKEN is not set'],
    },
    {
      env: { ...BACKEND, METRICS_PORT: '9090', HOST: '0.0.0.0', METRICS_TOKEN: 'a-token-of-enough-letters' },
      warnings: [],
    },
    {
      env: { SETTLE_TIMEOUT_MS: '500', FAILOVER: 'any', QUEUE_TIMEOUT_MS: ' ' },
      warnings: [
        'FAILOVER: is no longer a setting; set "failover" in BACKENDS_FILE; the default is safe',
        'SETTLE_TIMEOUT_MS: is no longer a setting; the end of a reply waits up to 1 s for its record',
      ],
    },
    {
      env: { MAX_BODY_BYTES: '1000', MAX_BODY_BYTES_IN_FLIGHT: '7999' },
      warnings: [
        'MAX_BODY_BYTES_IN_FLIGHT: is less than 8 times MAX_BODY_BYTES, so a few callers with large bodies can use all of it',
      ],
    },
    { env: { MAX_BODY_BYTES: '1000', MAX_BODY_BYTES_IN_FLIGHT: '8000' }, warnings: [] },
    ...(
      [
        ['UPSTREAM_BASEURL', 'UPSTREAM_BASE_URL'],
        ['UPSTREAM_URL', 'UPSTREAM_BASE_URL'],
        ['UPSTREAM_KEY', 'UPSTREAM_API_KEY'],
        ['API_KEY', 'API_KEYS'],
        ['MODEL_ALIAS', 'MODEL_ALIASES'],
        ['IDLE_TIMEOUT', 'IDLE_TIMEOUT_MS'],
        ['GATEWAY_SECRET_PREVIOS', 'GATEWAY_SECRET_PREVIOUS'],
        ['port', 'PORT'],
      ] as const
    ).map(([name, nearest]) => ({
      env: { [name]: 'x' },
      warnings: [`${name}: is not a setting; did you mean ${nearest}?`],
    })),
    {
      env: {
        HOME: 'x',
        PATH: 'x',
        HOSTNAME: 'x',
        SHELL: 'x',
        OPENAI_API_KEY: 'x',
        [`UPSTREAM_${'X'.repeat(99)}`]: 'x',
      },
      warnings: [],
    },
  ];

  for (const { env, warnings } of doubts) {
    it(`warns ${warnings.length === 0 ? 'of nothing' : 'once'} for ${JSON.stringify(env)}`, () => {
      expect(readConfig(env).warnings).to.deep.equal(warnings);
    });
  }
});

function problemsOf(env: Environment): readonly string[] {
  try {
    readConfig(env);
  } catch (error) {
    if (error instanceof ConfigError) return error.problems;
    throw error;
  }
  return [];
}

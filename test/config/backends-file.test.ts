import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { ConfigError, readConfig } from '../../src/config/config.ts';

describe('BACKENDS_FILE', () => {
  let folder: string;
  let file: string;

  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'backends-'));
    file = join(folder, 'backends.json');
  });

  afterEach(() => rmSync(folder, { recursive: true, force: true }));

  const A = { name: 'a', base_url: 'http://10.0.0.1:8000/v1/' };
  const STATIC = { AUTH_MODE: 'static', API_KEYS: 'a key of sixteen characters'.replaceAll(' ', '-') };

  function read(backends: readonly object[], env: Readonly<Record<string, string>> = {}) {
    writeFileSync(file, JSON.stringify({ backends }));
    return readConfig({ BACKENDS_FILE: file, ...env });
  }

  function problemsOf(backends: readonly object[], env: Readonly<Record<string, string>> = {}): readonly string[] {
    try {
      read(backends, env);
      return [];
    } catch (error) {
      if (error instanceof ConfigError) return error.problems;
      throw error;
    }
  }

  it('says all of a backend, with what is not said filled in', () => {
    const { backends } = read(
      [
        {
          ...A,
          dialect: 'vllm',
          api_key_env: 'A_KEY',
          aliases: { gpt: 'qwen' },
          models: ['qwen'],
          max_concurrent: 3,
          idle_timeout_ms: 7,
        },
        { ...A, name: 'b' },
      ],
      { ...STATIC, A_KEY: 'sk-a', MODEL_ALIASES: '{"fast": "gpt"}', UPSTREAM_DIALECT: 'ollama' },
    );
    const [first, second] = backends?.backends ?? [];
    expect(first).to.deep.include({ baseUrl: 'http://10.0.0.1:8000/v1', apiKey: 'sk-a', weight: 1, maxConcurrent: 3 });
    expect(first?.modelAliases.get('fast')).to.equal('qwen');
    expect([first?.timeouts, second?.timeouts]).to.deep.equal([{ idleTimeoutMs: 7 }, {}]);
    expect(second).to.deep.include({ apiKey: null, models: null, maxConcurrent: null, upstreamDialect: 'ollama' });
  });

  const mistakes: Readonly<
    Record<string, { backends: readonly object[]; env?: Readonly<Record<string, string>>; line: RegExp }>
  > = {
    'a name twice': { backends: [A, A], line: /^BACKENDS_FILE: the name a is there more than once$/ },
    'a URL with a path of an endpoint': {
      backends: [{ ...A, base_url: 'http://h/v1/chat/completions' }],
      line: /^BACKENDS_FILE: a: base_url must be the URL before the paths/,
    },
    'a kind that does not exist': {
      backends: [{ ...A, dialect: 'x' }],
      line: /^BACKENDS_FILE: a: dialect must be one of/,
    },
    'an alias of an alias': {
      backends: [{ ...A, aliases: { x: 'y', y: 'z' } }],
      line: /^BACKENDS_FILE: a: alias x must stand for a model/,
    },
    'a key that is not there': {
      backends: [{ ...A, api_key_env: 'NO_KEY' }],
      env: STATIC,
      line: /^BACKENDS_FILE: a: api_key_env names NO_KEY, which holds no key$/,
    },
    'a key where callers have their own': {
      backends: [{ ...A, api_key_env: 'A_KEY' }],
      env: { A_KEY: 'sk-a' },
      line: /^BACKENDS_FILE: a: api_key_env must not be there with AUTH_MODE=passthrough/,
    },
    'a file without a key': {
      backends: [{ ...A, api_key_file: '/nowhere/key' }],
      env: STATIC,
      line: /^BACKENDS_FILE: a: api_key_file names \/nowhere\/key, which cannot be read or holds no key$/,
    },
    'two keys': {
      backends: [{ ...A, api_key_env: 'A_KEY', api_key_file: '/nowhere/key' }],
      env: { ...STATIC, A_KEY: 'sk-a' },
      line: /^BACKENDS_FILE: a: api_key_file must not be there beside api_key_env$/,
    },
    'no backend': { backends: [], line: /^BACKENDS_FILE: backends / },
    'an unknown property': { backends: [{ ...A, wieght: 2 }], line: /^BACKENDS_FILE: .*wieght/ },
    'another list of one beside it': {
      backends: [A],
      env: { UPSTREAM_BASE_URL: 'http://h/v1' },
      line: /^UPSTREAM_BASE_URL: must not be set with BACKENDS_FILE/,
    },
    'a key for all': {
      backends: [A],
      env: { ...STATIC, UPSTREAM_API_KEY: 'sk' },
      line: /^UPSTREAM_API_KEY: must not be set with BACKENDS_FILE/,
    },
  };

  for (const [name, { backends, env = {}, line }] of Object.entries(mistakes)) {
    it(`is refused with ${name}`, () => {
      const [first = '', ...rest] = problemsOf(backends, env);
      expect(first).to.match(line);
      expect(rest).to.deep.equal([]);
    });
  }

  it('shows no key of a backend in a mistake', () => {
    const lines = problemsOf([{ ...A, api_key_env: 'A_KEY' }], { A_KEY: 'sk-secret' }).join('\n');
    expect(lines).to.not.contain('sk-secret');
  });
});

import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { ConfigError, readConfig } from '../../src/config/config.ts';
import { BLOCKS } from '../docs/documents.ts';
import { createCurrentFiles } from '../../src/config/current-files.ts';

describe('MODELS_FILE', () => {
  let folder: string;
  let path: string;

  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'models-'));
    path = join(folder, 'models.json');
  });

  afterEach(() => rmSync(folder, { recursive: true, force: true }));

  const write = (models: unknown) => writeFileSync(path, JSON.stringify({ models }));

  function problemsOf(models: unknown, dialect = 'vllm'): readonly string[] {
    write(models);
    try {
      readConfig({ MODELS_FILE: path, UPSTREAM_DIALECT: dialect });
    } catch (error) {
      if (error instanceof ConfigError) return error.problems;
      throw error;
    }
    return [];
  }

  it('takes parameters of the Responses format, those of the dialect, and what a model is', () => {
    const parameters = {
      temperature: 0.6,
      max_output_tokens: 8192,
      reasoning: { effort: 'low' },
      text: { verbosity: 'low' },
      service_tier: 'flex',
      top_k: 20,
      chat_template_kwargs: { enable_thinking: false },
    };
    const media = { image: { unit_tokens: 1.5, unit_pixels: 28, max_units: 16_384 }, audio: { unit_tokens: 12.5 } };
    const whole = { context_window: 40_960, input: ['text', 'image'], efforts: ['low', 'high'], media };
    expect(problemsOf({ 'qwen3-*': { defaults: parameters, overrides: parameters, ...whole }, m: {} })).to.deep.equal(
      [],
    );
    const { models } = readConfig({ MODELS_FILE: path, UPSTREAM_DIALECT: 'vllm' });
    expect(models?.find('qwen3-8b', 'qwen3-8b')).to.deep.include(whole);
  });

  it('is what the guide shows', () => {
    const examples = BLOCKS.filter(({ language, code }) => language === 'json' && /context_window|"media"/.test(code));
    expect(examples).to.have.lengthOf(2);
    for (const { code } of examples) {
      const { models } = JSON.parse(code) as { models: Readonly<Record<string, object>> };
      expect(problemsOf(models)).to.deep.equal([]);
    }
  });

  const mistakes: { name: string; models: unknown; dialect?: string; line: string }[] = [
    {
      name: 'no models',
      models: {},
      line: 'models is not valid. The settings by model name, or by a pattern in which * matches any text.',
    },
    {
      name: 'a name that nothing has',
      models: { 'gpt-4.1': { window: 5 } },
      line: 'models["gpt-4.1"] must not have "window"',
    },
    {
      name: 'media without tokens',
      models: { m: { media: { image: { max_units: 8 } } } },
      line: 'models["m"].media.image must have unit_tokens',
    },
    {
      name: 'a wrong type',
      models: { m: { defaults: { temperature: '1' } } },
      line: 'models["m"].defaults.temperature must be number',
    },
    {
      name: 'a number beyond its limits',
      models: { m: { overrides: { temperature: 3 } } },
      line: 'models["m"].overrides.temperature must be <= 2',
    },
    {
      name: 'an unknown effort',
      models: { m: { efforts: ['huge'] } },
      line: 'models["m"].efforts.0 must be one of none, minimal, low, medium, high, xhigh, max',
    },
    {
      name: 'a dear tier',
      models: { m: { defaults: { service_tier: 'priority' } } },
      line: 'models["m"].defaults.service_tier must be one of auto, default, flex',
    },
    {
      name: 'a field of a request that is no parameter',
      models: { m: { defaults: { tools: [] } } },
      line: 'models["m"].defaults must not have tools, which the dialect does not list',
    },
    {
      name: 'a parameter of another kind of backend',
      models: { m: { defaults: { top_k: 5 } } },
      dialect: 'openai',
      line: 'models["m"].defaults must not have top_k, which the dialect does not list',
    },
    {
      name: 'a parameter that goes around a reservation',
      models: { m: { overrides: { min_tokens: 5 } } },
      line: 'models["m"].overrides must not have min_tokens, which may cost more than is reserved',
    },
    {
      name: 'no name',
      models: { m: { defaults: { '': 1 } } },
      line: 'models["m"].defaults must have names of parameters',
    },
  ];
  for (const { name, models, dialect, line } of mistakes) {
    it(`with ${name} stops the start`, () => {
      expect(problemsOf(models, dialect)).to.deep.equal([`MODELS_FILE: ${line}`]);
    });
  }

  it('cannot set a prototype', () => {
    writeFileSync(path, '{"models": {"m": {"defaults": {"__proto__": {"a": 1}}}}}');
    expect(() => readConfig({ MODELS_FILE: path })).to.throw(ConfigError, /__proto__, which the dialect does not list/);
  });

  it('tells a mistake in the kind of backend alone, since the parameters depend on it', () => {
    expect(problemsOf({ m: { defaults: { top_k: 5 } } }, 'unknown')).to.have.length(1);
  });

  it('that is read again changes nothing if it has a mistake, and says so', () => {
    const lines: { level: string; fields: Readonly<Record<string, unknown>>; message: string }[] = [];
    write({ m: { context_window: 5 } });
    const files = createCurrentFiles({
      ...readConfig({ MODELS_FILE: path }),
      log: {
        info: (fields, message) => lines.push({ level: 'info', fields, message }),
        error: (fields, message) => lines.push({ level: 'error', fields, message }),
      },
    });
    const windowOf = () => files.models.present?.find('m', 'm')?.context_window;
    write({ m: { context_window: 0 } });
    files.reload({});
    expect(windowOf()).to.equal(5);
    expect(lines.at(-1)).to.deep.equal({
      level: 'error',
      fields: { problems: ['MODELS_FILE: models["m"].context_window must be >= 1'] },
      message: 'MODELS_FILE has mistakes, so its former content stays in effect',
    });
    write({ m: { context_window: 6 }, n: {} });
    files.reload({});
    expect(windowOf()).to.equal(6);
    expect(lines.at(-1)).to.deep.include({ level: 'info', fields: { models: 2 } });
  });
});

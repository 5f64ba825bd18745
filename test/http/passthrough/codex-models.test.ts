import { expect } from 'chai';
import { withCodexModels } from '../../../src/http/passthrough/codex-models.ts';
import { startScriptedBackend, type ScriptedBackend } from '../../support/backend.ts';
import { openGateway, type TestGateway } from '../../support/gateway.ts';

type Entry = Readonly<Record<string, unknown>>;

function modelsOf(...data: readonly unknown[]): readonly Entry[] {
  return (withCodexModels({ object: 'list', data }) as { models: readonly Entry[] }).models;
}

/** Without one of these Codex 0.169 discards the whole list (tried), and so did versions before it with others of them. */
const DEMANDED: Readonly<Record<string, string>> = {
  slug: 'string',
  display_name: 'string',
  base_instructions: 'string',
  supported_reasoning_levels: 'array',
  shell_type: 'string',
  visibility: 'string',
  supported_in_api: 'boolean',
  priority: 'number',
  support_verbosity: 'boolean',
  truncation_policy: 'object',
  experimental_supported_tools: 'array',
  supports_parallel_tool_calls: 'boolean',
  supports_reasoning_summaries: 'boolean',
  supports_image_detail_original: 'boolean',
  supports_search_tool: 'boolean',
  web_search_tool_type: 'string',
  default_reasoning_summary: 'string',
  effective_context_window_percent: 'number',
};

describe('withCodexModels', () => {
  it('has every field that Codex demands', () => {
    const [entry] = modelsOf({ id: 'qwen3' });
    for (const [field, type] of Object.entries(DEMANDED)) expect(entry?.[field], field).to.be.a(type);
    expect(entry).to.include.keys('description', 'upgrade', 'default_verbosity', 'apply_patch_tool_type');
    expect(entry?.['truncation_policy']).to.deep.equal({ mode: 'bytes', limit: 10_000 });
  });

  it('gives Codex instructions, since it would send none in the place of an empty text', () => {
    expect(modelsOf({ id: 'qwen3' })[0]?.['base_instructions']).to.match(/coding agent[^]{500}/);
  });

  it('names the models in their order, beside the list as it was', () => {
    const list = { object: 'list', data: [{ id: 'b' }, { id: 'a', name: 'Model A', description: 'Good.' }], more: 1 };
    const found = withCodexModels(list) as Record<string, unknown>;
    expect(found).to.deep.include(list);
    expect(
      (found['models'] as Entry[]).map(({ slug, display_name, description, priority }) => [
        slug,
        display_name,
        description,
        priority,
      ]),
    ).to.deep.equal([
      ['b', 'b', null, 0],
      ['a', 'Model A', 'Good.', 1],
    ]);
  });

  it('leaves to Codex what Codex knows better', () => {
    const ids = ['gpt-5.5', 'gpt-oss-120b', 'codex-mini-latest', 'openai/gpt-5.5', 'my-gpt-5'].map((id) => ({ id }));
    expect(modelsOf(...ids).map(({ slug }) => slug)).to.deep.equal(['gpt-oss-120b', 'openai/gpt-5.5', 'my-gpt-5']);
  });

  const windows: { name: string; model: object; expected: number | undefined }[] = [
    { name: 'vLLM', model: { max_model_len: 32_768 }, expected: 32_768 },
    { name: 'OpenRouter', model: { context_length: 131_072 }, expected: 131_072 },
    { name: 'Groq', model: { context_window: 8192 }, expected: 8192 },
    { name: 'Mistral', model: { max_context_length: 128_000 }, expected: 128_000 },
    { name: 'llama.cpp', model: { meta: { n_ctx_train: 4096 } }, expected: 4096 },
    { name: 'the operator', model: { max_model_len: 32_768, context_window: 16_384 }, expected: 16_384 },
    { name: 'nobody', model: {}, expected: undefined },
    { name: 'a text', model: { context_length: '131072' }, expected: undefined },
    { name: 'nothing that can be', model: { context_length: 0 }, expected: undefined },
  ];
  for (const { name, model, expected } of windows) {
    it(`tells the context window as ${name} says it`, () => {
      const [entry] = modelsOf({ id: 'm', ...model });
      expect(entry?.['context_window']).to.equal(expected);
      expect(entry !== undefined && 'context_window' in entry).to.equal(expected !== undefined);
    });
  }

  const modalities: { name: string; model: object; expected: string[] | undefined }[] = [
    { name: 'text alone', model: { architecture: { input_modalities: ['text'] } }, expected: ['text'] },
    {
      name: 'images',
      model: { architecture: { input_modalities: ['image', 'text', 'file'] } },
      expected: ['text', 'image'],
    },
    { name: 'images at the top', model: { input_modalities: ['text', 'image', 'audio'] }, expected: ['text', 'image'] },
    { name: 'vision', model: { capabilities: { vision: true } }, expected: ['text', 'image'] },
    { name: 'no vision', model: { capabilities: { vision: false } }, expected: ['text'] },
    { name: 'nothing', model: {}, expected: undefined },
  ];
  for (const { name, model, expected } of modalities) {
    it(`tells what a model takes where the backend says ${name}`, () => {
      expect(modelsOf({ id: 'm', ...model })[0]?.['input_modalities']).to.deep.equal(expected);
    });
  }

  it('names the efforts, and the one that is used without one', () => {
    const [entry] = modelsOf({ id: 'm', reasoning_efforts: ['low', 'high', 5], default_reasoning_effort: 'low' });
    expect(entry).to.deep.include({
      supported_reasoning_levels: ['low', 'high'].map((effort) => ({ effort, description: `Effort: ${effort}` })),
      default_reasoning_level: 'low',
    });
  });

  it('passes over entries without a name', () => {
    expect(modelsOf(null, 'm', { id: 5 }, { id: 'm' }).map(({ slug }) => slug)).to.deep.equal(['m']);
  });

  for (const answer of [undefined, null, [], { data: 'm' }, { models: [] }]) {
    it(`takes ${JSON.stringify(answer)} for no list`, () => {
      expect(withCodexModels(answer)).to.equal(undefined);
    });
  }
});

describe('GET /models?client_version=…', () => {
  let backend: ScriptedBackend;
  let gateway: TestGateway;

  beforeEach(async () => {
    backend = await startScriptedBackend();
    backend.always({ json: { object: 'list', data: [{ id: 'qwen3', object: 'model', max_model_len: 32_768 }] } });
  });

  afterEach(async () => {
    await gateway.close();
    await backend.close();
  });

  async function open(settings: Readonly<Record<string, string>> = {}): Promise<void> {
    gateway = await openGateway({ UPSTREAM_BASE_URL: backend.baseUrl, ...settings });
  }

  it('gives the list in both forms, and asks the backend as ever', async () => {
    await open();
    const reply = await gateway.get('/api/v1/models?client_version=0.169.0');
    const { data, models } = (await reply.json()) as { data: Entry[]; models: Entry[] };
    expect(reply.status).to.equal(200);
    expect(data).to.deep.equal([{ id: 'qwen3', object: 'model', max_model_len: 32_768 }]);
    expect(models.map(({ slug, context_window: window }) => [slug, window])).to.deep.equal([['qwen3', 32_768]]);
    expect(backend.requests[0]?.path).to.equal('/v1/models');
  });

  it('lists aliases like models', async () => {
    await open({ MODEL_ALIASES: '{"coder": "qwen3"}' });
    const reply = await gateway.get('/v1/models?client_version=0.169.0');
    const { models } = (await reply.json()) as { models: Entry[] };
    expect(models.map(({ slug }) => slug)).to.deep.equal(['qwen3', 'coder']);
  });

  it('leaves the list of other clients alone', async () => {
    await open();
    const reply = await gateway.get('/v1/models');
    expect(await reply.json()).not.to.have.property('models');
  });

  it('passes on what the backend says in place of a list', async () => {
    await open();
    backend.reply({ json: { error: { message: 'No.', type: 'x', param: '', code: 'y' } }, status: 404 });
    const reply = await gateway.get('/v1/models?client_version=0.169.0');
    expect(reply.status).to.equal(404);
  });
});

import { expect } from 'chai';
import { DIALECTS, type DialectName } from '../../../src/core/dialects.ts';
import { toParameters } from '../../../src/core/request/parameters.ts';
import type { CreateResponse } from '../../../src/contract/types.ts';

type Fields = Readonly<Record<string, unknown>>;

const sorted = (fields: Fields, dialect: DialectName = 'vllm', written: object = {}) => {
  const request: CreateResponse = { model: 'm', input: 'Hi', ...fields };
  return toParameters(request, DIALECTS[dialect], written);
};

describe('toParameters', () => {
  const ignored: { name: string; instead: string }[] = [
    { name: 'max_tokens', instead: 'max_output_tokens' },
    { name: 'max_completion_tokens', instead: 'max_output_tokens' },
    { name: 'response_format', instead: 'text.format' },
    { name: 'reasoning_effort', instead: 'reasoning.effort' },
    { name: 'verbosity', instead: 'text.verbosity' },
    { name: 'messages', instead: 'input' },
    { name: 'functions', instead: 'tools' },
    { name: 'function_call', instead: 'tool_choice' },
    { name: 'logprobs', instead: 'top_logprobs' },
  ];
  for (const { name, instead } of ignored) {
    it(`says what to write instead of ${name}`, () => {
      expect(sorted({ [name]: 1 })).to.deep.equal({ passed: {}, ignored: [`${name} (use ${instead})`] });
    });
  }

  it('passes nothing that a dialect does not list', () => {
    const fields = { top_k: 1, min_p: 0, stop: ['x'], of_tomorrow: {} };
    expect(sorted(fields, 'openai')).to.deep.equal({
      passed: { stop: ['x'] },
      ignored: ['top_k', 'min_p', 'of_tomorrow'],
    });
  });

  it('takes extra_body as the SDK for Python does, and prefers the field itself', () => {
    const extra = { top_k: 1, min_p: 0.5, temperature: 2, __proto__: 1 };
    expect(sorted({ top_k: 2, extra_body: extra })).to.deep.equal({
      passed: { top_k: 2, min_p: 0.5 },
      ignored: ['temperature'],
    });
    expect(sorted({ extra_body: 'text' })).to.deep.equal({ passed: {}, ignored: [] });
  });

  it('names nothing that has no effect by design', () => {
    const fields = { store: true, metadata: {}, user: 'u', client_metadata: {}, prompt_cache_retention: '24h' };
    expect(sorted({ ...fields, truncation: 'auto', type: 'response.create' }).ignored).to.deep.equal([]);
  });

  it('replaces no field that is written', () => {
    const kwargs = { chat_template_kwargs: { enable_thinking: true } };
    expect(sorted(kwargs, 'vllm', { chat_template_kwargs: {} })).to.deep.equal({
      passed: {},
      ignored: ['chat_template_kwargs'],
    });
  });

  it('passes no choice of another model or of several answers, whatever an operator lists', () => {
    const names = ['n', 'best_of', 'models', 'messages', 'tools', 'stream', 'max_tokens', 'top_k', 'route'];
    const fields = Object.fromEntries(names.map((name) => [name, 1]));
    const request = { model: 'm', input: 'Hi', extra_body: fields };
    expect(toParameters(request, { parameters: names, unboundedParameters: ['route'] }, {}).passed).to.deep.equal({
      top_k: 1,
    });
  });
});

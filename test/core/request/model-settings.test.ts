import { expect } from 'chai';
import { settle } from '../../../src/core/request/model-settings.ts';
import type { ModelSettings } from '../../../src/contract/settings-types.ts';

type Fields = Readonly<Record<string, unknown>>;

interface Case {
  readonly name: string;
  readonly settings: Omit<ModelSettings, 'defaults' | 'overrides'> & {
    readonly defaults?: Fields;
    readonly overrides?: Fields;
  };
  readonly asked: Fields;
  readonly settled: Fields;
  readonly overridden?: readonly string[];
}

describe('settle', () => {
  const cases: readonly Case[] = [
    {
      name: 'fills what the request leaves out',
      settings: { defaults: { temperature: 0.6, top_k: 20, max_output_tokens: 9 } },
      asked: { temperature: 0 },
      settled: { temperature: 0, top_k: 20, max_output_tokens: 9 },
    },
    {
      name: 'prefers what the request has in extra_body',
      settings: { defaults: { top_k: 20, min_p: 0.1 } },
      asked: { extra_body: { top_k: 5, min_p: null } },
      settled: { extra_body: { top_k: 5, min_p: null }, top_k: 5, min_p: 0.1 },
    },
    {
      name: 'does not take a parameter of the Responses format from extra_body, which does not pass there',
      settings: { defaults: { temperature: 0.6 } },
      asked: { extra_body: { temperature: 2 } },
      settled: { extra_body: { temperature: 2 }, temperature: 0.6 },
    },
    {
      name: 'replaces what the operator overrides, and says so',
      settings: { defaults: { temperature: 0.1 }, overrides: { temperature: 0.6, top_k: 20, stop: ['END'] } },
      asked: { temperature: 2, extra_body: { top_k: 5, stop: ['END'] } },
      settled: { temperature: 0.6, top_k: 20, stop: ['END'], extra_body: { top_k: 5, stop: ['END'] } },
      overridden: ['temperature', 'top_k'],
    },
    {
      name: 'fills and replaces each part of reasoning, text and chat_template_kwargs alone',
      settings: {
        defaults: { reasoning: { effort: 'low' }, text: { verbosity: 'low' }, chat_template_kwargs: { a: 1, b: 1 } },
        overrides: { reasoning: { summary: 'auto' }, chat_template_kwargs: { c: 3 } },
      },
      asked: {
        reasoning: { summary: 'detailed' },
        text: { format: { type: 'text' } },
        extra_body: { chat_template_kwargs: { b: 2, c: 2 } },
      },
      settled: {
        reasoning: { effort: 'low', summary: 'auto' },
        text: { verbosity: 'low', format: { type: 'text' } },
        chat_template_kwargs: { a: 1, b: 2, c: 3 },
        extra_body: { chat_template_kwargs: { b: 2, c: 2 } },
      },
      overridden: ['reasoning.summary', 'chat_template_kwargs.c'],
    },
    {
      name: 'rounds an effort down to one that the model knows',
      settings: { efforts: ['low', 'high'] },
      asked: { reasoning: { effort: 'medium', summary: 'auto' } },
      settled: { reasoning: { effort: 'low', summary: 'auto' } },
    },
    {
      name: 'leaves the effort none, which switches reasoning off',
      settings: { efforts: ['low', 'high'] },
      asked: { reasoning: { effort: 'none' } },
      settled: { reasoning: { effort: 'none' } },
    },
    { name: 'adds no effort', settings: { efforts: ['low'] }, asked: {}, settled: {} },
  ];
  for (const { name, settings, asked, settled, overridden = [] } of cases) {
    it(name, () => {
      const request = { model: 'm', input: 'Hi', ...asked };
      const before = structuredClone(request);
      const found = settle(request, settings);
      expect(found).to.deep.equal({ request: { model: 'm', input: 'Hi', ...settled }, overridden });
      expect(request).to.deep.equal(before);
    });
  }

  it('leaves a request alone of whose model nothing is said', () => {
    const request = { model: 'm', input: 'Hi' };
    expect(settle(request, undefined).request).to.equal(request);
  });
});

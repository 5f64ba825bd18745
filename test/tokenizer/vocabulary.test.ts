import { expect } from 'chai';
import { vocabularyOf } from '../../src/tokenizer/vocabulary.ts';

describe('vocabularyOf', () => {
  const cases = {
    cl100k_base: [
      'gpt-4',
      'gpt-4-turbo-2024-04-09',
      'gpt-4-32k',
      'openai/gpt-4-turbo',
      'GPT-4',
      'gpt-3.5-turbo',
      'gpt-35-turbo',
      'text-embedding-3-small',
    ],
    o200k_base: [
      'gpt-4o',
      'gpt-4-o',
      'gpt-4.1-mini',
      'gpt-4.5-preview',
      'gpt-5',
      'openai/gpt-oss-120b',
      'o3',
      'qwen3-32b',
      'my-gpt-4',
      'llama-3.1-8b-instruct',
    ],
  } as const;
  for (const vocabulary of ['cl100k_base', 'o200k_base'] as const) {
    for (const model of cases[vocabulary]) {
      it(`is ${vocabulary} for ${model}`, () => {
        expect(vocabularyOf(model)).to.equal(vocabulary);
      });
    }
  }
});

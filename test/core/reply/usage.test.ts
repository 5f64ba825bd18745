import { expect } from 'chai';
import { readUsage } from '../../../src/core/reply/usage.ts';

const counts = (input: number, cached: number, output: number, reasoning: number, total: number) => ({
  input_tokens: input,
  input_tokens_details: { cached_tokens: cached },
  output_tokens: output,
  output_tokens_details: { reasoning_tokens: reasoning },
  total_tokens: total,
});
const plain = { prompt_tokens: 12, completion_tokens: 5, total_tokens: 17 };

describe('readUsage', () => {
  const cases: { name: string; chunk: object; choice?: object; expected: object | undefined }[] = [
    { name: 'is not there', chunk: {}, expected: undefined },
    { name: 'is null', chunk: { usage: null }, expected: undefined },
    { name: 'is empty', chunk: { usage: {} }, expected: undefined },
    { name: 'has no number', chunk: { usage: { prompt_tokens: '12', completion_tokens: null } }, expected: undefined },
    { name: 'is a list', chunk: { usage: [plain] }, expected: undefined },
    { name: 'is at the top', chunk: { usage: plain }, expected: counts(12, 0, 5, 0, 17) },
    { name: 'is in the choice', chunk: {}, choice: { usage: plain }, expected: counts(12, 0, 5, 0, 17) },
    { name: 'is under x_groq', chunk: { x_groq: { usage: plain } }, expected: counts(12, 0, 5, 0, 17) },
    {
      name: 'is in several places, of which the top counts',
      chunk: { usage: plain, x_groq: { usage: { prompt_tokens: 1 } } },
      choice: { usage: { prompt_tokens: 2 } },
      expected: counts(12, 0, 5, 0, 17),
    },
    {
      name: 'is null at the top and in the choice',
      chunk: { usage: null },
      choice: { usage: plain },
      expected: counts(12, 0, 5, 0, 17),
    },
    {
      name: 'has details',
      chunk: {
        usage: {
          ...plain,
          prompt_tokens_details: { cached_tokens: 8 },
          completion_tokens_details: { reasoning_tokens: 3 },
        },
      },
      expected: counts(12, 8, 5, 3, 17),
    },
    {
      name: 'has details that are null',
      chunk: { usage: { ...plain, prompt_tokens_details: null, completion_tokens_details: null } },
      expected: counts(12, 0, 5, 0, 17),
    },
    {
      name: 'has cached tokens under the name of DeepSeek',
      chunk: { usage: { ...plain, prompt_cache_hit_tokens: 4, prompt_cache_miss_tokens: 8 } },
      expected: counts(12, 4, 5, 0, 17),
    },
    {
      name: 'has cached and reasoning tokens without details',
      chunk: { usage: { ...plain, cached_tokens: 4, reasoning_tokens: 2 } },
      expected: counts(12, 4, 5, 2, 17),
    },
    {
      name: 'has zero cached tokens in its details, which is not missing',
      chunk: { usage: { ...plain, prompt_tokens_details: { cached_tokens: 0 }, cached_tokens: 4 } },
      expected: counts(12, 0, 5, 0, 17),
    },
    {
      name: 'has reasoning beside the completion, as xAI counts it',
      chunk: {
        usage: {
          prompt_tokens: 307,
          completion_tokens: 26,
          total_tokens: 560,
          completion_tokens_details: { reasoning_tokens: 227 },
        },
      },
      expected: counts(307, 0, 253, 227, 560),
    },
    {
      name: 'has reasoning and no total',
      chunk: { usage: { prompt_tokens: 12, completion_tokens: 5, reasoning_tokens: 3 } },
      expected: counts(12, 0, 5, 3, 17),
    },
    {
      name: 'has no total',
      chunk: { usage: { prompt_tokens: 12, completion_tokens: 5 } },
      expected: counts(12, 0, 5, 0, 17),
    },
    {
      name: 'has a total of its own',
      chunk: { usage: { ...plain, total_tokens: 20 } },
      expected: counts(12, 0, 5, 0, 20),
    },
    { name: 'has input only', chunk: { usage: { prompt_tokens: 12 } }, expected: counts(12, 0, 0, 0, 12) },
    { name: 'has output only', chunk: { usage: { completion_tokens: 5 } }, expected: counts(0, 0, 5, 0, 5) },
    { name: 'is zero', chunk: { usage: { prompt_tokens: 0, completion_tokens: 0 } }, expected: counts(0, 0, 0, 0, 0) },
    {
      name: 'has fractions',
      chunk: { usage: { prompt_tokens: 1.6, completion_tokens: 2.4 } },
      expected: counts(2, 0, 2, 0, 4),
    },
    {
      name: 'has numbers that count nothing',
      chunk: { usage: { prompt_tokens: -1, completion_tokens: 5, total_tokens: 1e300, cached_tokens: -3 } },
      expected: counts(0, 0, 5, 0, 5),
    },
  ];
  for (const { name, chunk, choice, expected } of cases) {
    it(`reads usage that ${name}`, () => {
      expect(readUsage(chunk as Record<string, unknown>, choice as Record<string, unknown> | undefined)).to.deep.equal(
        expected,
      );
    });
  }
});

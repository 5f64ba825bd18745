import { expect } from 'chai';
import { isWhole, NOTHING_REPORTED, readReported, readUsage, sumOfReported } from '../../../src/core/reply/usage.ts';

const counts = (input: number, cached: number, output: number, reasoning: number, total: number, cacheWrite = 0) => ({
  input_tokens: input,
  input_tokens_details: { cached_tokens: cached, cache_write_tokens: cacheWrite },
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
    {
      name: 'has no number',
      chunk: { usage: { prompt_tokens: 'many', completion_tokens: null } },
      expected: undefined,
    },
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
      name: 'has the names of the Responses format, as mlx-vlm writes them',
      chunk: { usage: { input_tokens: 12, output_tokens: 5, total_tokens: 17, prompt_tps: 21.5 } },
      expected: counts(12, 0, 5, 0, 17),
    },
    {
      name: 'has names of both formats, of which those of chat completions count',
      chunk: { usage: { ...plain, input_tokens: 0, output_tokens: 0 } },
      expected: counts(12, 0, 5, 0, 17),
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
      name: 'has thoughts in the total alone, as Gemini counts them',
      chunk: { usage: { prompt_tokens: 35, completion_tokens: 12, total_tokens: 109 } },
      expected: counts(35, 0, 74, 62, 109),
    },
    {
      name: 'has a total that is less than its parts',
      chunk: { usage: { ...plain, total_tokens: 3 } },
      expected: counts(12, 0, 5, 0, 17),
    },
    {
      name: 'has output in the total alone',
      chunk: { usage: { prompt_tokens: 12, total_tokens: 20 } },
      expected: counts(12, 0, 8, 0, 20),
    },
    {
      name: 'has more cached tokens than input',
      chunk: { usage: { ...plain, prompt_tokens_details: { cached_tokens: 1000 } } },
      expected: counts(12, 12, 5, 0, 17),
    },
    {
      name: 'has cache writes, as OpenAI and OpenRouter name them',
      chunk: { usage: { ...plain, prompt_tokens_details: { cached_tokens: 4, cache_write_tokens: 3 } } },
      expected: counts(12, 4, 5, 0, 17, 3),
    },
    {
      name: 'has cache writes in its details, as LiteLLM names them',
      chunk: { usage: { ...plain, prompt_tokens_details: { cached_tokens: 4, cache_creation_tokens: 3 } } },
      expected: counts(12, 4, 5, 0, 17, 3),
    },
    {
      name: 'has cache writes as Anthropic names them',
      chunk: { usage: { ...plain, cache_creation_input_tokens: 3, cache_read_input_tokens: 0 } },
      expected: counts(12, 0, 5, 0, 17, 3),
    },
    {
      name: 'has more cache writes than input',
      chunk: { usage: { ...plain, prompt_tokens_details: { cached_tokens: 8, cache_write_tokens: 1000 } } },
      expected: counts(12, 8, 5, 0, 17, 4),
    },
    {
      name: 'has cache writes beyond the cached input, of which all is cached',
      chunk: { usage: { ...plain, prompt_tokens_details: { cached_tokens: 1000, cache_write_tokens: 1000 } } },
      expected: counts(12, 12, 5, 0, 17, 0),
    },
    {
      name: 'has more thoughts than output',
      chunk: { usage: { ...plain, completion_tokens_details: { reasoning_tokens: 1000 } } },
      expected: counts(12, 0, 5, 5, 17),
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

describe('readReported', () => {
  const GAPS: { name: string; usage: object; gaps: string[] }[] = [
    { name: 'both halves', usage: plain, gaps: [] },
    { name: 'no input', usage: { completion_tokens: 5 }, gaps: ['input'] },
    { name: 'no output', usage: { prompt_tokens: 12 }, gaps: ['output'] },
    { name: 'zeros', usage: { prompt_tokens: 0, completion_tokens: 0, total_tokens: 0 }, gaps: ['input'] },
    { name: 'input below zero', usage: { prompt_tokens: -5, completion_tokens: 5 }, gaps: ['input'] },
    {
      name: 'endless input',
      usage: { prompt_tokens: 1e300, completion_tokens: 5, total_tokens: 1e300 },
      gaps: ['input'],
    },
    { name: 'more output than any model writes', usage: { ...plain, completion_tokens: 2 ** 53 - 1 }, gaps: [] },
    { name: 'such output and no total', usage: { prompt_tokens: 1, completion_tokens: 2 ** 53 - 1 }, gaps: ['output'] },
    { name: 'as many tokens as any model reads', usage: { prompt_tokens: 1e9, completion_tokens: 5 }, gaps: [] },
    { name: 'no output beside a total of the input', usage: { prompt_tokens: 12, total_tokens: 12 }, gaps: [] },
    { name: 'a text for the output', usage: { prompt_tokens: 12, completion_tokens: 'five' }, gaps: ['output'] },
    { name: 'numbers in strings', usage: { prompt_tokens: '12', completion_tokens: '5' }, gaps: [] },
  ];
  for (const { name, usage, gaps } of GAPS) {
    it(`knows what is missing of usage with ${name}`, () => {
      const reported = readReported(NOTHING_REPORTED, { usage }, undefined);
      expect(reported.gaps).to.deep.equal(gaps);
      expect(isWhole(reported)).to.equal(gaps.length === 0);
    });
  }

  it('keeps usage that is whole when less is counted after it', () => {
    const whole = readReported(NOTHING_REPORTED, { usage: plain }, undefined);
    for (const less of [{ prompt_tokens: 0, completion_tokens: 0, total_tokens: 0 }, { prompt_tokens: 12 }])
      expect(readReported(whole, { usage: less }, undefined)).to.deep.equal(whole);
  });

  it('misses all of it as long as nothing was reported', () => {
    expect(isWhole(NOTHING_REPORTED)).to.equal(false);
  });

  it('keeps the model and the usage that were reported before', () => {
    const first = readReported(NOTHING_REPORTED, { model: 'a' }, undefined);
    const second = readReported(first, { usage: plain }, undefined);
    expect(second).to.deep.equal({ usage: counts(12, 0, 5, 0, 17), gaps: [], model: 'a' });
    expect(readReported(second, { choices: [] }, undefined)).to.equal(second);
    expect(readReported(second, { model: 'a' }, undefined)).to.equal(second);
    expect(readReported(second, { model: 'b' }, undefined)).to.deep.equal({ ...second, model: 'b' });
    expect(readReported(second, { model: '' }, undefined)).to.equal(second);
  });

  it('adds up two requests, of which each can lack a half', () => {
    const one = readReported(NOTHING_REPORTED, { model: 'a', usage: { prompt_tokens: 12 } }, undefined);
    const other = readReported(NOTHING_REPORTED, { usage: plain }, undefined);
    expect(sumOfReported(one, other)).to.deep.include({ usage: counts(24, 0, 5, 0, 29), gaps: ['output'], model: 'a' });
    expect(sumOfReported(one, NOTHING_REPORTED).usage).to.equal(null);
    expect(sumOfReported(NOTHING_REPORTED, one).usage).to.equal(null);
  });

  it('adds up each part of what is counted', () => {
    const usage = {
      input_tokens: 20,
      input_tokens_details: { cached_tokens: 7, cache_write_tokens: 3 },
      output_tokens: 10,
      output_tokens_details: { reasoning_tokens: 4 },
      total_tokens: 30,
    };
    expect(sumOfReported({ usage, gaps: [], model: 'a' }, { usage, gaps: [], model: 'a' }).usage).to.deep.equal({
      input_tokens: 40,
      input_tokens_details: { cached_tokens: 14, cache_write_tokens: 6 },
      output_tokens: 20,
      output_tokens_details: { reasoning_tokens: 8 },
      total_tokens: 60,
    });
  });
});

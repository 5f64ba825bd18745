/**
 * The forms that providers give their prices, as their lists showed them on a day. Where a list
 * leaves a figure open, the row says so. Figures change; the forms are what is tested.
 */
import { expect } from 'chai';
import { costOf, createPrices, holdOf } from '../../../src/core/money/pricing.ts';
import { NOTHING_REPORTED, readReported } from '../../../src/core/reply/usage.ts';
import type { ModelPrice } from '../../../src/contract/settings-types.ts';

interface Charge {
  readonly of: string;
  /** As a chat completion has it at its end. */
  readonly answer: { readonly usage: object; readonly service_tier?: string };
  readonly asked?: string;
  readonly micro: number;
}

interface List {
  readonly provider: string;
  readonly model: string;
  readonly price: ModelPrice;
  readonly charges: readonly Charge[];
}

function usage(prompt: number, completion: number, details: object = {}): object {
  return { prompt_tokens: prompt, completion_tokens: completion, ...details };
}

function cached(count: number, written = 0): object {
  return { prompt_tokens_details: { cached_tokens: count, cache_write_tokens: written } };
}

function audio(heard: number, spoken: number): object {
  return {
    prompt_tokens_details: { audio_tokens: heard },
    completion_tokens_details: { audio_tokens: spoken },
  };
}

const LISTS: readonly List[] = [
  {
    // As LiteLLM's price list had GPT-6 Astra in November 2026.
    provider: 'OpenAI',
    model: 'gpt-6-astra',
    price: {
      input: '10.00',
      cached_input: '1.00',
      cache_write: '12.50',
      output: '50.00',
      tiers: [
        { service_tier: 'ultrafast', input: '60.00', cached_input: '6.00', cache_write: '75.00', output: '300.00' },
        { above_tokens: 272_000, input: '20.00', cached_input: '2.00', output: '75.00' },
        { service_tier: 'ultrafast', above_tokens: 272_000, input: '120.00', cached_input: '12.00', output: '450.00' },
      ],
    },
    charges: [
      // 500 × 60 + 200 × 6 + 300 × 75 + 400 × 300
      {
        of: 'ultrafast',
        answer: { usage: usage(1000, 400, cached(200, 300)), service_tier: 'ultrafast' },
        asked: 'ultrafast',
        micro: 173_700,
      },
      // 300,000 × 120 + 10 × 450
      {
        of: 'a long request in ultrafast',
        answer: { usage: usage(300_000, 10), service_tier: 'ultrafast' },
        asked: 'ultrafast',
        micro: 36_004_500,
      },
      // 500 × 10 + 200 × 1 + 300 × 12.50 + 400 × 50
      {
        of: 'the default tier where ultrafast was full',
        answer: { usage: usage(1000, 400, cached(200, 300)), service_tier: 'default' },
        asked: 'ultrafast',
        micro: 28_950,
      },
      // 1000 × 60 + 100 × 300
      {
        of: 'ultrafast that nobody asked for',
        answer: { usage: usage(1000, 100), service_tier: 'ultrafast' },
        micro: 90_000,
      },
      // 1000 × 10 + 100 × 50
      {
        of: 'a tier without a price that the answer names',
        answer: { usage: usage(1000, 100), service_tier: 'scale' },
        micro: 15_000,
      },
    ],
  },
  {
    // openai.com/api-priority-processing (GPT-5.4 without long context), read 2026-11-28. The default
    // tier, flex and the row above 272,000 tokens are as others reported the list of June 2026.
    provider: 'OpenAI',
    model: 'gpt-5.4',
    price: {
      input: '2.50',
      cached_input: '0.25',
      output: '15.00',
      tiers: [
        { above_tokens: 272_000, input: '5.00', cached_input: '0.50', output: '22.50' },
        { service_tier: 'flex', input: '1.25', cached_input: '0.125', output: '7.50' },
        { service_tier: 'priority', input: '5.00', cached_input: '0.50', output: '30.00' },
      ],
    },
    charges: [
      // 600 × 2.50 + 400 × 0.25 + 100 × 15
      { of: 'the default tier', answer: { usage: usage(1000, 100, cached(400)) }, micro: 3100 },
      // 600 × 1.25 + 400 × 0.125 + 100 × 7.50
      {
        of: 'flex',
        answer: { usage: usage(1000, 100, cached(400)), service_tier: 'flex' },
        asked: 'flex',
        micro: 1550,
      },
      // 1000 × 5 + 100 × 30
      {
        of: 'priority, which OpenAI also calls fast',
        answer: { usage: usage(1000, 100), service_tier: 'priority' },
        asked: 'fast',
        micro: 8000,
      },
      // 1000 × 2.50 + 100 × 15
      {
        of: 'the default tier where priority was full',
        answer: { usage: usage(1000, 100), service_tier: 'default' },
        asked: 'priority',
        micro: 4000,
      },
      // The project of the operator decides for a request that names no tier.
      {
        of: 'priority that nobody asked for',
        answer: { usage: usage(1000, 100), service_tier: 'priority' },
        micro: 8000,
      },
      {
        of: 'the default tier where flex was asked for and the answer names none',
        answer: { usage: usage(1000, 100) },
        asked: 'flex',
        micro: 4000,
      },
      {
        of: 'priority where it was asked for and the answer names none',
        answer: { usage: usage(1000, 100) },
        asked: 'priority',
        micro: 8000,
      },
      { of: 'the longest short request', answer: { usage: usage(272_000, 0) }, micro: 680_000 },
      // 172,001 × 5 + 100,000 × 0.50 + 10 × 22.50
      { of: 'a long request', answer: { usage: usage(272_001, 10, cached(100_000)) }, micro: 910_230 },
    ],
  },
  {
    // developers.openai.com/api/docs/models/gpt-audio, read 2026-11-28.
    provider: 'OpenAI',
    model: 'gpt-audio',
    price: { input: '2.50', audio_input: '32.00', output: '10.00', audio_output: '64.00' },
    charges: [
      // 100 × 2.50 + 900 × 32 + 100 × 10 + 900 × 64
      { of: 'speech with some text', answer: { usage: usage(1000, 1000, audio(900, 900)) }, micro: 87_650 },
      { of: 'text alone', answer: { usage: usage(1000, 1000) }, micro: 12_500 },
      { of: 'more audio than there are tokens', answer: { usage: usage(10, 10, audio(900, 900)) }, micro: 960 },
    ],
  },
  {
    // platform.claude.com/docs/en/models/haiku-5-5/overview, for prompts to and above 100,000 tokens, read
    // 2026-11-28. Writes are those of 5 minutes; that of long prompts is 1.25 times the input, as for
    // all models, which the page did not show.
    provider: 'Anthropic',
    model: 'claude-haiku-5-5',
    price: {
      input: '0.10',
      cached_input: '0.01',
      cache_write: '0.125',
      output: '0.50',
      tiers: [{ above_tokens: 100_000, input: '0.50', cached_input: '0.05', cache_write: '0.625', output: '2.50' }],
    },
    charges: [
      // 10,000 × 0.10 + 80,000 × 0.01 + 10,000 × 0.125 + 1000 × 0.50
      { of: 'a short prompt', answer: { usage: usage(100_000, 1000, cached(80_000, 10_000)) }, micro: 3550 },
      // 10,000 × 0.50 + 180,000 × 0.05 + 10,000 × 0.625 + 1000 × 2.50
      { of: 'a long prompt', answer: { usage: usage(200_000, 1000, cached(180_000, 10_000)) }, micro: 22_750 },
      {
        of: 'a prompt in the tier that Anthropic calls standard',
        answer: { usage: usage(1000, 0), service_tier: 'standard' },
        micro: 100,
      },
    ],
  },
  {
    // ai.google.dev/gemini-api/docs/pricing, as others reported it in 2026: what is cached costs a tenth.
    provider: 'Google',
    model: 'gemini-2.5-flash',
    price: {
      input: '0.30',
      cached_input: '0.03',
      audio_input: '1.00',
      cached_audio_input: '0.10',
      output: '2.50',
    },
    charges: [
      // 100 × 0.03 + 500 × 1.00 + 400 × 0.10 + 10 × 2.50
      {
        of: 'audio of which some was cached',
        answer: { usage: usage(1000, 10, { prompt_tokens_details: { audio_tokens: 900, cached_tokens: 500 } }) },
        micro: 568,
      },
      // 60 × 0.30 + 40 × 0.03 + 900 × 1.00
      {
        of: 'audio beside text of which some was cached',
        answer: { usage: usage(1000, 0, { prompt_tokens_details: { audio_tokens: 900, cached_tokens: 40 } }) },
        micro: 920,
      },
    ],
  },
  {
    // api-docs.deepseek.com, as reported on 2026-10-27: the prices of peak hours. Those of other hours
    // are half, which a table without a clock cannot say.
    provider: 'DeepSeek',
    model: 'deepseek-flash',
    price: { input: '0.30', cached_input: '0.006', output: '1.20' },
    charges: [
      // 200 × 0.30 + 800 × 0.006 + 100 × 1.20 = 184.8
      {
        of: 'hits and misses',
        answer: { usage: usage(1000, 100, { prompt_cache_hit_tokens: 800, prompt_cache_miss_tokens: 200 }) },
        micro: 185,
      },
    ],
  },
];

for (const { provider, model, price, charges } of LISTS) {
  describe(`${model} at the prices of ${provider}`, () => {
    const found = createPrices({ currency: 'USD', models: { [model]: price } }).find(model, model);
    if (found === undefined) throw new Error('the model has no price');
    for (const { of, answer, asked, micro } of charges) {
      const reported = readReported(NOTHING_REPORTED, answer, undefined);
      if (reported.usage === null) throw new Error('the answer has no usage');
      const { usage: counted } = reported;
      it(`costs ${micro} millionths for ${of}`, () => {
        expect(costOf(found, counted, reported, asked)).to.equal(micro);
      });
      // Keys with funds may not ask for speech.
      if (reported.pricedBy?.audioOutputTokens) continue;
      it(`costs no more than was reserved for ${of}`, () => {
        const { input_tokens: inputTokens, output_tokens: outputTokens } = counted;
        const held = holdOf(found, { inputTokens, outputTokens, hasMedia: true, serviceTier: asked });
        expect(held).to.be.at.least(micro);
      });
    }
  });
}

import { expect } from 'chai';
import { recognise, type Evidence } from '../../src/doctor/dialect-signs.ts';

const NOTHING: Evidence = { headers: {}, models: [], answers: [] };

describe('recognise', () => {
  const cases: readonly (readonly [sign: string, evidence: Partial<Evidence>, expected: readonly string[]])[] = [
    ['nothing', {}, []],
    ['a plain answer', { answers: [{ id: 'chatcmpl-1', choices: [{ index: 0, delta: {} }] }] }, []],
    ['a header', { headers: { 'x-groq-region': 'fra' } }, ['groq']],
    ['a field', { answers: [{}, { timings: {} }] }, ['llamacpp']],
    ['a field that is null', { answers: [{ prompt_logprobs: null }] }, ['vllm']],
    ['a field of a choice', { answers: [{ choices: [{ matched_stop: null }] }] }, ['sglang']],
    ['a field of usage', { answers: [{ usage: { prompt_cache_hit_tokens: 0 } }] }, ['deepseek']],
    ['the fingerprint', { answers: [{ system_fingerprint: 'fp_ollama' }] }, ['ollama']],
    ['another fingerprint that begins so', { answers: [{ system_fingerprint: 'fp_ollama2' }] }, []],
    ['an id', { answers: [{ id: 'gen-1764791730-nym6' }] }, ['openrouter']],
    ['the owner of a model', { models: [{ owned_by: 'x' }, { owned_by: 'mistralai' }] }, ['mistral']],
    ['what several have', { models: [{ max_model_len: 8192 }] }, ['vllm', 'sglang']],
    [
      'what is no text',
      { models: [{ owned_by: 7 }], answers: [{ id: 7, usage: 7, system_fingerprint: 7, choices: 7 }] },
      [],
    ],
    ['a bare list of 32 digits', { answers: [{ id: '3a266e7631b44d6a89f65a5839a585e4' }] }, ['mistral']],
  ];

  for (const [sign, evidence, expected] of cases) {
    it(`makes of ${sign} ${expected.join(' and ') || 'nothing'}`, () => {
      expect(recognise({ ...NOTHING, ...evidence }).map(({ dialect }) => dialect)).to.deep.equal(expected);
    });
  }

  it('lets one telling sign outweigh all others', () => {
    const evidence = {
      ...NOTHING,
      models: [{ owned_by: 'sglang', max_model_len: 8192 }],
      answers: [{ choices: [{ stop_reason: null }] }],
    };
    expect(recognise(evidence)).to.deep.equal([
      { dialect: 'sglang', signs: ['the owner of its models', 'the field max_model_len of models'], isCertain: true },
    ]);
  });

  it('is certain only of a telling sign', () => {
    expect(recognise({ ...NOTHING, models: [{ owned_by: 'openai' }] })).to.deep.equal([
      { dialect: 'openai', signs: ['the owner of its models'], isCertain: false },
    ]);
  });

  it('takes the kind with the most telling signs where another shines through', () => {
    const answers = [
      { id: 'gen-17-x', usage: { prompt_cache_hit_tokens: 0 }, choices: [{ native_finish_reason: 'STOP' }] },
    ];
    expect(recognise({ ...NOTHING, answers }).map(({ dialect }) => dialect)).to.deep.equal(['openrouter']);
  });
});

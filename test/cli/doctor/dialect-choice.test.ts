import { expect } from 'chai';
import { chooseDialect, findDifferences } from '../../../src/cli/doctor/dialect-choice.ts';
import type { Evidence } from '../../../src/cli/doctor/dialect-signs.ts';
import { NOT_CLEAR } from '../../support/doctor-question.ts';
import { DIALECTS } from '../../../src/core/dialects.ts';

const NO_EVIDENCE: Evidence = { headers: {}, models: [], answers: [] };

describe('findDifferences', () => {
  for (const { dialect, abilities, expected } of [
    { dialect: 'generic', abilities: {}, expected: {} },
    { dialect: 'openai', abilities: {}, expected: {} },
    {
      dialect: 'generic',
      abilities: { maxTokens: false, maxCompletionTokens: true },
      expected: { tokenLimitField: 'max_completion_tokens' },
    },
    { dialect: 'generic', abilities: { maxTokens: false }, expected: {} },
    { dialect: 'openai', abilities: { maxTokens: false, maxCompletionTokens: true }, expected: {} },
    {
      dialect: 'openai',
      abilities: { maxTokens: true, maxCompletionTokens: false },
      expected: { tokenLimitField: 'max_tokens' },
    },
    { dialect: 'openai', abilities: { developerRole: false }, expected: { systemRole: 'system' } },
    { dialect: 'generic', abilities: { developerRole: false }, expected: {} },
    { dialect: 'deepseek', abilities: { laterSystem: false }, expected: { systemPlace: 'merged-first' } },
    { dialect: 'vllm', abilities: { laterSystem: false, userAfterUser: false }, expected: {} },
    { dialect: 'ollama', abilities: { userAfterUser: false }, expected: { userMessages: 'merged' } },
    { dialect: 'groq', abilities: { thinkTags: true }, expected: { thinkTags: true } },
    { dialect: 'vllm', abilities: { thinkTags: false }, expected: {} },
    { dialect: 'vllm', abilities: { thinkTags: true }, expected: {} },
    { dialect: 'vllm', abilities: { thinkTags: 'opened' }, expected: { thinkTags: 'opened' } },
    { dialect: 'vllm', abilities: { toolChoice: 'words' }, expected: { toolChoice: 'words' } },
    { dialect: 'generic', abilities: { toolChoice: 'named' }, expected: {} },
    { dialect: 'ollama', abilities: { toolChoice: 'words' }, expected: {} },
    { dialect: 'generic', abilities: { toolChoice: 'ignored' }, expected: { toolChoice: 'ignored' } },
    {
      dialect: 'openai',
      abilities: { wantedThoughts: 'reasoning_content' },
      expected: { reasoningField: 'reasoning_content' },
    },
    { dialect: 'deepseek', abilities: { wantedThoughts: 'reasoning_content' }, expected: {} },
    { dialect: 'generic', abilities: { wantedThoughts: 'reasoning_content' }, expected: {} },
    { dialect: 'generic', abilities: { wantedThoughts: 'reasoning' }, expected: { reasoningField: 'reasoning' } },
    { dialect: 'generic', abilities: { stopsAtAbort: false }, expected: { streams: 'always' } },
    { dialect: 'generic', abilities: { stopsAtAbort: true }, expected: {} },
    { dialect: 'llamacpp', abilities: { stopsAtAbort: false }, expected: {} },
  ] as const) {
    it(`finds ${JSON.stringify(expected)} in ${dialect} for ${JSON.stringify(abilities)}`, () => {
      expect(findDifferences(DIALECTS[dialect], { ...NOT_CLEAR, ...abilities })).to.deep.equal(expected);
    });
  }
});

describe('chooseDialect', () => {
  it('takes the kind that gave itself away, and says by what', () => {
    expect(chooseDialect({ ...NO_EVIDENCE, models: [{ owned_by: 'vllm' }] }, NOT_CLEAR)).to.deep.equal({
      dialect: 'vllm',
      reason: 'Recognised by the owner of its models.',
      differences: {},
      equivalents: [],
    });
  });

  it('says what has to differ from it', () => {
    const evidence = { ...NO_EVIDENCE, headers: { 'x-groq-region': 'fra' } };
    const choice = chooseDialect(evidence, { ...NOT_CLEAR, thinkTags: true });
    expect(choice).to.deep.include({ dialect: 'groq', differences: { thinkTags: true } });
  });

  it('names both where it could be either', () => {
    const choice = chooseDialect({ ...NO_EVIDENCE, models: [{ max_model_len: 1 }] }, NOT_CLEAR);
    expect(choice).to.deep.include({ dialect: 'vllm', equivalents: ['sglang'] });
    expect(choice.reason).to.match(/^Perhaps, by /);
  });

  it('prefers of those the one that agrees with what is taken', () => {
    const evidence = { ...NO_EVIDENCE, headers: { 'openai-version': '1' }, models: [{ owned_by: 'vllm' }] };
    const choice = chooseDialect(evidence, { ...NOT_CLEAR, laterSystem: false });
    expect(choice).to.deep.equal({
      dialect: 'vllm',
      reason: 'Perhaps, by the owner of its models.',
      differences: {},
      equivalents: ['openai'],
    });
  });

  it('is not sure of a sign that others have as well', () => {
    const choice = chooseDialect({ ...NO_EVIDENCE, models: [{ owned_by: 'openai' }] }, NOT_CLEAR);
    expect(choice.reason).to.match(/^Perhaps, by /);
  });

  it('stays with generic for a backend of which nothing is known', () => {
    const choice = chooseDialect(NO_EVIDENCE, { ...NOT_CLEAR, maxTokens: true, userAfterUser: false });
    expect(choice).to.deep.include({ dialect: 'generic', differences: {}, equivalents: [] });
  });

  it('takes a kind that agrees with what is taken where generic does not, and names the others', () => {
    const choice = chooseDialect(NO_EVIDENCE, { ...NOT_CLEAR, maxTokens: false, maxCompletionTokens: true });
    expect(choice).to.deep.include({ dialect: 'openai', differences: {}, equivalents: ['azure', 'groq'] });
  });

  it('says what a dialect of its own needs where no kind agrees', () => {
    const abilities = { ...NOT_CLEAR, maxTokens: false, maxCompletionTokens: true, laterSystem: false };
    expect(chooseDialect(NO_EVIDENCE, abilities)).to.deep.include({
      dialect: 'generic',
      differences: { tokenLimitField: 'max_completion_tokens' },
      equivalents: [],
    });
  });
});

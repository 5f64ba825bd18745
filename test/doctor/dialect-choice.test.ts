import { expect } from 'chai';
import { chooseDialect, findDifferences, type Seen } from '../../src/doctor/dialect-choice.ts';
import type { Evidence } from '../../src/doctor/dialect-signs.ts';
import { clear, NOT_CLEAR } from '../support/doctor-question.ts';
import { DIALECTS, type DialectName } from '../../src/core/dialects.ts';

const NO_EVIDENCE: Evidence = { headers: {}, models: [], answers: [] };

const LATER = 'system message later on';
const IN_A_ROW = 'user messages in a row';
const NAMED = { tools: true, 'tool_choice named': true };
const WORDS = { tools: true, 'tool_choice named': false, 'tool_choice required': true };

interface Row {
  readonly dialect: DialectName;
  readonly results?: Readonly<Record<string, boolean>>;
  readonly others?: Partial<Seen>;
  readonly needed?: object;
  readonly better?: object;
}

describe('findDifferences', () => {
  const rows: readonly Row[] = [
    { dialect: 'generic' },
    { dialect: 'openai' },
    {
      dialect: 'generic',
      results: { max_tokens: false, max_completion_tokens: true },
      needed: { tokenLimitField: 'max_completion_tokens' },
    },
    { dialect: 'generic', results: { max_tokens: false } },
    { dialect: 'openai', results: { max_tokens: false, max_completion_tokens: true } },
    {
      dialect: 'openai',
      results: { max_tokens: true, max_completion_tokens: false },
      needed: { tokenLimitField: 'max_tokens' },
    },
    { dialect: 'generic', results: { max_tokens: true, max_completion_tokens: true } },
    { dialect: 'openai', results: { 'developer role': false }, needed: { systemRole: 'system' } },
    { dialect: 'generic', results: { 'developer role': false } },
    { dialect: 'generic', results: { 'developer role': true } },
    { dialect: 'deepseek', results: { [LATER]: false }, needed: { systemPlace: 'merged-first' } },
    { dialect: 'vllm', results: { [LATER]: false, [IN_A_ROW]: false } },
    { dialect: 'generic', results: { [LATER]: true }, better: { systemPlace: 'in-place' } },
    { dialect: 'deepseek', results: { [LATER]: true } },
    { dialect: 'ollama', results: { [IN_A_ROW]: false }, needed: { userMessages: 'merged' } },
    { dialect: 'vllm', results: { [IN_A_ROW]: true }, better: { userMessages: 'as-given' } },
    { dialect: 'groq', others: { thinkTags: true }, needed: { thinkTags: true } },
    { dialect: 'vllm' },
    { dialect: 'vllm', others: { thinkTags: true } },
    { dialect: 'vllm', others: { thinkTags: 'opened' }, needed: { thinkTags: 'opened' } },
    { dialect: 'vllm', results: WORDS, needed: { toolChoice: 'words' } },
    { dialect: 'openai', results: WORDS, needed: { toolChoice: 'words' } },
    { dialect: 'openai', results: NAMED },
    { dialect: 'generic', results: NAMED, better: { toolChoice: 'named' } },
    { dialect: 'ollama', results: NAMED, better: { toolChoice: 'named' } },
    { dialect: 'generic', results: { ...NAMED, 'tool_choice required': false }, better: { toolChoice: 'named' } },
    { dialect: 'ollama', results: { ...WORDS, 'tool_choice none': true }, better: { toolChoice: 'words' } },
    { dialect: 'ollama', results: { ...WORDS, 'tool_choice none': false } },
    { dialect: 'generic', results: { 'tool_choice required': true } },
    { dialect: 'generic', results: { ...NAMED, tools: false } },
    { dialect: 'generic', results: { tools: true, 'tool_choice named': false } },
    {
      dialect: 'generic',
      results: { ...WORDS, 'tool_choice required': false },
      needed: { toolChoice: 'ignored' },
    },
    { dialect: 'deepseek', results: { json_schema: true, json_object: true }, better: { schemaForm: 'both' } },
    { dialect: 'lmstudio', results: { json_schema: true, json_object: true }, better: { schemaForm: 'both' } },
    { dialect: 'deepseek', results: { json_schema: false, json_object: true } },
    { dialect: 'generic', results: { json_schema: false, json_object: true }, needed: { schemaForm: 'json_object' } },
    { dialect: 'generic', results: { json_schema: true, json_object: false }, needed: { schemaForm: 'json_schema' } },
    { dialect: 'generic', results: { json_schema: false, json_object: false } },
    { dialect: 'deepseek', results: { json_schema: true } },
    { dialect: 'mistral', results: { 'usage in streams': true }, better: { streamOptions: true } },
    { dialect: 'generic', results: { 'usage in streams': false } },
    {
      dialect: 'openai',
      others: { wanted: ['extra_content', 'reasoning_content'] },
      needed: { reasoningField: 'reasoning_content' },
    },
    { dialect: 'deepseek', others: { wanted: ['reasoning_content'] } },
    { dialect: 'generic', others: { wanted: ['reasoning_content'] } },
    { dialect: 'generic', others: { wanted: ['reasoning'] }, needed: { reasoningField: 'reasoning' } },
    { dialect: 'generic', results: { abort: false }, needed: { streams: 'always' } },
    { dialect: 'generic', results: { abort: true } },
    { dialect: 'llamacpp', results: { abort: false } },
    { dialect: 'llamacpp', results: { abort: true }, better: { streams: 'as-asked' } },
  ];
  for (const { dialect, results = {}, others = {}, needed = {}, better = {} } of rows) {
    it(`finds ${JSON.stringify({ needed, better })} in ${dialect} for ${JSON.stringify({ ...results, ...others })}`, () => {
      expect(findDifferences(DIALECTS[dialect], clear(results, others))).to.deep.equal({ needed, better });
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
    const choice = chooseDialect(evidence, clear({ [LATER]: false }));
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
    const choice = chooseDialect(NO_EVIDENCE, clear({ max_tokens: true, [IN_A_ROW]: false }));
    expect(choice).to.deep.include({ dialect: 'generic', differences: {}, equivalents: [] });
  });

  it('takes a kind that agrees with what is taken where generic does not, and names the others', () => {
    const choice = chooseDialect(NO_EVIDENCE, clear({ max_tokens: false, max_completion_tokens: true }));
    expect(choice).to.deep.include({ dialect: 'openai', differences: {}, equivalents: ['azure', 'groq'] });
  });

  it('says what a dialect of its own needs where no kind agrees', () => {
    const seen = clear({ max_tokens: false, max_completion_tokens: true, [LATER]: false });
    expect(chooseDialect(NO_EVIDENCE, seen)).to.deep.include({
      dialect: 'generic',
      differences: { tokenLimitField: 'max_completion_tokens' },
      equivalents: [],
    });
  });

  it('says what a backend takes better than its kind', () => {
    const seen = clear({ ...NAMED, [LATER]: true });
    const better = { systemPlace: 'in-place', toolChoice: 'named' };
    expect(chooseDialect(NO_EVIDENCE, seen)).to.deep.include({ dialect: 'generic', differences: better });
    const evidence = { ...NO_EVIDENCE, models: [{ owned_by: 'vllm' }] };
    expect(chooseDialect(evidence, seen)).to.deep.include({
      dialect: 'vllm',
      differences: { systemPlace: 'in-place' },
    });
  });

  it('takes no kind for the form of schemas alone', () => {
    expect(chooseDialect(NO_EVIDENCE, clear({ json_schema: false, json_object: true }))).to.deep.include({
      dialect: 'generic',
      differences: { schemaForm: 'json_object' },
    });
  });
});

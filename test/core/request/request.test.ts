import { expect } from 'chai';
import * as fc from 'fast-check';
import type { ChatRequest } from '../../../src/core/chat.ts';
import { DIALECTS, type DialectName } from '../../../src/core/dialects.ts';
import { ApiError } from '../../../src/core/errors.ts';
import { toChatRequest, wantsLogprobs, type Translation } from '../../../src/core/request/request.ts';
import type { CreateResponse, InputItem } from '../../../src/contract/types.ts';
import { runs } from '../../support/property.ts';

function translation(fields: Partial<CreateResponse>, dialect: DialectName = 'openai'): Translation {
  return toChatRequest(
    { model: 'm', input: 'Hello', ...fields },
    {
      dialect: DIALECTS[dialect],
      modelAliases: new Map([['alias', 'real']]),
      hostedTools: 'drop',
      upstreamDialect: 'generic',
    },
  );
}

const chatOf = (fields: Partial<CreateResponse>, dialect?: DialectName): ChatRequest =>
  translation(fields, dialect).chat;

const tools: CreateResponse['tools'] = [{ type: 'function', name: 'look' }];

describe('toChatRequest', () => {
  it('asks for nothing that the request does not ask for', () => {
    expect(chatOf({})).to.deep.equal({ model: 'm', messages: [{ role: 'user', content: 'Hello' }], stream: false });
  });

  describe('takes what the chat format knows', () => {
    const cases: { name: string; fields: Partial<CreateResponse>; expected: Partial<ChatRequest> }[] = [
      { name: 'the model', fields: { model: 'other' }, expected: { model: 'other' } },
      { name: 'an alias as the model it stands for', fields: { model: 'alias' }, expected: { model: 'real' } },
      {
        name: 'stream, asking for usage',
        fields: { stream: true },
        expected: { stream: true, stream_options: { include_usage: true, include_obfuscation: false } },
      },
      {
        name: 'stream without what the client wants of ours',
        fields: { stream: true, stream_options: { include_obfuscation: true } },
        expected: { stream: true, stream_options: { include_usage: true, include_obfuscation: false } },
      },
      { name: 'temperature', fields: { temperature: 0 }, expected: { temperature: 0 } },
      { name: 'top_p', fields: { top_p: 0.5 }, expected: { top_p: 0.5 } },
      { name: 'presence_penalty', fields: { presence_penalty: -1 }, expected: { presence_penalty: -1 } },
      { name: 'frequency_penalty', fields: { frequency_penalty: 0 }, expected: { frequency_penalty: 0 } },
      { name: 'max_output_tokens', fields: { max_output_tokens: 7 }, expected: { max_completion_tokens: 7 } },
      { name: 'top_logprobs', fields: { top_logprobs: 3 }, expected: { logprobs: true, top_logprobs: 3 } },
      {
        name: 'include of logprobs',
        fields: { include: ['message.output_text.logprobs'] },
        expected: { logprobs: true },
      },
      {
        name: 'both of them',
        fields: { include: ['message.output_text.logprobs'], top_logprobs: 0 },
        expected: { logprobs: true, top_logprobs: 0 },
      },
      { name: 'top_logprobs 0, which asks for none', fields: { top_logprobs: 0 }, expected: {} },
      {
        name: 'include of anything else, which adds nothing',
        fields: { include: ['reasoning.encrypted_content', 'file_search_call.results', 'of.tomorrow'] },
        expected: {},
      },
      { name: 'text.format text, which is the default', fields: { text: { format: { type: 'text' } } }, expected: {} },
      { name: 'an empty text', fields: { text: {} }, expected: {} },
      {
        name: 'text.format json_object',
        fields: { text: { format: { type: 'json_object' } } },
        expected: { response_format: { type: 'json_object' } },
      },
      {
        name: 'text.format json_schema',
        fields: {
          text: {
            format: { type: 'json_schema', name: 'n', description: 'd', schema: { type: 'object' }, strict: true },
          },
        },
        expected: {
          response_format: {
            type: 'json_schema',
            json_schema: { name: 'n', description: 'd', schema: { type: 'object' }, strict: true },
          },
        },
      },
      {
        name: 'text.format json_schema with no more than its schema',
        fields: { text: { format: { type: 'json_schema', schema: { type: 'object' } } } },
        expected: {
          response_format: { type: 'json_schema', json_schema: { name: 'response', schema: { type: 'object' } } },
        },
      },
      { name: 'text.verbosity', fields: { text: { verbosity: 'low' } }, expected: { verbosity: 'low' } },
      ...(['none', 'minimal', 'low', 'medium', 'high', 'xhigh', 'max'] as const).map((effort) => ({
        name: `reasoning.effort ${effort}`,
        fields: { reasoning: { effort } },
        expected: { reasoning_effort: effort },
      })),
      {
        name: 'reasoning.summary, which is ours',
        fields: { reasoning: { summary: 'auto', generate_summary: 'auto' } },
        expected: {},
      },
      { name: 'service_tier', fields: { service_tier: 'flex' }, expected: { service_tier: 'flex' } },
      { name: 'prompt_cache_key', fields: { prompt_cache_key: 'k' }, expected: { prompt_cache_key: 'k' } },
      { name: 'safety_identifier', fields: { safety_identifier: 's' }, expected: { safety_identifier: 's' } },
      { name: 'user', fields: { user: 'u' }, expected: { user: 'u' } },
      {
        name: 'nothing of metadata, store, truncation, background',
        fields: { metadata: { a: 'b' }, store: true, truncation: 'auto', background: false },
        expected: {},
      },
      {
        name: 'no tools when there are none',
        fields: { tools: [], tool_choice: 'auto', parallel_tool_calls: true },
        expected: {},
      },
      {
        name: 'no tools when all are hosted',
        fields: { tools: [{ type: 'web_search' }], tool_choice: 'auto', parallel_tool_calls: false },
        expected: {},
      },
    ];
    for (const { name, fields, expected } of cases) {
      it(`of ${name}`, () => {
        const { messages, ...others } = chatOf(fields);
        expect(messages).to.have.lengthOf(1);
        expect(others).to.deep.equal({ model: 'm', stream: false, ...expected });
      });
    }

    it('of the tools with tool_choice and parallel_tool_calls', () => {
      const chat = chatOf({ tools, tool_choice: 'required', parallel_tool_calls: true });
      expect(chat.tools?.map((tool) => tool.function.name)).to.deep.equal(['look']);
      expect(chat).to.include({ tool_choice: 'required', parallel_tool_calls: true });
    });

    it('of tools alone without inventing a choice', () => {
      expect(chatOf({ tools })).to.have.all.keys('model', 'messages', 'stream', 'tools');
    });

    it('of max_tool_calls 1 as no parallel calls, whatever else is said', () => {
      expect(chatOf({ tools, max_tool_calls: 1, parallel_tool_calls: true }).parallel_tool_calls).to.equal(false);
      expect(chatOf({ tools, max_tool_calls: 2 })).not.to.have.property('parallel_tool_calls');
    });
  });

  describe('messages', () => {
    it('begin with the instructions', () => {
      const input: InputItem[] = [
        { type: 'message', role: 'developer', content: 'Rhyme.' },
        { type: 'message', role: 'user', content: 'Hello' },
      ];
      expect(chatOf({ instructions: 'Be brief.', input }).messages).to.deep.equal([
        { role: 'system', content: 'Be brief.' },
        { role: 'developer', content: 'Rhyme.' },
        { role: 'user', content: 'Hello' },
      ]);
    });

    it('leave out empty instructions', () => {
      expect(chatOf({ instructions: '' }).messages).to.deep.equal([{ role: 'user', content: 'Hello' }]);
    });

    it('leave out a message without a word', () => {
      const input: InputItem[] = ['Hi', '', []].map((content) => ({ type: 'message', role: 'user', content }));
      expect(chatOf({ input }).messages).to.deep.equal([{ role: 'user', content: 'Hi' }]);
    });

    it('name earlier calls as the tools are named', () => {
      const input: InputItem[] = [
        { type: 'function_call', call_id: 'a', name: 'files.read', arguments: '{}' },
        { type: 'function_call_output', call_id: 'a', output: 'text' },
      ];
      const chat = chatOf({ input, tools: [{ type: 'function', name: 'files.read' }] });
      expect(chat.tools?.[0]?.function.name).to.equal('files_read');
      expect(chat.messages[0]).to.have.nested.property('tool_calls[0].function.name', 'files_read');
    });
  });

  it('tells the call ids that the input uses', () => {
    const input: InputItem[] = [
      { type: 'function_call', call_id: 'a', name: 'look', arguments: '{}' },
      { type: 'function_call', call_id: 'b', name: 'look', arguments: '{}' },
      { type: 'function_call_output', call_id: 'a', output: '1' },
    ];
    expect([...translation({ input }).usedCallIds]).to.deep.equal(['a', 'b']);
    expect(translation({}).usedCallIds.size).to.equal(0);
  });

  it('refuses an item with the place where it stands', () => {
    const input: InputItem[] = [
      { type: 'message', role: 'user', content: 'Hello' },
      { type: 'item_reference', id: 'msg_1' },
    ];
    expect(() => chatOf({ input }))
      .to.throw(ApiError)
      .that.includes({ code: 'unsupported_parameter', param: 'input[1]' });
  });

  it('sends no field but those of the allow-list and of the dialect, whatever the request holds', () => {
    const known = new Set([
      'model',
      'messages',
      'stream',
      'stream_options',
      'tools',
      'tool_choice',
      'parallel_tool_calls',
      'response_format',
      'temperature',
      'top_p',
      'presence_penalty',
      'frequency_penalty',
      'logprobs',
      'top_logprobs',
      'max_tokens',
      'max_completion_tokens',
      'reasoning_effort',
      'verbosity',
      'service_tier',
      'prompt_cache_key',
      'safety_identifier',
      'user',
    ]);
    const unknownFields = fc.dictionary(
      fc.oneof(
        fc.string(),
        fc.constantFrom('n', 'stop', 'seed', 'logit_bias', 'functions', 'client_metadata', 'store', 'metadata'),
      ),
      fc.jsonValue(),
    );
    fc.assert(
      fc.property(unknownFields, fc.constantFrom(...Object.values(DIALECTS)), (unknown, dialect) => {
        const passed = new Set<string>(dialect.parameters);
        const item = {
          ...unknown,
          type: 'message',
          role: 'user',
          content: [{ ...unknown, type: 'input_text', text: 'Hello' }],
        };
        const request = { ...unknown, ...FULL_REQUEST, input: [item] } as CreateResponse;
        const { chat } = toChatRequest(request, {
          dialect,
          modelAliases: new Map(),
          hostedTools: 'drop',
          upstreamDialect: 'generic',
        });
        expect(Object.keys(chat).filter((name) => !known.has(name) && !passed.has(name))).to.deep.equal([]);
        expect(chat.messages.at(-1)).to.deep.equal({ role: 'user', content: 'Hello' });
        expect(chat.tools).to.deep.equal(
          toChatRequest(FULL_REQUEST, {
            dialect,
            modelAliases: new Map(),
            hostedTools: 'drop',
            upstreamDialect: 'generic',
          }).chat.tools,
        );
      }),
      runs(200),
    );
  });
});

const FULL_REQUEST: CreateResponse = {
  model: 'm',
  input: 'Hello',
  instructions: 'Be brief.',
  stream: true,
  tools: [{ type: 'function', name: 'look', description: 'Looks.', parameters: { type: 'object' }, strict: true }],
  tool_choice: 'auto',
  parallel_tool_calls: false,
  max_tool_calls: 3,
  text: { format: { type: 'json_object' }, verbosity: 'low' },
  reasoning: { effort: 'low', summary: 'auto' },
  temperature: 1,
  top_p: 1,
  presence_penalty: 0,
  frequency_penalty: 0,
  top_logprobs: 2,
  include: ['message.output_text.logprobs'],
  max_output_tokens: 100,
  store: false,
  truncation: 'disabled',
  service_tier: 'flex',
  metadata: { a: 'b' },
  user: 'u',
  safety_identifier: 's',
  prompt_cache_key: 'k',
};

describe('wantsLogprobs', () => {
  const cases: { fields: Partial<CreateResponse>; expected: boolean }[] = [
    { fields: {}, expected: false },
    { fields: { top_logprobs: 0 }, expected: false },
    { fields: { top_logprobs: 1 }, expected: true },
    { fields: { include: [] }, expected: false },
    { fields: { include: ['reasoning.encrypted_content'] }, expected: false },
    { fields: { include: ['message.output_text.logprobs'] }, expected: true },
    { fields: { include: ['message.output_text.logprobs'], top_logprobs: 0 }, expected: true },
  ];
  for (const { fields, expected } of cases) {
    it(`is ${String(expected)} for ${JSON.stringify(fields)}`, () => {
      expect(wantsLogprobs(fields)).to.equal(expected);
    });
  }
});

import { expect } from 'chai';
import { initialResponse } from '../../../src/core/reply/initial-response.ts';
import { planTools } from '../../../src/core/request/tools.ts';
import type { CreateResponse, ResponseResource } from '../../../src/contract/types.ts';
import { TEST_UNIQUE } from '../../support/machine.ts';

function responseTo(fields: Partial<CreateResponse>): ResponseResource {
  const request = { model: 'm', input: 'Hello', ...fields };
  return initialResponse(request, planTools(request, 'drop'), { unique: TEST_UNIQUE, createdAtS: 1_790_000_000 });
}

describe('initialResponse', () => {
  it('has all fields of Open Responses, with the defaults that hold', () => {
    expect(responseTo({})).to.deep.equal({
      id: `resp_${TEST_UNIQUE}`,
      object: 'response',
      created_at: 1_790_000_000,
      completed_at: null,
      status: 'in_progress',
      incomplete_details: null,
      model: 'm',
      previous_response_id: null,
      instructions: null,
      output: [],
      output_text: '',
      error: null,
      tools: [],
      tool_choice: 'auto',
      truncation: 'disabled',
      parallel_tool_calls: true,
      text: { format: { type: 'text' } },
      top_p: 1,
      temperature: 1,
      presence_penalty: 0,
      frequency_penalty: 0,
      top_logprobs: 0,
      reasoning: null,
      usage: null,
      max_output_tokens: null,
      max_tool_calls: null,
      store: false,
      background: false,
      service_tier: 'default',
      metadata: {},
      safety_identifier: null,
      prompt_cache_key: null,
    });
  });

  const look = { type: 'function', name: 'look' } as const;
  const lookEcho = { ...look, description: null, parameters: null, strict: null };
  const schema = { type: 'object', properties: {} };
  const cases: { name: string; fields: Partial<CreateResponse>; expected: Partial<ResponseResource> }[] = [
    { name: 'instructions', fields: { instructions: 'Be brief.' }, expected: { instructions: 'Be brief.' } },
    {
      name: 'sampling',
      fields: { temperature: 0, top_p: 0.5, presence_penalty: 1, frequency_penalty: -1 },
      expected: { temperature: 0, top_p: 0.5, presence_penalty: 1, frequency_penalty: -1 },
    },
    {
      name: 'limits',
      fields: { max_output_tokens: 9, max_tool_calls: 2, top_logprobs: 3 },
      expected: { max_output_tokens: 9, max_tool_calls: 2, top_logprobs: 3 },
    },
    {
      name: 'text.verbosity',
      fields: { text: { verbosity: 'low' } },
      expected: { text: { format: { type: 'text' }, verbosity: 'low' } },
    },
    {
      name: 'json_object',
      fields: { text: { format: { type: 'json_object' } } },
      expected: { text: { format: { type: 'json_object' } } },
    },
    {
      name: 'json_schema',
      fields: { text: { format: { type: 'json_schema', name: 'n', description: 'd', schema, strict: true } } },
      expected: { text: { format: { type: 'json_schema', name: 'n', description: 'd', schema, strict: true } } },
    },
    {
      name: 'json_schema with the rest filled in',
      fields: { text: { format: { type: 'json_schema', schema } } },
      expected: {
        text: { format: { type: 'json_schema', name: 'response', description: null, schema, strict: false } },
      },
    },
    { name: 'no reasoning wish', fields: { reasoning: {} }, expected: { reasoning: { effort: null, summary: null } } },
    {
      name: 'reasoning',
      fields: { reasoning: { effort: 'max', summary: 'auto' } },
      expected: { reasoning: { effort: 'max', summary: 'auto' } },
    },
    {
      name: 'the old name of the summary',
      fields: { reasoning: { generate_summary: 'concise' } },
      expected: { reasoning: { effort: null, summary: 'concise' } },
    },
    { name: 'store as false, whatever is asked', fields: { store: true }, expected: { store: false } },
    { name: 'truncation', fields: { truncation: 'auto' }, expected: { truncation: 'auto' } },
    { name: 'no service_tier before the backend has named it', fields: { service_tier: 'flex' }, expected: {} },
    {
      name: 'one call at most as no parallel calls',
      fields: { max_tool_calls: 1 },
      expected: { max_tool_calls: 1, parallel_tool_calls: false },
    },
    { name: 'metadata', fields: { metadata: { a: 'b' } }, expected: { metadata: { a: 'b' } } },
    {
      name: 'identifiers',
      fields: { safety_identifier: 's', prompt_cache_key: 'k' },
      expected: { safety_identifier: 's', prompt_cache_key: 'k' },
    },
    { name: 'parallel_tool_calls', fields: { parallel_tool_calls: false }, expected: { parallel_tool_calls: false } },
    {
      name: 'tools without the hosted ones',
      fields: { tools: [{ type: 'web_search' }, look] },
      expected: { tools: [lookEcho] },
    },
    {
      name: 'tool_choice none',
      fields: { tools: [look], tool_choice: 'none' },
      expected: { tools: [lookEcho], tool_choice: 'none' },
    },
    {
      name: 'tool_choice of one function',
      fields: { tools: [look], tool_choice: { type: 'function', name: 'look' } },
      expected: { tools: [lookEcho], tool_choice: { type: 'function', name: 'look' } },
    },
    {
      name: 'allowed tools with their mode, and all tools',
      fields: {
        tools: [look, { type: 'function', name: 'see' }],
        tool_choice: { type: 'allowed_tools', tools: [look, { type: 'web_search' }] },
      },
      expected: {
        tools: [lookEcho, { ...lookEcho, name: 'see' }],
        tool_choice: { type: 'allowed_tools', mode: 'auto', tools: [{ type: 'function', name: 'look' }] },
      },
    },
  ];
  for (const { name, fields, expected } of cases) {
    it(`shows ${name}`, () => {
      expect(responseTo(fields)).to.deep.equal({ ...responseTo({}), ...expected });
    });
  }
});

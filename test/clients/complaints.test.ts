import { expect } from 'chai';
import { findComplaints, type Rules } from './complaints.ts';

const USER = { role: 'user', content: 'Hello' };
const TOOL = { type: 'function', function: { name: 'a', parameters: { type: 'object', properties: {} } } };
const CALLS = {
  role: 'assistant',
  content: null,
  tool_calls: ['c1', 'c2'].map((id) => ({ id, type: 'function', function: { name: 'a', arguments: '{}' } })),
};
const OUTPUTS = ['c1', 'c2'].map((id) => ({ role: 'tool', tool_call_id: id, content: 'x' }));
const GOOD = {
  model: 'm',
  stream: true,
  stream_options: { include_usage: true },
  messages: [{ role: 'system', content: 'Be brief.' }, USER, CALLS, ...OUTPUTS, { role: 'assistant', content: 'Yes' }],
  tools: [TOOL],
  tool_choice: { type: 'function', function: { name: 'a' } },
};

function saying(...messages: readonly object[]): object {
  return { ...GOOD, messages: [USER, ...messages] };
}

function calling(change: object): object {
  return saying({ ...CALLS, tool_calls: [{ ...CALLS.tool_calls[0], ...change }] }, OUTPUTS[0] ?? {});
}

function showing(...content: readonly object[]): object {
  return { ...GOOD, messages: [{ role: 'user', content }] };
}

function offering(...functions: readonly object[]): object {
  const tools = functions.map((change) => ({ ...TOOL, function: { ...TOOL.function, ...change } }));
  return { ...GOOD, tool_choice: 'auto', tools };
}

const WITHOUT_TOOLS = { model: 'm', messages: [USER] };

describe('the strict backend', () => {
  const accepted: readonly { name: string; body: object; rules?: Rules }[] = [
    { name: 'a good request', body: GOOD },
    { name: 'parts of all kinds', body: showing(text('Look'), image({ url: 'data:image/png;base64,AA==' })) },
    {
      name: 'a silent tool',
      body: saying({ ...CALLS, tool_calls: CALLS.tool_calls.slice(1) }, { ...OUTPUTS[1], content: '' }),
    },
    { name: 'reasoning where it is known', body: saying(reasoned()), rules: { reasoningField: 'reasoning_content' } },
    { name: 'a user who speaks twice where he may', body: saying(USER), rules: { anyOrder: true } },
    { name: 'a late system message where it may be', body: saying(system()), rules: { anyOrder: true } },
  ];
  for (const { name, body, rules } of accepted) {
    it(`takes ${name}`, () => {
      expect(findComplaints(body, rules)).to.deep.equal([]);
    });
  }

  const refused: readonly { name: string; body: unknown; rules?: Rules; says: string }[] = [
    { name: 'a body that is no object', body: 'x', says: 'the body is no object' },
    { name: 'a field that chat does not know', body: { ...GOOD, metadata: {} }, says: 'unknown field metadata' },
    { name: 'a null', body: { ...GOOD, temperature: null }, says: 'temperature is null' },
    { name: 'no model', body: { ...GOOD, model: '' }, says: 'model is missing' },
    { name: 'stream_options alone', body: { ...GOOD, stream: false }, says: 'stream_options without stream' },
    { name: 'no messages', body: { ...GOOD, messages: [] }, says: 'no messages' },
    { name: 'tool_choice alone', body: { ...WITHOUT_TOOLS, tool_choice: 'auto' }, says: 'tool_choice without tools' },
    {
      name: 'parallel_tool_calls alone',
      body: { ...WITHOUT_TOOLS, parallel_tool_calls: false },
      says: 'parallel_tool_calls without tools',
    },
    { name: 'an empty array of tools', body: { ...WITHOUT_TOOLS, tools: [] }, says: 'tools is no array with' },
    {
      name: 'a tool that is no function',
      body: { ...GOOD, tools: [{ type: 'custom' }] },
      says: 'a tool is no function',
    },
    { name: 'a tool with more fields', body: { ...GOOD, tools: [{ ...TOOL, strict: true }] }, says: 'field strict' },
    { name: 'a name that is too long', body: offering({ name: 'a'.repeat(65) }), says: 'no good name of a tool' },
    { name: 'a name with a dot', body: offering({ name: 'a.b' }), says: 'no good name of a tool' },
    { name: 'two tools of one name', body: offering({}, {}), says: 'two tools are named a' },
    { name: 'strict without a value', body: offering({ strict: null }), says: 'strict is no boolean' },
    {
      name: 'parameters that are no object',
      body: offering({ parameters: {} }),
      says: 'parameters of a are no object',
    },
    { name: 'a choice of no tool', body: { ...GOOD, tool_choice: { type: 'function' } }, says: 'names no tool' },
    { name: 'a choice of a new kind', body: { ...GOOD, tool_choice: 'any' }, says: 'tool_choice is not known' },
    {
      name: 'a format of the Responses API',
      body: { ...GOOD, response_format: { type: 'text' } },
      says: 'no known type',
    },
    {
      name: 'a schema without a name',
      body: { ...GOOD, response_format: { type: 'json_schema', json_schema: { schema: {} } } },
      says: 'no good name',
    },
    { name: 'a developer', body: saying({ role: 'developer', content: 'x' }), says: 'role developer is not known' },
    { name: 'a second system message', body: saying(system()), says: 'system is not first' },
    { name: 'a user who speaks twice', body: saying(USER), says: 'the user speaks twice' },
    { name: 'a message without content', body: saying({ role: 'assistant' }), says: 'has no content' },
    {
      name: 'an assistant that forgets its reasoning',
      body: saying(assistant('Yes')),
      rules: { reasoningField: 'reasoning_content' },
      says: 'has no reasoning_content',
    },
    { name: 'an assistant that speaks twice', body: saying(assistant('a'), assistant('b')), says: 'speaks twice' },
    { name: 'an assistant that says nothing', body: saying(assistant('')), says: 'says nothing' },
    { name: 'reasoning where it is not known', body: saying(reasoned()), says: 'unknown field reasoning_content' },
    { name: 'an id in a message', body: saying({ ...USER, id: 'x' }), says: 'unknown field id' },
    { name: 'a call without its output', body: saying(CALLS, ...OUTPUTS.slice(1)), says: 'not the output of the next' },
    { name: 'calls that nobody answers', body: saying(CALLS), says: 'the last 2 calls are not answered' },
    {
      name: 'a message between call and output',
      body: saying(CALLS, USER, ...OUTPUTS),
      says: '2 calls are not answered',
    },
    {
      name: 'outputs in another order',
      body: saying(CALLS, ...OUTPUTS.toReversed()),
      says: 'not the output of the next',
    },
    { name: 'an output without its call', body: saying(...OUTPUTS), says: 'not the output of the next call' },
    { name: 'an output of parts', body: saying(CALLS, { ...OUTPUTS[0], content: [text('x')] }), says: 'has parts' },
    {
      name: 'two calls of one id',
      body: saying({ ...CALLS, tool_calls: [CALLS.tool_calls[0], CALLS.tool_calls[0]] }),
      says: 'used twice',
    },
    {
      name: 'a call without arguments',
      body: calling({ function: { name: 'a', arguments: '' } }),
      says: 'no JSON object',
    },
    { name: 'a call of a bad name', body: calling({ function: { name: '', arguments: '{}' } }), says: 'no good name' },
    { name: 'a call with more fields', body: calling({ status: 'completed' }), says: 'unknown field status' },
    { name: 'an empty text', body: showing(text('')), says: 'a text part is empty' },
    {
      name: 'a part of the Responses API',
      body: showing({ type: 'input_text', text: 'x' }),
      says: 'unknown field text',
    },
    { name: 'an image without its URL', body: showing(image({})), says: 'no URL' },
    { name: 'the detail original', body: showing(image({ url: 'https://x', detail: 'original' })), says: 'detail' },
  ];
  for (const { name, body, rules, says } of refused) {
    it(`complains of ${name}`, () => {
      expect(findComplaints(body, rules).join('\n')).to.include(says);
    });
  }
});

function text(said: string): object {
  return { type: 'text', text: said };
}

function image(said: object): object {
  return { type: 'image_url', image_url: said };
}

function system(): object {
  return { role: 'system', content: 'Be brief.' };
}

function assistant(content: string): object {
  return { role: 'assistant', content };
}

function reasoned(): object {
  return { role: 'assistant', content: 'Yes', reasoning_content: 'Hm' };
}

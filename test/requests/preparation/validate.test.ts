import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'chai';
import { validateCompactResponse, validateCreateResponse } from '../../../src/requests/preparation/validate.ts';
import type { CreateResponse } from '../../../src/contract/types.ts';
import { collectGarbage } from '../../support/garbage.ts';
import { turn } from '../../support/time.ts';

const CLIENT_REQUESTS = join(import.meta.dirname, '../../../shared/research/client-requests');

describe('validateCreateResponse', () => {
  const parameters = { type: 'object' };
  const ofChat: { name: string; body: object; says: RegExp }[] = [
    { name: 'messages', body: { messages: [] }, says: /^input is missing\. The Responses format has input where/ },
    {
      name: 'a nested function',
      body: { input: 'x', tools: [{ type: 'function', function: { name: 'f', parameters } }] },
      says: /^tools\[0\]\.name is missing\. .* not under function\.$/,
    },
    {
      name: 'a nested choice',
      body: { input: 'x', tool_choice: { type: 'function', function: { name: 'f' } } },
      says: /^tool_choice\.name is missing\. .* in tool_choice itself: \{"type": "function", "name": "…"\}\.$/,
    },
    {
      name: 'a message of a tool',
      body: { input: [{ role: 'tool', tool_call_id: 'a', content: 'rain' }] },
      says: /^input\[0\]\.role must be one of .* "function_call_output", "call_id"/,
    },
    {
      name: 'a message with calls',
      body: { input: [{ role: 'assistant', tool_calls: [{ id: 'a' }] }] },
      says: /^input\[0\]\.content is missing\. Send each of tool_calls as \{"type": "function_call"/,
    },
    {
      name: 'a message with calls and null',
      body: { input: [{ role: 'assistant', content: null, tool_calls: [{ id: 'a' }] }] },
      says: /^input\[0\]\.tool_calls may .* Send each of tool_calls as \{"type": "function_call"/,
    },
    {
      name: 'a message with a text and calls',
      body: { input: [{ role: 'assistant', content: 'I look.', tool_calls: [{ id: 'a' }] }] },
      says: /^input\[0\]\.tool_calls may .* Send each of tool_calls as \{"type": "function_call"/,
    },
    {
      name: 'an image',
      body: { input: [{ role: 'user', content: [{ type: 'image_url', image_url: { url: 'https://a.example' } }] }] },
      says: /^input\[0\]\.content\[0\]\.type must be one of .* \{"type": "input_image", "image_url": "https/,
    },
    {
      name: 'half of an image',
      body: { input: [{ role: 'user', content: [{ type: 'input_image', image_url: { url: 'https://a.example' } }] }] },
      says: /^input\[0\]\.content\[0\]\.image_url must be a string\. .* the URL itself there/,
    },
    {
      name: 'a file',
      body: { input: [{ role: 'user', content: [{ type: 'file', file: { file_data: 'AAAA' } }] }] },
      says: /^input\[0\]\.content\[0\]\.type must be one of .* "input_file", "filename"/,
    },
    {
      name: 'a nested schema',
      body: { input: 'x', text: { format: { type: 'json_schema', json_schema: { name: 'a', schema: {} } } } },
      says: /^text\.format\.schema is missing\. .* not under json_schema\.$/,
    },
  ];
  for (const { name, body, says } of ofChat) {
    it(`says what to write in the place of what chat completions has: ${name}`, () => {
      expect(() => validateCreateResponse({ model: 'm', ...body })).to.throw(says);
    });
  }

  const accepted: { name: string; body: unknown; becomes: unknown }[] = [
    { name: 'a string', body: { input: 'hello' }, becomes: { input: 'hello' } },
    {
      name: 'null for absent at the top',
      body: {
        input: 'x',
        tools: null,
        text: null,
        temperature: null,
        metadata: null,
        stream: null,
        conversation: null,
      },
      becomes: { input: 'x' },
    },
    {
      name: 'null for absent further in',
      body: {
        input: [{ type: 'reasoning', id: 'rs_1', summary: [], content: null, encrypted_content: null }],
        text: { format: null },
        tools: [{ type: 'function', name: 'f', strict: null, description: null, parameters: null }],
      },
      becomes: {
        input: [{ type: 'reasoning', id: 'rs_1', summary: [] }],
        text: {},
        tools: [{ type: 'function', name: 'f' }],
      },
    },
    {
      name: 'thoughts in any form',
      body: { input: [{ type: 'reasoning', content: 'Hm.', summary: ['Hm.', null, { text: null }] }] },
      becomes: { input: [{ type: 'reasoning', content: 'Hm.', summary: ['Hm.', null, {}] }] },
    },
    {
      name: 'a schema that takes everything',
      body: {
        input: 'x',
        tools: [{ type: 'namespace', name: 'n', tools: [{ type: 'function', name: 'f', parameters: true }] }],
      },
      becomes: { input: 'x', tools: [{ type: 'namespace', name: 'n', tools: [{ type: 'function', name: 'f' }] }] },
    },
    {
      name: 'null for the content of a message, as Codex sends it',
      body: { input: [{ type: 'message', role: 'user', content: null }] },
      becomes: { input: [{ type: 'message', role: 'user', content: '' }] },
    },
    {
      name: 'null inside a schema of the caller, which stays',
      body: {
        input: 'x',
        tools: [{ type: 'function', name: 'f', parameters: { default: null, enum: [null] } }],
        text: { format: { type: 'json_schema', schema: { const: null } } },
      },
      becomes: {
        input: 'x',
        tools: [{ type: 'function', name: 'f', parameters: { default: null, enum: [null] } }],
        text: { format: { type: 'json_schema', schema: { const: null } } },
      },
    },
    {
      name: 'a message without a type',
      body: { input: [{ role: 'user', content: 'x' }] },
      becomes: { input: [{ role: 'user', content: 'x', type: 'message' }] },
    },
    {
      name: 'an item that is only an id, as a reference',
      body: { input: [{ id: 'msg_1' }] },
      becomes: { input: [{ id: 'msg_1', type: 'item_reference' }] },
    },
    {
      name: 'objects and arrays without anything in them',
      body: { input: 'x', text: {}, reasoning: {}, include: [], tools: [], tool_choice: 'auto', metadata: {} },
      becomes: { input: 'x', text: {}, reasoning: {}, include: [], tools: [], tool_choice: 'auto', metadata: {} },
    },
    {
      name: 'unknown fields',
      body: { input: 'x', client_metadata: { a: 1 }, cache: true },
      becomes: { input: 'x', client_metadata: { a: 1 }, cache: true },
    },
    {
      name: 'a tool of a type that is not known',
      body: { input: 'x', tools: [{ type: 'web_search', external_web_access: true }] },
      becomes: { input: 'x', tools: [{ type: 'web_search', external_web_access: true }] },
    },
    {
      name: 'an assistant message with text and a refusal',
      body: {
        input: [
          {
            type: 'message',
            role: 'assistant',
            id: 'msg_1',
            status: 'completed',
            content: [
              { type: 'output_text', text: 'a', annotations: [], logprobs: [] },
              { type: 'refusal', refusal: 'b' },
            ],
          },
        ],
      },
      becomes: {
        input: [
          {
            type: 'message',
            role: 'assistant',
            id: 'msg_1',
            status: 'completed',
            content: [
              { type: 'output_text', text: 'a', annotations: [], logprobs: [] },
              { type: 'refusal', refusal: 'b' },
            ],
          },
        ],
      },
    },
    {
      name: 'a tool output with an image',
      body: {
        input: [
          {
            type: 'function_call_output',
            call_id: 'call_1',
            output: [{ type: 'input_image', image_url: 'data:image/png;base64,AA==', detail: 'original' }],
          },
        ],
      },
      becomes: {
        input: [
          {
            type: 'function_call_output',
            call_id: 'call_1',
            output: [{ type: 'input_image', image_url: 'data:image/png;base64,AA==', detail: 'original' }],
          },
        ],
      },
    },
    {
      name: 'a call id as long as a signature',
      body: { input: [{ type: 'function_call', call_id: 'c'.repeat(20_000), name: 'f', arguments: '' }] },
      becomes: { input: [{ type: 'function_call', call_id: 'c'.repeat(20_000), name: 'f', arguments: '' }] },
    },
  ];

  for (const { name, body, becomes } of accepted) {
    it(`takes ${name}`, () => {
      expect(validate({ model: 'm', ...(body as object) })).to.deep.equal({ model: 'm', ...(becomes as object) });
    });
  }

  for (const parameters of ['{}', [], false, 1]) {
    it(`says that ${JSON.stringify(parameters)} is no schema of a tool`, () => {
      const tools = [{ type: 'function', name: 'f', parameters }];
      expect(() => validateCreateResponse({ model: 'm', input: 'x', tools }))
        .to.throw('tools[0].parameters must be an object.')
        .and.have.property('param', 'tools[0].parameters');
    });
  }

  /** A function that waits may keep what its registers have held, so this one makes the body. */
  function refuse(): WeakRef<object> {
    const body = { input: 'large' };
    expect(() => validateCreateResponse(body)).to.throw('model is missing');
    return new WeakRef(body);
  }

  it('keeps nothing of a body that it refused', async () => {
    const refused = refuse();
    await turn(0);
    collectGarbage();
    expect(refused.deref()).to.equal(undefined);
  });

  it('takes the time for 10,000 items that it takes for 1,000, ten times', () => {
    // The first round is not counted: the engine is still compiling.
    timeOf(10_000);
    const ratio = timeOf(10_000) / timeOf(1000);
    expect(ratio).to.be.below(40);
  });
});

describe('validateCompactResponse', () => {
  it('takes null for absent', () => {
    const asked = { model: 'm', input: 'Hi', instructions: null, reasoning: null };
    expect(Object.keys(validateCompactResponse(asked))).to.deep.equal(['model', 'input']);
    expect(() => validateCompactResponse({ model: 'm', input: null }))
      .to.throw('input is missing')
      .with.property('code', 'missing_required_parameter');
  });
});

describe('the requests of real clients', () => {
  for (const name of existsSync(CLIENT_REQUESTS) ? readdirSync(CLIENT_REQUESTS) : []) {
    if (!name.endsWith('.json')) continue;
    it(`${name} is taken`, () => {
      const { body } = JSON.parse(readFileSync(join(CLIENT_REQUESTS, name), 'utf8')) as { body: unknown };
      expect(validate(body)).to.equal(body);
    });
  }

  it('says of a file without content that it must not be empty', () => {
    const input = [{ role: 'user', content: [{ type: 'input_file', file_data: '' }] }];
    expect(() => validateCreateResponse({ model: 'm', input }))
      .to.throw('must not be empty')
      .and.have.property('param', 'input[0].content[0].file_data');
  });

  it('does not go through the characters of an image to see that there are some', () => {
    const image = { type: 'input_image', image_url: `data:image/png;base64,${'A'.repeat(20_000_000)}` };
    const before = process.threadCpuUsage();
    validateCreateResponse({ model: 'm', input: [{ role: 'user', content: [image] }] });
    expect(process.threadCpuUsage(before).user).to.be.below(40_000);
  });
});

function validate(body: unknown): CreateResponse {
  return validateCreateResponse(body);
}

/** The CPU time of this thread for one body, in microseconds: whatever other test files do meanwhile is not in it. */
function timeOf(items: number): number {
  const input = Array.from({ length: items }, (_, index) => ({
    role: 'user',
    content: [{ type: 'input_text', text: `${index}` }],
  }));
  // The system counts in steps of some milliseconds, so there have to be many.
  const bodies = Array.from({ length: 200_000 / items }, () => ({ model: 'm', input: structuredClone(input) }));
  const before = process.threadCpuUsage();
  for (const body of bodies) validateCreateResponse(body);
  const { user, system } = process.threadCpuUsage(before);
  return (user + system) / bodies.length;
}

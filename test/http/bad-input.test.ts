import { connect } from 'node:net';
import { brotliCompressSync, gzipSync } from 'node:zlib';
import { expect } from 'chai';
import { assert, asyncProperty, constantFrom, integer, jsonValue, oneof, uint8Array } from 'fast-check';
import { startScriptedBackend, type ScriptedBackend } from '../support/backend.ts';
import { openGateway, TEST_KEY, type TestGateway } from '../support/gateway.ts';
import { runs } from '../support/property.ts';
import { useRealSockets } from '../support/real-sockets.ts';
import { allArrived } from '../support/time.ts';

const MAX_BODY_BYTES = 200_000;
const COMPLETION = {
  id: 'chatcmpl-1',
  object: 'chat.completion',
  choices: [{ index: 0, message: { role: 'assistant', content: 'Hello.' }, finish_reason: 'stop' }],
};

interface Case {
  readonly name: string;
  /** An object is added to a model and an input which are fine, a string or bytes go as they are. */
  readonly body: object | string | Uint8Array;
  readonly headers?: Readonly<Record<string, string>>;
  readonly status: number;
  readonly code: string;
  readonly param?: string;
}

const LARGE = Buffer.from(JSON.stringify({ model: 'm', input: 'canary '.repeat(200_000) }));
const SMALL = Buffer.from('{"model":"m","input":"canary"}');

const bodies: Case[] = [
  { name: 'nothing', body: '', status: 400, code: 'invalid_json' },
  { name: 'a list', body: '[{"model":"m","input":"x"}]', status: 400, code: 'invalid_request' },
  {
    name: 'lists 5,000 deep',
    body: `{"model":"m","input":${'['.repeat(5000)}${']'.repeat(5000)}}`,
    status: 400,
    code: 'invalid_request',
  },
  { name: 'a body that is too large', body: LARGE, status: 413, code: 'payload_too_large' },
  { name: 'text', body: SMALL, headers: { 'content-type': 'text/plain' }, status: 415, code: 'unsupported_media_type' },
  {
    name: 'an unknown encoding',
    body: SMALL,
    headers: { 'content-encoding': 'compress' },
    status: 415,
    code: 'unsupported_content_encoding',
  },
  {
    name: 'a bomb in brotli',
    body: brotliCompressSync(Buffer.alloc(50 * MAX_BODY_BYTES, ' ')),
    headers: { 'content-encoding': 'br' },
    status: 413,
    code: 'payload_too_large',
  },
  {
    name: 'half of a gzip',
    body: gzipSync(SMALL).subarray(0, -12),
    headers: { 'content-encoding': 'gzip' },
    status: 400,
    code: 'invalid_request',
  },
];

const message = (content: unknown, role = 'user'): object => ({ input: [{ role, content }] });

const shapes: Case[] = [
  { name: 'no model', body: '{"input":"x"}', ...missing('model') },
  { name: 'a model of null', body: { model: null }, ...missing('model') },
  { name: 'an empty model', body: { model: '' }, ...invalid('model') },
  { name: 'a model of 300 characters', body: { model: 'm'.repeat(300) }, ...invalid('model') },
  { name: 'a model with a line break', body: { model: 'm\ncanary' }, ...invalid('model') },
  { name: 'a model that is a list', body: { model: ['m'] }, ...invalid('model') },
  { name: 'no input', body: '{"model":"m"}', ...missing('input') },
  { name: 'messages in the place of input', body: '{"model":"m","messages":[]}', ...missing('input') },
  { name: 'an input of null', body: { input: null }, ...missing('input') },
  { name: 'an input that is an object', body: { input: { role: 'user' } }, ...invalid('input') },
  { name: 'an input without items', body: { input: [] }, ...invalid('input') },
  { name: 'too many items', body: { input: Array.from({ length: 10_001 }, () => ({})) }, ...invalid('input') },
  { name: 'an item that is a string', body: { input: ['canary'] }, ...invalid('input[0]') },
  { name: 'an item that is null', body: { input: [null] }, ...invalid('input[0]') },
  { name: 'an item that is a list', body: { input: [[]] }, ...invalid('input[0]') },
  { name: 'nothing but an item of an unknown type', body: { input: [{ type: 'canary' }] }, ...invalid('input') },
  { name: 'an item whose type is a number', body: { input: [{ type: 7 }] }, ...invalid('input[0].type') },
  {
    name: 'nothing but an item whose type is __proto__',
    body: { input: [{ type: '__proto__' }] },
    ...invalid('input'),
  },
  { name: 'an item without anything', body: { input: [{}] }, ...missing('input[0].role') },
  { name: 'a message without content', body: { input: [{ role: 'user' }] }, ...missing('input[0].content') },
  { name: 'a message of an unknown role', body: message('x', 'canary'), ...invalid('input[0].role') },
  { name: 'a message of the role tool', body: message('x', 'tool'), ...invalid('input[0].role') },
  { name: 'content that is a number', body: message(7), ...invalid('input[0].content') },
  { name: 'a part that is a string', body: message(['canary']), ...invalid('input[0].content[0]') },
  { name: 'a part without a type', body: message([{ text: 'canary' }]), ...missing('input[0].content[0].type') },
  { name: 'a part of an unknown type', body: message([{ type: 'canary' }]), ...invalid('input[0].content[0].type') },
  { name: 'a part of the chat format', body: message([{ type: 'image_url' }]), ...invalid('input[0].content[0].type') },
  { name: 'text without text', body: message([{ type: 'input_text' }]), ...missing('input[0].content[0].text') },
  {
    name: 'text that is an object',
    body: message([{ type: 'input_text', text: {} }]),
    ...invalid('input[0].content[0].text'),
  },
  {
    name: 'an image without one',
    body: message([{ type: 'input_image' }]),
    ...missing('input[0].content[0].image_url'),
  },
  {
    name: 'an image without an address',
    body: message([{ type: 'input_image', image_url: '' }]),
    ...invalid('input[0].content[0].image_url'),
  },
  {
    name: 'an image of the chat format',
    body: message([{ type: 'input_image', image_url: { url: 'canary' } }]),
    ...invalid('input[0].content[0].image_url'),
  },
  {
    name: 'a detail that does not exist',
    body: message([{ type: 'input_image', image_url: 'https://x.test/', detail: 'canary' }]),
    ...invalid('input[0].content[0].detail'),
  },
  {
    name: 'audio without its format',
    body: message([{ type: 'input_audio', input_audio: { data: 'canary' } }]),
    ...missing('input[0].content[0].input_audio.format'),
  },
  { name: 'a file without one', body: message([{ type: 'input_file' }]), ...missing('input[0].content[0].file_data') },
  {
    name: 'an image of the system',
    body: message(
      [
        { type: 'input_text', text: '' },
        { type: 'input_image', image_url: 'canary' },
      ],
      'system',
    ),
    ...invalid('input[0].content[1].type'),
  },
  {
    name: 'a refusal of the developer',
    body: message([{ type: 'refusal', refusal: 'canary' }], 'developer'),
    ...invalid('input[0].content[0].type'),
  },
  {
    name: 'a file of the assistant',
    body: message([{ type: 'input_file', file_data: 'canary' }], 'assistant'),
    ...invalid('input[0].content[0].type'),
  },
  {
    name: 'a call without an id',
    body: item({ type: 'function_call', name: 'f', arguments: '' }),
    ...missing('input[0].call_id'),
  },
  {
    name: 'a call without a name',
    body: item({ type: 'function_call', call_id: 'c', arguments: '' }),
    ...missing('input[0].name'),
  },
  {
    name: 'a call without arguments',
    body: item({ type: 'function_call', call_id: 'c', name: 'f' }),
    ...missing('input[0].arguments'),
  },
  {
    name: 'a call whose arguments are an object',
    body: item({ type: 'function_call', call_id: 'c', name: 'f', arguments: { canary: 1 } }),
    ...invalid('input[0].arguments'),
  },
  {
    name: 'an output of a custom tool without a call',
    body: item({ type: 'custom_tool_call_output', output: 'x' }),
    ...missing('input[0].call_id'),
  },
  {
    name: 'an output with an empty call',
    body: item({ type: 'function_call_output', call_id: '', output: 'x' }),
    ...invalid('input[0].call_id'),
  },
  {
    name: 'an output without output',
    body: item({ type: 'function_call_output', call_id: 'c' }),
    ...missing('input[0].output'),
  },
  {
    name: 'an output that is a number',
    body: item({ type: 'function_call_output', call_id: 'c', output: 7 }),
    ...invalid('input[0].output'),
  },
  { name: 'tools that are an object', body: { tools: {} }, ...invalid('tools') },
  { name: 'too many tools', body: { tools: Array.from({ length: 513 }, () => ({ type: 'x' })) }, ...invalid('tools') },
  { name: 'a tool that is a string', body: { tools: ['web_search'] }, ...invalid('tools[0]') },
  { name: 'a tool without a type', body: { tools: [{ name: 'f' }] }, ...missing('tools[0].type') },
  { name: 'a function without a name', body: { tools: [{ type: 'function' }] }, ...missing('tools[0].name') },
  {
    name: 'a function of the chat format',
    body: { tools: [{ type: 'function', function: { name: 'f' } }] },
    ...missing('tools[0].name'),
  },
  {
    name: 'parameters that are a string',
    body: { tools: [{ type: 'function', name: 'f', parameters: 'canary' }] },
    ...invalid('tools[0].parameters'),
  },
  {
    name: 'a function that is there twice',
    body: { tools: [{ type: 'function', name: 'canary' }, { type: 'x' }, { type: 'function', name: 'canary' }] },
    ...invalid('tools[2].name'),
  },
  { name: 'a tool_choice that does not exist', body: { tool_choice: 'canary' }, ...invalid('tool_choice') },
  { name: 'a tool_choice that is a number', body: { tool_choice: 7 }, ...invalid('tool_choice') },
  { name: 'a tool_choice without a type', body: { tool_choice: { name: 'f' } }, ...missing('tool_choice.type') },
  {
    name: 'allowed_tools without tools',
    body: { tool_choice: { type: 'allowed_tools' } },
    ...missing('tool_choice.tools'),
  },
  { name: 'a text that is a string', body: { text: 'canary' }, ...invalid('text') },
  { name: 'a format without a type', body: { text: { format: {} } }, ...missing('text.format.type') },
  {
    name: 'a format that does not exist',
    body: { text: { format: { type: 'canary' } } },
    ...invalid('text.format.type'),
  },
  {
    name: 'a schema that is missing',
    body: { text: { format: { type: 'json_schema' } } },
    ...missing('text.format.schema'),
  },
  {
    name: 'a name of a schema with a space',
    body: { text: { format: { type: 'json_schema', name: 'canary canary', schema: {} } } },
    ...invalid('text.format.name'),
  },
  { name: 'a verbosity that does not exist', body: { text: { verbosity: 'canary' } }, ...invalid('text.verbosity') },
  { name: 'an effort that does not exist', body: { reasoning: { effort: 'canary' } }, ...invalid('reasoning.effort') },
  {
    name: 'a summary that does not exist',
    body: { reasoning: { summary: 'canary' } },
    ...invalid('reasoning.summary'),
  },
  { name: 'a temperature of 3', body: { temperature: 3 }, ...invalid('temperature') },
  { name: 'a temperature in words', body: { temperature: 'canary' }, ...invalid('temperature') },
  {
    name: 'a temperature without end',
    body: '{"model":"m","input":"x","temperature":1e999}',
    ...invalid('temperature'),
  },
  { name: 'a top_p below 0', body: { top_p: -0.1 }, ...invalid('top_p') },
  { name: 'a limit of 0 tokens', body: { max_output_tokens: 0 }, ...invalid('max_output_tokens') },
  { name: 'a limit of half a token', body: { max_output_tokens: 16.5 }, ...invalid('max_output_tokens') },
  { name: 'a limit of no calls', body: { max_tool_calls: 0 }, ...invalid('max_tool_calls') },
  { name: 'more output than any model has', body: { max_output_tokens: 2 ** 31 }, ...invalid('max_output_tokens') },
  { name: '21 top_logprobs', body: { top_logprobs: 21 }, ...invalid('top_logprobs') },
  { name: 'an include that is no text', body: { include: ['canary', 7] }, ...invalid('include[1]') },
  { name: 'a stream in words', body: { stream: 'canary' }, ...invalid('stream') },
  { name: 'parallel calls in words', body: { parallel_tool_calls: 'no' }, ...invalid('parallel_tool_calls') },
  { name: 'a truncation that does not exist', body: { truncation: 'canary' }, ...invalid('truncation') },
  { name: 'instructions that are a list', body: { instructions: ['canary'] }, ...invalid('instructions') },
  { name: 'metadata that is a string', body: { metadata: 'canary' }, ...invalid('metadata') },
  { name: 'metadata with a number', body: { metadata: { canary: 7 } }, ...invalid('metadata') },
  { name: 'metadata with too much in it', body: { metadata: { canary: 'x'.repeat(513) } }, ...invalid('metadata') },
  { name: 'metadata with a long key', body: { metadata: { [`canary${'x'.repeat(64)}`]: '' } }, ...invalid('metadata') },
  {
    name: 'metadata with too many keys',
    body: { metadata: Object.fromEntries(Array.from({ length: 17 }, (_, n) => [`canary${n}`, ''])) },
    ...invalid('metadata'),
  },
];

const unsupported: Case[] = [
  {
    name: 'a previous response',
    body: { previous_response_id: 'canary' },
    status: 400,
    code: 'previous_response_not_found',
    param: 'previous_response_id',
  },
  { name: 'a conversation', body: { conversation: 'canary' }, ...refused('conversation') },
  { name: 'a conversation by its id', body: { conversation: { id: 'canary' } }, ...refused('conversation') },
  { name: 'a prompt, also without an input', body: '{"model":"m","prompt":{"id":"canary"}}', ...refused('prompt') },
  { name: 'work in the background', body: { background: true }, ...refused('background') },
  {
    name: 'a reference to an item',
    body: { input: [{ type: 'item_reference', id: 'canary' }] },
    ...refused('input[0]'),
  },
  {
    name: 'a reference without a type',
    body: { input: [{ role: 'user', content: 'x' }, { id: 'canary' }] },
    ...refused('input[1]'),
  },
  {
    name: 'an image by its file',
    body: message([{ type: 'input_image', file_id: 'canary' }]),
    ...refused('input[0].content[0].file_id'),
  },
  {
    name: 'a file by its id',
    body: message([{ type: 'input_file', file_id: 'canary' }]),
    ...refused('input[0].content[0].file_id'),
  },
  {
    name: 'a file by its address',
    body: message([{ type: 'input_file', file_url: 'https://canary.test/' }]),
    ...refused('input[0].content[0].file_url'),
  },
];

const headers: Case[] = [
  { name: 'no key', body: SMALL, headers: { authorization: '' }, status: 401, code: 'missing_api_key' },
  {
    name: 'an empty Idempotency-Key',
    body: SMALL,
    headers: { 'idempotency-key': '""' },
    status: 400,
    code: 'invalid_idempotency_key',
    param: 'Idempotency-Key',
  },
];

describe('bad input', () => {
  useRealSockets();

  let backend: ScriptedBackend;
  let gateway: TestGateway;

  // One for all tests, since a refused request changes nothing.
  before(async () => {
    backend = await startScriptedBackend();
    backend.always({ json: COMPLETION });
    gateway = await open();
  });

  after(async () => {
    await gateway.close();
    await backend.close();
  });

  function open(): Promise<TestGateway> {
    return openGateway({ UPSTREAM_BASE_URL: backend.baseUrl, MAX_BODY_BYTES: `${MAX_BODY_BYTES}` });
  }

  function post(body: Case['body'], headers: Case['headers'] = {}): Promise<Response> {
    return fetch(`${gateway.url}/api/v1/responses`, {
      method: 'POST',
      headers: { authorization: `Bearer ${TEST_KEY}`, 'content-type': 'application/json', ...headers },
      body: toBytes(body),
    });
  }

  async function stillWorks(): Promise<void> {
    expect((await post({})).status).to.equal(200);
  }

  for (const { name, body, headers: given, status, code, param = '' } of [
    ...bodies,
    ...shapes,
    ...unsupported,
    ...headers,
  ]) {
    it(`refuses ${name}`, async () => {
      const asked = backend.requests.length;
      const response = await post(body, given);
      const text = await response.text();
      expect(response.headers.get('content-type')).to.equal('application/json; charset=utf-8');
      expect(response.headers.get('x-should-retry')).to.equal('false');
      expect(response.headers.get('x-request-id')).to.match(/^req_[0-9a-f]{32}$/);
      const { error } = JSON.parse(text) as { error: Record<string, unknown> };
      const { message: sentence, ...rest } = error;
      expect({ status: response.status, ...rest }).to.deep.equal({
        status,
        code,
        param,
        type: status === 401 ? 'authentication_error' : 'invalid_request_error',
      });
      expect(sentence).to.be.a('string').with.length.above(10);
      expect(text).not.to.include('canary');
      expect(backend.requests).to.have.length(asked);
      await stillWorks();
    });
  }

  it('takes keys for keys, whatever they are called', async () => {
    const response = await post(
      '{"model":"m","input":"x","__proto__":{"stream":true},"constructor":{"prototype":{"stream":true}},"metadata":{"__proto__":"a","toString":"b"}}',
    );
    expect(response.status).to.equal(200);
    expect(((await response.json()) as { metadata: unknown }).metadata).to.deep.equal({ toString: 'b' });
    expect(({} as Record<string, unknown>)['stream']).to.equal(undefined);
  });

  const unreadable: { name: string; bytes: string; status: number }[] = [
    { name: 'what is not HTTP', bytes: 'canary\r\n\r\n', status: 400 },
    { name: 'a header without a name', bytes: 'GET / HTTP/1.1\r\nhost: x\r\n: canary\r\n\r\n', status: 400 },
    {
      name: 'two lengths',
      bytes: 'POST / HTTP/1.1\r\nhost: x\r\ncontent-length: 1\r\ncontent-length: 2\r\n\r\n',
      status: 400,
    },
    {
      name: 'a head that is too large',
      bytes: `GET / HTTP/1.1\r\nhost: x\r\ncookie: ${'canary'.repeat(10_000)}\r\n\r\n`,
      status: 431,
    },
    { name: 'a path with a broken escape', bytes: request('/api/v1/requests/%'), status: 400 },
    { name: 'a path to nowhere', bytes: request('/canary'), status: 404 },
    { name: 'a path of the API to nowhere', bytes: request('/api/v1/canary'), status: 404 },
    { name: 'an address in the place of a path', bytes: request('http://canary.test/canary'), status: 404 },
    { name: 'a method which the path does not take', bytes: request('/api/v1/responses', 'DELETE'), status: 405 },
  ];

  for (const { name, bytes, status } of unreadable) {
    it(`answers ${name} in JSON`, async () => {
      const [head = '', body = ''] = (await exchange(bytes)).split('\r\n\r\n', 2);
      expect(head)
        .to.match(new RegExp(`^HTTP/1.1 ${status} `))
        .and.match(/content-type: application\/json/i);
      expect(Object.keys((JSON.parse(body) as { error: object }).error)).to.have.members([
        'message',
        'type',
        'param',
        'code',
      ]);
      expect(head + body).not.to.include('canary');
      await stillWorks();
    });
  }

  function request(path: string, method = 'GET'): string {
    return `${method} ${path} HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer ${TEST_KEY}\r\nconnection: close\r\n\r\n`;
  }

  function exchange(bytes: string): Promise<string> {
    return new Promise((resolve, reject) => {
      const { port } = new URL(gateway.url);
      let received = '';
      connect(Number(port), '127.0.0.1')
        .on('data', (chunk) => (received += chunk.toString()))
        .on('error', reject)
        .on('close', () => resolve(received))
        .write(bytes);
    });
  }

  it('goes on after a client that sends half a request and goes away', async () => {
    const { port } = new URL(gateway.url);
    const socket = connect(Number(port), '127.0.0.1');
    socket.write(request('/api/v1/responses', 'POST').replace('connection: close', 'content-length: 1000') + '{"mod');
    await allArrived();
    socket.destroy();
    await stillWorks();
  });

  it('takes the request in which the next test puts something wrong', async () => {
    expect((await post(FULL)).status).to.equal(200);
  });

  it('has an answer below 500 to whatever is put in the place of any value', async () => {
    await assert(
      asyncProperty(integer({ min: 0 }), oneof(jsonValue(), constantFrom(...ODDITIES)), async (place, value) => {
        const body = structuredClone(FULL);
        replaceAt(body, place, value);
        const response = await post(JSON.stringify(body));
        expect(response.status, JSON.stringify(body)).to.be.below(500);
        await response.text();
      }),
      runs(400),
    );
  });

  it('has an answer below 500 to any bytes', async () => {
    await assert(
      asyncProperty(oneof(uint8Array({ maxLength: 500 }), jsonValue().map(toJsonBytes)), async (bytes) => {
        const response = await post(bytes);
        expect(response.status).to.be.within(400, 499);
        await response.text();
      }),
      runs(100),
    );
  });
});

function toBytes(body: Case['body']): string | Uint8Array<ArrayBuffer> {
  if (typeof body === 'string') return body;
  return body instanceof Uint8Array ? new Uint8Array(body) : JSON.stringify({ model: 'm', input: 'x', ...body });
}

function toJsonBytes(value: unknown): Uint8Array {
  return Buffer.from(JSON.stringify(value));
}

function item(value: object): object {
  return { input: [value] };
}

function missing(param: string): Pick<Case, 'status' | 'code' | 'param'> {
  return { status: 400, code: 'missing_required_parameter', param };
}

function invalid(param: string): Pick<Case, 'status' | 'code' | 'param'> {
  return { status: 400, code: 'invalid_request', param };
}

function refused(param: string): Pick<Case, 'status' | 'code' | 'param'> {
  return { status: 400, code: 'unsupported_parameter', param };
}

const ODDITIES = [
  null,
  '',
  0,
  -1,
  1e21,
  [],
  {},
  [[]],
  [null],
  '__proto__',
  'constructor',
  { type: 'function' },
  { type: 'x', tools: 'y', name: 7 },
];

/** A request with everything in it, for values to be replaced in. */
const FULL = {
  model: 'm',
  instructions: 'i',
  input: [
    { role: 'system', content: 'a' },
    {
      role: 'user',
      content: [
        { type: 'input_text', text: 'a' },
        { type: 'input_image', image_url: 'data:,', detail: 'low' },
      ],
    },
    {
      type: 'message',
      role: 'assistant',
      content: [
        { type: 'output_text', text: 'a', annotations: [] },
        { type: 'refusal', refusal: 'b' },
      ],
    },
    {
      type: 'reasoning',
      id: 'rs_1',
      summary: [{ type: 'summary_text', text: 'a' }],
      content: [],
      encrypted_content: 'x',
    },
    { type: 'function_call', call_id: 'c1', name: 'f', namespace: 'n', arguments: '{}' },
    {
      type: 'function_call_output',
      call_id: 'c1',
      output: [
        { type: 'input_text', text: 'a' },
        { type: 'input_image', image_url: 'data:,' },
      ],
    },
    { type: 'custom_tool_call', call_id: 'c2', name: 'p', input: 'x' },
    { type: 'custom_tool_call_output', call_id: 'c2', output: 'x' },
    { type: 'tool_search_call', call_id: 'c3', execution: 'client', arguments: { query: 'x' } },
    { type: 'tool_search_output', call_id: 'c3', execution: 'client', tools: [{ type: 'function', name: 'g' }] },
    {
      type: 'local_shell_call',
      call_id: 'c4',
      action: { type: 'exec', command: ['ls'], env: { A: 'b' }, timeout_ms: 1 },
    },
    { type: 'local_shell_call_output', call_id: 'c4', output: 'x' },
    { type: 'shell_call', call_id: 'c5', action: { commands: ['ls'], timeout_ms: 1, max_output_length: 1 } },
    { type: 'shell_call_output', call_id: 'c5', output: [{ stdout: 'x', outcome: { type: 'exit', exit_code: 0 } }] },
    { type: 'apply_patch_call', call_id: 'c6', operation: { type: 'create_file', path: 'a', diff: '+b' } },
    { type: 'apply_patch_call_output', call_id: 'c6', status: 'completed', output: 'x' },
    { type: 'additional_tools', role: 'developer', tools: [{ type: 'custom', name: 'q', format: { type: 'text' } }] },
  ],
  tools: [
    { type: 'function', name: 'f', description: 'd', parameters: { type: 'object', properties: {} }, strict: false },
    { type: 'custom', name: 'p', description: 'd', format: { type: 'grammar', syntax: 'lark', definition: 'x' } },
    { type: 'namespace', name: 'n', description: 'd', tools: [{ type: 'function', name: 'f', parameters: {} }] },
    { type: 'tool_search', execution: 'client', description: 'd', parameters: {} },
    { type: 'local_shell' },
    { type: 'shell', environment: { type: 'local' } },
    { type: 'apply_patch' },
    { type: 'web_search' },
  ],
  tool_choice: {
    type: 'allowed_tools',
    mode: 'auto',
    tools: [
      { type: 'function', name: 'f' },
      { type: 'custom', name: 'p' },
    ],
  },
  parallel_tool_calls: true,
  max_tool_calls: 3,
  text: { format: { type: 'json_schema', name: 'n', schema: { type: 'object' }, strict: true }, verbosity: 'low' },
  reasoning: { effort: 'low', summary: 'auto' },
  temperature: 1,
  top_p: 1,
  top_logprobs: 2,
  max_output_tokens: 100,
  include: ['reasoning.encrypted_content', 'message.output_text.logprobs'],
  stream: false,
  stream_options: { include_obfuscation: false },
  store: true,
  background: false,
  truncation: 'auto',
  service_tier: 'auto',
  metadata: { a: 'b' },
  user: 'u',
  safety_identifier: 's',
  prompt_cache_key: 'p',
};

/** Replaces the value at the nth of all places, counted through the whole tree. */
function replaceAt(root: object, place: number, value: unknown): void {
  const places: { holder: object; key: string }[] = [];
  const visit = (holder: object): void => {
    for (const [key, inner] of Object.entries(holder)) {
      places.push({ holder, key });
      if (typeof inner === 'object' && inner !== null) visit(inner as object);
    }
  };
  visit(root);
  const chosen = places[place % places.length];
  if (chosen !== undefined) Reflect.set(chosen.holder, chosen.key, value);
}

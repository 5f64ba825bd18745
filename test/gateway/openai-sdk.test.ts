import { expect } from 'chai';
import OpenAI, { APIError, AuthenticationError, BadRequestError, InternalServerError, RateLimitError } from 'openai';
import { zodTextFormat } from 'openai/helpers/zod';
import type { FunctionTool, ResponseInputItem, ResponseStreamEvent } from 'openai/resources/responses/responses';
import { z } from 'zod';
import { startScriptedBackend, type Reply, type ScriptedBackend } from '../support/backend.ts';
import { openGateway, TEST_KEY, type TestGateway } from '../support/gateway.ts';
import { chunkOf } from '../support/machine.ts';
import { useRealSockets } from '../support/real-sockets.ts';

const MODEL = 'test-model';
const USAGE = {
  prompt_tokens: 9,
  prompt_tokens_details: { cached_tokens: 4, cache_write_tokens: 3 },
  completion_tokens: 5,
  completion_tokens_details: { reasoning_tokens: 2 },
  total_tokens: 14,
};
const GET_WEATHER: FunctionTool = {
  type: 'function',
  name: 'get_weather',
  description: 'Weather of a city',
  strict: true,
  parameters: {
    type: 'object',
    properties: { city: { type: 'string' } },
    required: ['city'],
    additionalProperties: false,
  },
};

describe('the official SDK as a client of the gateway', () => {
  useRealSockets();

  let backend: ScriptedBackend;
  let gateway: TestGateway;
  let client: OpenAI;

  beforeEach(async () => {
    backend = await startScriptedBackend();
    gateway = await openGateway({ UPSTREAM_BASE_URL: backend.baseUrl });
    client = new OpenAI({ baseURL: `${gateway.url}/api/v1`, apiKey: TEST_KEY, maxRetries: 0 });
  });

  afterEach(async () => {
    await gateway.close();
    await backend.close();
  });

  function asked(index: number): Record<string, unknown> {
    return backend.requests[index]?.body as Record<string, unknown>;
  }

  describe('gets an answer', () => {
    it('from create', async () => {
      backend.reply(completion({ content: 'Hello there!' }));
      const response = await client.responses.create({ model: MODEL, instructions: 'Be brief.', input: 'Hello' });
      expect(response.output_text).to.equal('Hello there!');
      expect(response.status).to.equal('completed');
      expect(response.model).to.equal(MODEL);
      expect(response).to.have.property('_request_id', response.id.replace('resp_', 'req_'));
      expect(response.usage).to.deep.equal({
        input_tokens: 9,
        input_tokens_details: { cached_tokens: 4, cache_write_tokens: 3 },
        output_tokens: 5,
        output_tokens_details: { reasoning_tokens: 2 },
        total_tokens: 14,
      });
      expect(asked(0)).to.deep.equal({
        model: MODEL,
        messages: [
          { role: 'system', content: 'Be brief.' },
          { role: 'user', content: 'Hello' },
        ],
        stream: false,
      });
      expect(backend.requests[0]?.headers.authorization).to.equal(`Bearer ${TEST_KEY}`);
    });

    it('from create with stream, event by event', async () => {
      backend.reply({ sse: [chunkOf({ content: 'Hel' }), chunkOf({ content: 'lo' }), chunkOf({}, 'stop')] });
      const stream = await client.responses.create({ model: MODEL, input: 'Hello', stream: true });
      const events: ResponseStreamEvent[] = [];
      for await (const event of stream) events.push(event);
      expect(events.map(({ type }) => type)).to.deep.equal([
        'response.created',
        'response.in_progress',
        'response.output_item.added',
        'response.content_part.added',
        'response.output_text.delta',
        'response.output_text.delta',
        'response.output_text.done',
        'response.content_part.done',
        'response.output_item.done',
        'response.completed',
      ]);
    });

    it('from the stream helper, with its typed events and its final response', async () => {
      backend.reply({
        sse: [
          chunkOf({ content: 'Look: ' }),
          chunkOf({ tool_calls: [{ index: 0, id: 'call_1', function: { name: 'get_weather', arguments: '{"ci' } }] }),
          chunkOf({ tool_calls: [{ index: 0, function: { arguments: 'ty":"Oslo"}' } }] }),
          chunkOf({}, 'tool_calls'),
          { choices: [], usage: USAGE },
        ],
      });
      const texts: string[] = [];
      const argumentsSoFar: string[] = [];
      const stream = client.responses
        .stream({ model: MODEL, input: 'Hello', tools: [GET_WEATHER] })
        .on('response.output_text.delta', ({ snapshot }) => texts.push(snapshot))
        .on('response.function_call_arguments.delta', ({ snapshot }) => argumentsSoFar.push(snapshot));
      const response = await stream.finalResponse();
      expect(texts).to.deep.equal(['Look: ']);
      expect(argumentsSoFar).to.deep.equal(['{"ci', '{"city":"Oslo"}']);
      expect(response.output_text).to.equal('Look: ');
      expect(response.output.map(({ type }) => type)).to.deep.equal(['message', 'function_call']);
      expect(response.output[1]).to.deep.include({ call_id: 'call_1', parsed_arguments: { city: 'Oslo' } });
      expect(response.usage?.total_tokens).to.equal(14);
    });

    it('from parse, as what a zod schema describes', async () => {
      const Person = z.object({ name: z.string(), age: z.number() });
      backend.reply(completion({ content: '{"name":"Ada","age":36}' }));
      const format = zodTextFormat(Person, 'person');
      const response = await client.responses.parse({ model: MODEL, input: 'Ada, 36', text: { format } });
      expect(response.output_parsed).to.deep.equal({ name: 'Ada', age: 36 });
      expect(asked(0)['response_format']).to.deep.equal({
        type: 'json_schema',
        json_schema: { name: 'person', strict: true, schema: format.schema },
      });
    });

    it('with its reasoning, as a summary', async () => {
      backend.reply({
        sse: [
          chunkOf({ reasoning_content: 'Let me ' }),
          chunkOf({ reasoning_content: 'think.' }),
          chunkOf({ content: '42' }),
          chunkOf({}, 'stop'),
        ],
      });
      const thoughts: string[] = [];
      const stream = client.responses.stream({ model: MODEL, input: 'Why?', reasoning: { effort: 'low' } });
      stream.on('response.reasoning_summary_text.delta', ({ delta }) => thoughts.push(delta));
      const { output, output_text } = await stream.finalResponse();
      expect(thoughts).to.deep.equal(['Let me ', 'think.']);
      expect(output[0]).to.deep.include({
        type: 'reasoning',
        summary: [{ type: 'summary_text', text: 'Let me think.' }],
      });
      expect(output_text).to.equal('42');
      expect(asked(0)['reasoning_effort']).to.equal('low');
    });

    it('cut off at max_output_tokens as incomplete', async () => {
      backend.reply(completion({ content: 'Once upon a' }, 'length'));
      const request = { model: MODEL, input: 'Tell me a story', max_output_tokens: 16 };
      const response = await client.responses.create(request);
      expect(response.status).to.equal('incomplete');
      expect(response.incomplete_details).to.deep.equal({ reason: 'max_output_tokens' });
      expect(response.output_text).to.equal('Once upon a');
      expect(asked(0)['max_tokens']).to.equal(16);
    });

    it('that is a refusal', async () => {
      backend.reply({ sse: [chunkOf({ refusal: 'I ' }), chunkOf({ refusal: 'will not.' }), chunkOf({}, 'stop')] });
      const response = await client.responses.stream({ model: MODEL, input: 'Do harm' }).finalResponse();
      expect(response.output[0]).to.have.nested.property('content[0].refusal', 'I will not.');
      expect(response.output_text).to.equal('');
    });

    it('to images and files', async () => {
      backend.reply(completion({ content: 'A cat and a report.' }));
      const image = 'data:image/png;base64,aGVsbG8=';
      const file = 'data:application/pdf;base64,aGVsbG8=';
      await client.responses.create({
        model: MODEL,
        input: [
          {
            role: 'user',
            content: [
              { type: 'input_text', text: 'What is this?' },
              { type: 'input_image', image_url: image, detail: 'low' },
              { type: 'input_file', filename: 'report.pdf', file_data: file },
            ],
          },
        ],
      });
      expect(asked(0)['messages']).to.deep.equal([
        {
          role: 'user',
          content: [
            { type: 'text', text: 'What is this?' },
            { type: 'image_url', image_url: { url: image, detail: 'low' } },
            { type: 'file', file: { filename: 'report.pdf', file_data: file } },
          ],
        },
      ]);
    });
  });

  describe('runs a tool loop', () => {
    const parallelCalls: Reply = {
      sse: [
        chunkOf({ tool_calls: [toCall(0, 'call_oslo', '')] }),
        chunkOf({ tool_calls: [toCall(1, 'call_rome', '')] }),
        chunkOf({ tool_calls: [{ index: 1, function: { arguments: '{"city":"Rome"}' } }] }),
        chunkOf({ tool_calls: [{ index: 0, function: { arguments: '{"city":"Oslo"}' } }] }),
        chunkOf({}, 'tool_calls'),
      ],
    };
    const oneCall: Reply = {
      sse: [chunkOf({ tool_calls: [toCall(0, 'call_bern', '{"city":"Bern"}')] }), chunkOf({}, 'tool_calls')],
    };

    it('of two rounds, the first with parallel calls, whose outputs follow in call order', async () => {
      backend.reply(parallelCalls, oneCall, { sse: [chunkOf({ content: 'Rome is warmer.' }), chunkOf({}, 'stop')] });
      const input: ResponseInputItem[] = [{ role: 'user', content: 'Oslo or Rome?' }];
      let text = '';
      for (let round = 0; round < 3; round += 1) {
        const response = await client.responses.stream({ model: MODEL, input, tools: [GET_WEATHER] }).finalResponse();
        text = response.output_text;
        const calls = response.output.filter((item) => item.type === 'function_call');
        input.push(...calls.map(({ parsed_arguments: _parsed, ...call }) => call));
        // The last call is done first: clients run them side by side.
        for (const { call_id, parsed_arguments } of calls.toReversed()) {
          const output = `${(parsed_arguments as { city: string }).city}: fine`;
          input.push({ type: 'function_call_output', call_id, output });
        }
      }

      expect(text).to.equal('Rome is warmer.');
      expect(asked(2)['messages']).to.deep.equal([
        { role: 'user', content: 'Oslo or Rome?' },
        {
          role: 'assistant',
          content: null,
          tool_calls: [
            {
              id: 'call_oslo',
              type: 'function',
              function: { name: 'get_weather', arguments: '{"city":"Oslo"}' },
            },
            {
              id: 'call_rome',
              type: 'function',
              function: { name: 'get_weather', arguments: '{"city":"Rome"}' },
            },
          ],
        },
        { role: 'tool', tool_call_id: 'call_oslo', content: 'Oslo: fine' },
        { role: 'tool', tool_call_id: 'call_rome', content: 'Rome: fine' },
        {
          role: 'assistant',
          content: null,
          tool_calls: [
            {
              id: 'call_bern',
              type: 'function',
              function: { name: 'get_weather', arguments: '{"city":"Bern"}' },
            },
          ],
        },
        { role: 'tool', tool_call_id: 'call_bern', content: 'Bern: fine' },
      ]);
      const { type, ...called } = GET_WEATHER;
      expect(asked(2)['tools']).to.deep.equal([{ type, function: called }]);
    });

    it('in which a call runs once, however often the backend says it', async () => {
      const whole = '{"city":"Oslo"}';
      const pieces = {
        'at several indexes': [0, 1, 2].map((index) => toCall(index, 'call_oslo', whole)),
        'with all arguments so far': ['{"city"', '{"city":"Os', whole].map((given) => toCall(0, 'call_oslo', given)),
        'again without an id': [toCall(0, 'call_oslo', whole), { index: 0, function: { arguments: whole } }],
      };
      for (const [name, calls] of Object.entries(pieces)) {
        backend.reply({ sse: [...calls.map((call) => chunkOf({ tool_calls: [call] })), chunkOf({}, 'tool_calls')] });
        const stream = client.responses.stream({ model: MODEL, input: 'Oslo?', tools: [GET_WEATHER] });
        const { output } = await stream.finalResponse();
        const called = output.map((item) => (item.type === 'function_call' ? item.parsed_arguments : item.type));
        expect(called, name).to.deep.equal([{ city: 'Oslo' }]);
      }
    });
  });

  describe('throws a typed error', () => {
    const refusals = [
      {
        name: 'BadRequestError for what the gateway refuses itself',
        type: BadRequestError,
        request: { model: MODEL, input: 'Hello', temperature: 7 },
        expected: { status: 400, code: 'invalid_request', param: 'temperature', type: 'invalid_request_error' },
      },
      {
        name: 'RateLimitError',
        type: RateLimitError,
        reply: toError(429, { message: 'Slow down.' }),
        expected: { status: 429, code: 'rate_limit_exceeded', param: '', type: 'rate_limit_error' },
        message: '429 Slow down.',
      },
      {
        name: 'InternalServerError where the backend fails',
        type: InternalServerError,
        reply: toError(500, { message: 'Out of memory.' }),
        expected: { status: 502, code: 'upstream_error', param: '', type: 'server_error' },
        message: '502 Out of memory.',
      },
    ];

    for (const { name, type, request, reply, expected, message } of refusals) {
      it(name, async () => {
        if (reply !== undefined) backend.reply(reply);
        const error = await thrownBy(client.responses.create({ model: MODEL, input: 'Hello', ...request }));
        expect(error).to.be.instanceOf(type);
        if (!(error instanceof APIError)) return;
        const { status, code, param, type: errorType, headers } = error;
        expect({ status, code, param, type: errorType }).to.deep.equal(expected);
        if (message !== undefined) expect(error.message).to.equal(message);
        expect(headers?.get('x-should-retry')).to.equal(status === 400 ? 'false' : null);
        expect(error.requestID).to.match(/^req_[0-9a-f]{32}$/);
      });
    }

    it('without a key', async () => {
      const keyless = new OpenAI({ baseURL: client.baseURL, apiKey: 'x', maxRetries: 0 });
      const call = keyless.responses.create({ model: MODEL, input: 'x' }, { headers: { authorization: null } });
      const error = await thrownBy(call);
      expect(error).to.be.instanceOf(AuthenticationError);
      expect(error).to.have.property('code', 'missing_api_key');
    });

    it('when a stream fails after its beginning', async () => {
      backend.reply({ sse: [chunkOf({ content: 'Half' }), { error: { message: 'Overloaded.' } }], done: false });
      const stream = await client.responses.create({ model: MODEL, input: 'Hello', stream: true });
      const types: string[] = [];
      const error = await thrownBy(readTypes(stream, types));
      expect(error).to.be.instanceOf(APIError);
      expect(error).to.deep.include({ code: 'upstream_error' });
      expect(String(error)).to.include('Overloaded.');
      expect(types).to.include('response.output_text.delta');
    });
  });

  describe('asks again by itself', () => {
    it('when the backend said when: its retry-after-ms is kept', async () => {
      backend.reply(
        toError(429, { message: 'Slow down.' }, { 'retry-after-ms': '700' }),
        completion({ content: 'Hi' }),
      );
      const response = await client.responses.create({ model: MODEL, input: 'Hello' }, { maxRetries: 1 });
      expect(response.output_text).to.equal('Hi');
      const [first, second] = backend.requests.map(({ receivedAtMs }) => receivedAtMs);
      // By itself it would wait for half a second at most.
      expect((second ?? 0) - (first ?? 0)).to.be.at.least(690);
    });

    it('but not where that cannot help', async () => {
      backend.reply(toError(400, { message: 'No.' }));
      const call = client.responses.create({ model: MODEL, input: 'Hello' }, { maxRetries: 3 });
      expect(await thrownBy(call)).to.be.instanceOf(BadRequestError);
      expect(backend.requests).to.have.length(1);
    });
  });
});

function completion(message: object, finishReason = 'stop'): Reply {
  return {
    json: {
      object: 'chat.completion',
      choices: [{ index: 0, message: { role: 'assistant', ...message }, finish_reason: finishReason }],
      usage: USAGE,
    },
  };
}

function toCall(index: number, id: string, callArguments: string): object {
  return { index, id, type: 'function', function: { name: 'get_weather', arguments: callArguments } };
}

function toError(status: number, error: object, headers: Record<string, string> = {}): Reply {
  return { json: { error: { type: 'x', param: null, code: null, ...error } }, status, headers };
}

async function readTypes(stream: AsyncIterable<ResponseStreamEvent>, types: string[]): Promise<void> {
  for await (const { type } of stream) types.push(type);
}

async function thrownBy(call: Promise<unknown>): Promise<unknown> {
  try {
    await call;
  } catch (error) {
    return error;
  }
  throw new Error('nothing was thrown');
}

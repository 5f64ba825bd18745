import { expect } from 'chai';
import type { ChatBackend } from '../../../src/backend/chat.ts';
import { type DemoBackend, startDemoBackend } from '../../../src/backend/demo/demo.ts';
import { askFor, chunksOf, collect, connectTo, STREAM_REQUEST, textOf } from '../asking.ts';

const TOOLS = [
  {
    type: 'function',
    function: {
      name: 'get_weather',
      parameters: { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] },
    },
  },
] as const;

interface Delta {
  readonly content?: string | null;
  readonly tool_calls?: readonly {
    readonly index: number;
    readonly id?: string;
    readonly function: { readonly name?: string; readonly arguments: string };
  }[];
}

describe('the demo backend', () => {
  let demo: DemoBackend;
  let backend: ChatBackend;

  beforeEach(async () => {
    demo = await startDemoBackend();
    backend = connectTo(demo.baseUrl);
  });

  afterEach(async () => {
    await backend.close();
    await demo.close();
  });

  async function post(body: unknown): Promise<{ status: number; body: Record<string, unknown> }> {
    const text = typeof body === 'string' ? body : JSON.stringify(body);
    const reply = await fetch(`${demo.baseUrl}/chat/completions`, { method: 'POST', body: text });
    return { status: reply.status, body: (await reply.json()) as Record<string, unknown> };
  }

  it('answers in JSON, with usage and under the name of the model it was asked for', async () => {
    const { status, body } = await post({ model: 'gpt-x', messages: [{ role: 'user', content: 'Hi' }] });

    expect(status).to.equal(200);
    expect(body).to.include({ object: 'chat.completion', model: 'gpt-x' });
    const [choice] = body['choices'] as { message: { content: string }; finish_reason: string }[];
    expect(choice?.message.content).to.include('You said: "Hi".');
    expect(choice?.finish_reason).to.equal('stop');
    const usage = body['usage'] as Record<string, number>;
    expect(usage['total_tokens']).to.equal((usage['prompt_tokens'] ?? 0) + (usage['completion_tokens'] ?? 0));
  });

  for (const stream of [false, true]) {
    it(`takes some 20 s for an answer that is asked to be slow (${stream ? 'a stream' : 'JSON'})`, async () => {
      let waitedMs = 0;
      const held = await startDemoBackend(async (ms) => void (waitedMs += ms));
      try {
        const body = JSON.stringify({ stream, messages: [{ role: 'user', content: 'Be slow, please.' }] });
        const reply = await fetch(`${held.baseUrl}/chat/completions`, { method: 'POST', body });
        expect(await reply.text()).to.include('Hello');
        expect(waitedMs).to.be.within(20_000, 22_000);
      } finally {
        await held.close();
      }
    });
  }

  it('streams text in small pieces that come one after the other', async () => {
    const answer = await askFor(backend, STREAM_REQUEST, { signal: new AbortController().signal, headers: {} });
    const batches = await collect(answer);

    expect(batches.length).to.be.above(10);
    expect(textOf(batches)).to.include('You said: "Hi".');
    const chunks = chunksOf(batches);
    expect(new Set(chunks.map((chunk) => chunk['id'])).size).to.equal(1);
    expect(chunks.at(-1)).to.deep.include({ choices: [] }).and.have.property('usage');
    expect(batches.at(-1)?.done).to.equal(true);
  });

  it('leaves usage out of a stream that does not ask for it', async () => {
    const { stream_options: _left, ...request } = STREAM_REQUEST;

    const batches = await collect(
      await askFor(backend, request, { signal: new AbortController().signal, headers: {} }),
    );

    expect(chunksOf(batches).some((chunk) => 'usage' in chunk)).to.equal(false);
  });

  it('streams a tool call, its arguments in pieces', async () => {
    const request = {
      ...STREAM_REQUEST,
      tools: TOOLS,
      messages: [{ role: 'user', content: 'Weather in Berlin?' }],
    } as const;

    const batches = await collect(
      await askFor(backend, request, { signal: new AbortController().signal, headers: {} }),
    );

    const choices = chunksOf(batches).flatMap(
      (chunk) => chunk['choices'] as { delta: Delta; finish_reason: string | null }[],
    );
    const calls = choices.flatMap((choice) => choice.delta.tool_calls ?? []);
    expect(calls[0]?.function.name).to.equal('get_weather');
    expect(calls[0]?.id).to.match(/^call_/);
    expect(calls.length).to.be.above(2);
    expect(JSON.parse(calls.map((call) => call.function.arguments).join(''))).to.deep.equal({ city: 'Berlin' });
    expect(choices.at(-1)?.finish_reason).to.equal('tool_calls');
  });

  it('calls a tool in JSON, and answers with its result', async () => {
    const messages: object[] = [{ role: 'user', content: 'Weather in Berlin?' }];
    const first = await post({ model: 'demo', messages, tools: TOOLS });
    const [choice] = first.body['choices'] as { message: { tool_calls: { id: string }[] }; finish_reason: string }[];
    expect(choice?.finish_reason).to.equal('tool_calls');
    messages.push(choice?.message ?? {}, {
      role: 'tool',
      tool_call_id: choice?.message.tool_calls[0]?.id,
      content: '20 degrees',
    });

    const second = await post({ model: 'demo', messages, tools: TOOLS });

    expect(JSON.stringify(second.body)).to.include('20 degrees');
  });

  it('serves the next client after one that went away', async () => {
    const controller = new AbortController();
    const answer = await askFor(backend, STREAM_REQUEST, { signal: controller.signal, headers: {} });
    controller.abort();
    await collect(answer).catch(() => {});

    expect((await post({ messages: [{ role: 'user', content: 'Hi' }] })).status).to.equal(200);
  });

  for (const [name, body] of [
    ['what is not JSON', '{'],
    ['what is no object', '[]'],
    ['no messages', { model: 'demo' }],
    ['empty messages', { model: 'demo', messages: [] }],
  ] as const) {
    it(`refuses ${name}`, async () => {
      const { status, body: reply } = await post(body);

      expect(status).to.equal(400);
      expect(reply['error']).to.have.property('message');
    });
  }

  for (const [path, status, expected] of [
    ['/models', 200, { object: 'list', data: [{ id: 'demo', object: 'model', created: 0, owned_by: 'demo' }] }],
    ['/models/any-name', 200, { id: 'any-name', object: 'model', created: 0, owned_by: 'demo' }],
    [
      '/elsewhere',
      404,
      {
        error: {
          message: 'The demo backend has no such path.',
          type: 'invalid_request_error',
          param: null,
          code: null,
        },
      },
    ],
  ] as const) {
    it(`answers GET ${path} with ${status}`, async () => {
      const reply = await fetch(`${demo.baseUrl}${path}`);

      expect(reply.status).to.equal(status);
      expect(await reply.json()).to.deep.equal(expected);
    });
  }
});

import { expect } from 'chai';
import OpenAI, { BadRequestError } from 'openai';
import type { Response as SdkResponse, ResponseInputItem } from 'openai/resources/responses/responses';
import { startScriptedBackend, type ScriptedBackend } from '../support/backend.ts';
import { openGateway, TEST_KEY, type TestGateway } from '../support/gateway.ts';
import { casesOf } from '../support/property.ts';
import { useRealSockets } from '../support/real-sockets.ts';
import { playState, STATE_BACKENDS, type StateBackend } from '../support/state-backends.ts';

const GET_WEATHER = {
  type: 'function',
  name: 'get_weather',
  strict: false,
  parameters: { type: 'object', properties: { city: { type: 'string' } } },
} as const;
const INCLUDE = ['reasoning.encrypted_content'] as const;

/** How a client replays the output of a reply. */
type Replay = (output: ResponseInputItem[]) => ResponseInputItem[];

const REPLAYS: Readonly<Record<string, Replay>> = {
  'as it came': (output) => output,
  // opencode sends calls without ids, the AI SDK may.
  'without the ids of its items': (output) => output.map((item) => ({ ...item, id: undefined }) as ResponseInputItem),
  // LangChain keeps the last reasoning item of a JSON reply, and puts it first.
  'with its last reasoning item first and alone': (output) => [
    ...output.filter(({ type }) => type === 'reasoning').slice(-1),
    ...output.filter(({ type }) => type !== 'reasoning'),
  ],
};

describe('a conversation with a backend that wants its state back', () => {
  useRealSockets();

  let backend: ScriptedBackend;
  let gateway: TestGateway | undefined;

  beforeEach(async () => {
    backend = await startScriptedBackend();
  });

  afterEach(async () => {
    await gateway?.close();
    await backend.close();
  });

  async function open(played: StateBackend, reasoningOutput = 'summary'): Promise<OpenAI> {
    backend.always(playState(played));
    gateway = await openGateway({
      UPSTREAM_BASE_URL: backend.baseUrl,
      UPSTREAM_DIALECT: played.dialect,
      REASONING_OUTPUT: reasoningOutput,
    });
    return new OpenAI({ baseURL: `${gateway.url}/api/v1`, apiKey: TEST_KEY, maxRetries: 0 });
  }

  interface Way {
    readonly stream: boolean;
    readonly include: boolean;
    readonly replay: Replay;
  }

  /** Three rounds of a tool loop and a further question; the texts of the answers. */
  async function talk(client: OpenAI, { stream, include, replay }: Way): Promise<string[]> {
    const input: ResponseInputItem[] = [{ role: 'user', content: 'What is the weather?' }];
    const texts: string[] = [];
    while (texts.length < 2) {
      const request = { model: 'm', input, tools: [GET_WEATHER], ...(include && { include: [...INCLUDE] }) };
      const response: SdkResponse = stream
        ? await client.responses.stream(request).finalResponse()
        : await client.responses.create(request);
      const calls = response.output.filter((item) => item.type === 'function_call');
      input.push(...replay(response.output as ResponseInputItem[]));
      for (const { call_id: callId } of calls) {
        input.push({ type: 'function_call_output', call_id: callId, output: 'rain' });
      }
      if (calls.length > 0) continue;
      texts.push(response.output_text);
      input.push({ role: 'user', content: 'Thank you.' });
    }
    return texts;
  }

  const talks = Object.entries(STATE_BACKENDS).flatMap(([name, played]) =>
    ['summary', 'content', 'hidden'].flatMap((reasoningOutput) =>
      [false, true].flatMap((stream) =>
        [false, true].flatMap((include) =>
          Object.entries(REPLAYS).map(([how, replay]) => ({
            what: `${name} where reasoning is ${reasoningOutput}: ${how}, ${stream ? 'streamed' : 'JSON'}${include ? ', sealed thoughts' : ''}`,
            played,
            reasoningOutput,
            way: { stream, include, replay },
          })),
        ),
      ),
    ),
  );
  for (const { what, played, reasoningOutput, way } of casesOf(talks)) {
    it(`goes on with ${what}`, async () => {
      const client = await open(played, reasoningOutput);
      expect(await talk(client, way)).to.deep.equal(['It rains.', 'You are welcome.']);
    });
  }

  for (const [name, played] of Object.entries(STATE_BACKENDS)) {
    it(`fails with ${name} where its client drops the reasoning items`, async () => {
      const client = await open(played);
      const replay: Replay = (output) => output.filter(({ type }) => type !== 'reasoning');
      const thrown: unknown = await talk(client, { stream: true, include: false, replay }).catch(
        (error: unknown) => error,
      );
      expect(thrown).to.be.instanceOf(BadRequestError);
    });
  }

  describe('goes on where thoughts are not its own', () => {
    const asked = { role: 'user', content: 'What is the weather?' };
    const summary = [{ type: 'summary_text', text: '**Looking**' }];
    const call = { type: 'function_call', call_id: 'c', name: 'get_weather', arguments: '{}' };
    const rest = [call, { type: 'function_call_output', call_id: 'c', output: 'rain' }];
    const own = { type: 'reasoning', id: 'rs_0123456789abcdef0123456789abcdef0000', summary };
    const foreign: Readonly<Record<string, object>> = {
      'sealed elsewhere': { type: 'reasoning', id: 'rs_68af', summary, encrypted_content: 'gAAAA' },
      'with an id from elsewhere': { type: 'reasoning', id: 'rs_68af', summary },
      'as a client wrote it': { type: 'reasoning', content: [{ type: 'reasoning_text', text: '**Looking**' }] },
    };
    /** Answers with a thought in this field, and in nothing else. */
    async function openThinking(field: string, dialect = 'generic'): Promise<TestGateway> {
      backend.always(({ start, end }) => {
        start(200, { 'content-type': 'application/json' });
        const message = { role: 'assistant', content: 'It rains.', [field]: 'I know.' };
        end(JSON.stringify({ choices: [{ index: 0, message, finish_reason: 'stop' }] }));
      });
      return (gateway = await openGateway({ UPSTREAM_BASE_URL: backend.baseUrl, UPSTREAM_DIALECT: dialect }));
    }
    const sentThoughts = (): unknown[] =>
      backend.requests.map(({ body }) => {
        const { messages } = body as { messages: Readonly<Record<string, unknown>>[] };
        const found = messages.find(({ role }) => role === 'assistant');
        return Object.fromEntries(Object.entries(found ?? {}).filter(([name]) => name.startsWith('reasoning')));
      });

    for (const [name, item] of Object.entries(foreign)) {
      for (const field of ['reasoning', 'reasoning_content']) {
        it(`and gets a thought ${name} only in ${field}, once it has sent one there`, async () => {
          const opened = await openThinking(field);
          const input = [asked, item, ...rest];
          for (const model of ['m', 'm', 'other', 'm'])
            expect((await opened.create({ model, input })).status).to.equal(200);
          const told = { [field]: '**Looking**' };
          expect(sentThoughts()).to.deep.equal([{}, told, {}, told]);
        });
      }

      it(`and gets a thought ${name} where its kind is known to take it`, async () => {
        const opened = await openThinking('nothing', 'vllm');
        await opened.create({ model: 'm', input: [asked, item, ...rest] });
        expect(sentThoughts()).to.deep.equal([{ reasoning: '**Looking**' }]);
      });
    }

    it('and gets no thought of another from a large request either', async () => {
      const opened = await openThinking('reasoning');
      const content = 'x'.repeat(2_200_000);
      const input = [{ ...asked, content }, foreign['sealed elsewhere'], ...rest];
      for (const _ of [1, 2]) await opened.create({ model: 'm', input });
      expect(sentThoughts()).to.deep.equal([{}, { reasoning: '**Looking**' }]);
    });

    it('and gets what came from here before a restart', async () => {
      const opened = await openThinking('nothing');
      await opened.create({ model: 'm', input: [asked, own, ...rest] });
      expect(sentThoughts()).to.deep.equal([{ reasoning_content: '**Looking**' }]);
    });

    it('and gets a space in the place of thoughts that a client has dropped, if it is Kimi', async () => {
      const opened = await openThinking('reasoning_content', 'moonshot');
      await opened.create({ model: 'm', input: [asked, ...rest] });
      expect(sentThoughts()).to.deep.equal([{ reasoning_content: ' ' }]);
    });
  });

  it('shows nothing of hidden thoughts', async () => {
    const client = await open(STATE_BACKENDS['Kimi at Moonshot'] as StateBackend, 'hidden');
    const response = await client.responses.create({ model: 'm', input: 'Hello' });
    expect(JSON.stringify(response)).not.to.include('Thought');
  });

  it('tells another model nothing of what was attached', async () => {
    const client = await open(STATE_BACKENDS['Gemini at Google'] as StateBackend);
    const { output } = await client.responses.create({ model: 'm', input: 'Hello', tools: [GET_WEATHER] });
    const input = [{ role: 'user', content: 'Hello' }, ...output] as ResponseInputItem[];
    await client.responses.create({ model: 'other', input }).catch(() => undefined);
    expect(JSON.stringify(backend.requests.at(-1)?.body))
      .to.include('call_a')
      .and.not.to.include('"thought_signature":"one"');
  });

  it('shows Gemini calls of another model with the signature that is not checked', async () => {
    const SKIP = 'skip_thought_signature_validator';
    backend.always(async ({ request, start, end }) => {
      const { messages } = request.body as { messages: { tool_calls?: { extra_content?: unknown }[] }[] };
      const first = messages.flatMap(({ tool_calls: [call] = [] }) => (call === undefined ? [] : [call.extra_content]));
      const isSigned = first.every((extra) => JSON.stringify(extra)?.includes(SKIP));
      start(isSigned ? 200 : 400, { 'content-type': 'application/json' });
      const message = { role: 'assistant', content: 'It rains.' };
      end(
        JSON.stringify(
          isSigned
            ? { choices: [{ index: 0, message, finish_reason: 'stop' }] }
            : { error: { code: 400, message: 'Function call is missing a thought_signature in functionCall parts.' } },
        ),
      );
    });
    gateway = await openGateway({ UPSTREAM_BASE_URL: backend.baseUrl, UPSTREAM_DIALECT: 'google' });
    const client = new OpenAI({ baseURL: `${gateway.url}/api/v1`, apiKey: TEST_KEY, maxRetries: 0 });
    const input: ResponseInputItem[] = [
      { role: 'user', content: 'What is the weather?' },
      { type: 'function_call', call_id: 'a', name: 'get_weather', arguments: '{}' },
      { type: 'function_call', call_id: 'b', name: 'get_weather', arguments: '{}' },
      { type: 'function_call_output', call_id: 'a', output: 'rain' },
      { type: 'function_call_output', call_id: 'b', output: 'rain' },
    ];
    const response = await client.responses.create({ model: 'm', input, tools: [GET_WEATHER] });
    expect(response.output_text).to.equal('It rains.');
  });
});

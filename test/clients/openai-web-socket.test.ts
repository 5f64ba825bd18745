import { expect } from 'chai';
import OpenAI from 'openai';
import type { Response, ResponseInput, ResponsesClientEvent } from 'openai/resources/responses/responses';
import { ResponsesWS } from 'openai/resources/responses/ws';
import { after, SPECIAL } from './model-words.ts';
import { useGateway } from './scene.ts';
import { API_KEY } from './strict-backend.ts';
import { WEATHER } from './weather.ts';

const MODEL = 'test-model';

describe('openai over a WebSocket', () => {
  const scene = useGateway();
  let sockets: ResponsesWS[];

  beforeEach(() => {
    sockets = [];
  });

  afterEach(() => {
    for (const socket of sockets) socket.close();
  });

  function open(): ResponsesWS {
    const socket = new ResponsesWS(new OpenAI({ baseURL: scene.baseUrl, apiKey: API_KEY }));
    sockets.push(socket);
    return socket;
  }

  /** Sends it, and resolves with the final response, or rejects with the error that the SDK throws. */
  function ask(socket: ResponsesWS, request: Omit<ResponsesClientEvent.ResponseCreate, 'type'>): Promise<Response> {
    return new Promise((resolve, reject) => {
      socket.once('response.completed', ({ response }) => resolve(response));
      socket.once('error', reject);
      socket.send({ type: 'response.create', ...request });
    });
  }

  it('gets an answer in deltas that add up to it', async () => {
    scene.backend.plays({ text: SPECIAL });
    const socket = open();
    let text = '';
    socket.on('response.output_text.delta', ({ delta }) => (text += delta));
    const response = await ask(socket, { model: MODEL, instructions: 'Be brief.', input: 'Hello' });
    expect([text, response.output_text, response.usage?.total_tokens]).to.deep.equal([SPECIAL, SPECIAL, 18]);
  });

  it('reads all events of several answers in order, by its iterator', async () => {
    scene.backend.plays({ text: 'One.' }, { text: 'Two.' });
    const socket = open();
    for (const input of ['First', 'Second']) socket.send({ type: 'response.create', model: MODEL, input });
    const texts: string[] = [];
    for await (const event of socket.stream()) {
      if (event.type !== 'message' || event.message.type !== 'response.completed') continue;
      texts.push(event.message.response.output_text);
      if (texts.length === 2) break;
    }
    expect(texts).to.deep.equal(['One.', 'Two.']);
  });

  it('runs parallel tools in a loop, and sends what is new alone', async () => {
    const calls = ['Bonn', SPECIAL].map((city) => ({ name: 'weather', arguments: { city } }));
    scene.backend.plays({ text: 'I look.', calls }, after(`Rain in ${SPECIAL}`, { text: 'Rain, rain.' }));
    const socket = open();
    const first = await ask(socket, { model: MODEL, input: 'Weather?', tools: [WEATHER] });
    const input: ResponseInput = first.output.flatMap((item) => {
      if (item.type !== 'function_call') return [];
      const { city } = JSON.parse(item.arguments) as { city: string };
      return [{ type: 'function_call_output', call_id: item.call_id, output: `Rain in ${city}` }];
    });
    expect(input).to.have.lengthOf(2);
    const second = await ask(socket, { model: MODEL, input, tools: [WEATHER], previous_response_id: first.id });
    expect(second.output_text).to.equal('Rain, rain.');
  });

  it('warms up, and goes on from there', async () => {
    scene.backend.plays({ text: SPECIAL });
    const socket = open();
    const warm = await ask(socket, { model: MODEL, input: 'Hello', generate: false });
    expect(scene.backend.requests.length).to.equal(0);
    const response = await ask(socket, { model: MODEL, input: 'Now.', previous_response_id: warm.id });
    expect(response.output_text).to.equal(SPECIAL);
    expect(scene.backend.bodies[0]?.messages.map(({ content }) => content)).to.deep.equal(['Hello\n\nNow.']);
  });

  it('throws an error that says what was wrong, and goes on', async () => {
    scene.backend.plays({ text: SPECIAL });
    const socket = open();
    const unknown = ask(socket, { model: MODEL, input: 'Hello', previous_response_id: 'resp_1' });
    const message = await unknown.then(
      () => 'no error',
      (thrown: unknown) => (thrown instanceof Error ? thrown.message : 'no error'),
    );
    expect(message).to.include('not the latest response');
    expect((await ask(socket, { model: MODEL, input: 'Hello' })).output_text).to.equal(SPECIAL);
  });
});

import {
  AIMessage,
  AIMessageChunk,
  HumanMessage,
  SystemMessage,
  ToolMessage,
  type BaseMessage,
} from '@langchain/core/messages';
import { tool } from '@langchain/core/tools';
import { ChatOpenAI } from '@langchain/openai';
import { expect } from 'chai';
import { z } from 'zod';
import { startScriptedBackend } from '../support/backend.ts';
import { openGateway } from '../support/gateway.ts';
import { playState, STATE_BACKENDS, type StateBackend } from '../support/state-backends.ts';
import { after, calling, imagesOfLast, SPECIAL } from './model-words.ts';
import { PIXEL_URL } from './pixel.ts';
import { REASONING, useGateway } from './scene.ts';
import { API_KEY, type ModelCall } from './strict-backend.ts';

const weather = tool(({ city }) => `Rain in ${city}`, {
  name: 'weather',
  description: 'The weather of a city.',
  schema: z.object({ city: z.string() }),
});

function modelAt(baseURL: string): ChatOpenAI {
  return new ChatOpenAI({
    model: 'test-model',
    apiKey: API_KEY,
    useResponsesApi: true,
    maxRetries: 0,
    configuration: { baseURL },
  });
}

describe('@langchain/openai', () => {
  const scene = useGateway();
  let model: ChatOpenAI;

  beforeEach(() => {
    model = modelAt(scene.baseUrl);
  });

  it('gets an answer', async () => {
    scene.backend.plays({ text: SPECIAL });
    const answer = await model.invoke([new SystemMessage('Be brief.'), new HumanMessage('Hello')]);
    expect(answer.text).to.equal(SPECIAL);
    expect(answer.usage_metadata).to.include({ input_tokens: 11, output_tokens: 7, total_tokens: 18 });
    expect(scene.backend.bodies[0]?.messages[0]).to.deep.equal({ role: 'system', content: 'Be brief.' });
  });

  it('streams an answer', async () => {
    scene.backend.plays({ text: SPECIAL });
    const pieces: string[] = [];
    for await (const chunk of await model.stream('Hello')) pieces.push(chunk.text);
    expect(pieces.length).to.be.greaterThan(3);
    expect(pieces.join('')).to.equal(SPECIAL);
  });

  for (const stream of [false, true]) {
    it(`runs parallel tools ${stream ? 'in a stream' : 'without a stream'}`, async () => {
      const calls: ModelCall[] = ['Bonn', SPECIAL].map((city) => ({ name: 'weather', arguments: { city } }));
      scene.backend.plays({ text: 'I look.', calls }, after(`Rain in ${SPECIAL}`, { text: 'Rain, rain.' }));
      const answer = await runTools(model, [new HumanMessage('Weather?')], stream);
      expect(answer.text).to.equal('Rain, rain.');
      expect(scene.backend.bodies[1]?.messages.at(-3)).to.include({ role: 'assistant', content: 'I look.' });
    });
  }

  it('parses what a schema describes', async () => {
    scene.backend.plays({ text: JSON.stringify({ city: SPECIAL }) });
    const place = z.object({ city: z.string() });
    const answer = await model.withStructuredOutput(place, { method: 'jsonSchema' }).invoke('Where?');
    expect(answer).to.deep.equal({ city: SPECIAL });
    expect(scene.backend.bodies[0]?.response_format).to.have.property('type', 'json_schema');
  });

  it('parses what a schema describes by calling a function', async () => {
    scene.backend.plays(calling('extract', { city: SPECIAL }));
    const place = z.object({ city: z.string() });
    const answer = await model.withStructuredOutput(place, { method: 'functionCalling' }).invoke('Where?');
    expect(answer).to.deep.equal({ city: SPECIAL });
  });

  it('shows an image', async () => {
    scene.backend.plays({ text: 'A pixel.' });
    const content = [
      { type: 'text', text: 'What is it?' },
      { type: 'image_url', image_url: { url: PIXEL_URL } },
    ];
    expect((await model.invoke([new HumanMessage({ content })])).text).to.equal('A pixel.');
    expect(imagesOfLast(scene.backend.bodies[0])).to.deep.equal([PIXEL_URL]);
  });

  it('throws what the backend refuses, with its words', async () => {
    scene.backend.plays({ status: 400, error: { message: 'Not for this model.' } });
    const error: unknown = await model.invoke('Hello').catch((error: unknown) => error);
    expect(String(error)).to.include('Not for this model.');
  });

  it('throws when the stream of the backend breaks', async () => {
    scene.backend.plays({ text: 'Half an answ', ending: 'cut' });
    const error: unknown = await gather(model.stream('Hello')).catch((error: unknown) => error);
    expect(String(error)).to.include('broke in the middle of the answer');
  });
});

describe('@langchain/openai, where the model reasons', () => {
  const scene = useGateway(REASONING);

  for (const stream of [false, true]) {
    it(`gives the model its thoughts back ${stream ? 'in a stream' : 'without a stream'}`, async () => {
      const thought = `First I look. ${SPECIAL}`;
      scene.backend.plays(
        { reasoning: thought, ...calling('weather', { city: 'Bonn' }) },
        after('Rain in Bonn', { reasoning: 'Now I know.', text: 'It rains.' }),
      );
      const answer = await runTools(modelAt(scene.baseUrl), [new HumanMessage('Weather?')], stream);
      expect(answer.text).to.equal('It rains.');
      expect(scene.backend.bodies[1]?.messages.at(-2)).to.include({ role: 'assistant', reasoning_content: thought });
    });
  }
});

describe('@langchain/openai, whose history keeps no metadata', () => {
  for (const stream of [false, true]) {
    it(`gives back the state of interleaved thoughts ${stream ? 'in a stream' : 'without a stream'}`, async () => {
      const backend = await startScriptedBackend();
      backend.always(playState(STATE_BACKENDS['Claude with interleaved thoughts'] as StateBackend));
      const gateway = await openGateway({ UPSTREAM_BASE_URL: backend.baseUrl });
      try {
        const model = modelAt(`${gateway.url}/api/v1`);
        // The metadata has the whole output. Without it there is one reasoning item, with the seals of all of them joined.
        const forget = (answer: AIMessage): void => void (answer.response_metadata = {});
        const answer = await runTools(model, [new HumanMessage('Weather?')], stream, forget);
        expect(answer.text).to.equal('It rains.');
      } finally {
        await gateway.close();
        await backend.close();
      }
    });
  }
});

/** The loop which LangChain leaves to its users. Returns the last answer, which calls nothing more. */
async function runTools(
  model: ChatOpenAI,
  messages: readonly BaseMessage[],
  stream: boolean,
  keep: (answer: AIMessage) => void = () => undefined,
): Promise<AIMessage> {
  const bound = model.bindTools([weather]);
  const history = [...messages];
  for (;;) {
    const answer = stream ? await gather(bound.stream(history)) : await bound.invoke(history);
    if ((answer.tool_calls ?? []).length === 0) return answer;
    keep(answer);
    history.push(answer);
    for (const call of answer.tool_calls ?? []) {
      const output: unknown = await weather.invoke(call);
      if (!ToolMessage.isInstance(output)) throw new Error('a tool gave no message');
      history.push(output);
    }
  }
}

async function gather(streaming: Promise<AsyncIterable<AIMessageChunk>>): Promise<AIMessageChunk> {
  const stream = await streaming;
  const chunks: AIMessageChunk[] = [];
  for await (const chunk of stream) chunks.push(chunk);
  return chunks.reduce((whole, chunk) => whole.concat(chunk));
}

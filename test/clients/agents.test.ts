import { Agent, OpenAIProvider, OpenAIResponsesCompactionSession, Runner, tool } from '@openai/agents';
import { expect } from 'chai';
import OpenAI from 'openai';
import { z } from 'zod';
import { after, calling, imagesOfLast, SPECIAL } from './model-words.ts';
import { PIXEL_URL } from './pixel.ts';
import { REASONING, useGateway } from './scene.ts';
import { API_KEY, type ModelCall } from './strict-backend.ts';

const MODEL = 'test-model';

const weather = tool({
  name: 'weather',
  description: 'The weather of a city.',
  parameters: z.object({ city: z.string() }),
  execute: ({ city }) => `Rain in ${city}`,
});

function runnerFor(baseURL: string): Runner {
  const modelProvider = new OpenAIProvider({ baseURL, apiKey: API_KEY });
  return new Runner({ modelProvider, tracingDisabled: true });
}

describe('@openai/agents', () => {
  const scene = useGateway();
  let runner: Runner;

  beforeEach(() => {
    runner = runnerFor(scene.baseUrl);
  });

  it('gets an answer', async () => {
    scene.backend.plays({ text: SPECIAL });
    const result = await runner.run(new Agent({ name: 'Clerk', instructions: 'Be brief.', model: MODEL }), 'Hello');
    expect(result.finalOutput).to.equal(SPECIAL);
    expect(result.rawResponses[0]?.usage.totalTokens).to.equal(18);
    expect(scene.backend.bodies[0]?.messages[0]).to.deep.equal({ role: 'system', content: 'Be brief.' });
  });

  it('lets the gateway compact a session', async () => {
    const session = new OpenAIResponsesCompactionSession({
      client: new OpenAI({ baseURL: scene.baseUrl, apiKey: API_KEY }),
      // It wants the name of one of OpenAI's.
      model: 'gpt-5.5',
      // Nothing is stored here that an id could stand for.
      compactionMode: 'input',
      shouldTriggerCompaction: ({ sessionItems }) => sessionItems.length > 2,
    });
    scene.backend.plays(
      { calls: [{ name: 'weather', arguments: { city: 'Bonn' } }] },
      after('Rain in Bonn', { text: 'Take an umbrella.' }),
      after('[The conversation ends here.', { text: 'SUMMARY: it rains.' }),
      after('SUMMARY: it rains.', { text: 'Yes, rain.' }),
    );
    const clerk = new Agent({ name: 'Clerk', model: MODEL, tools: [weather] });
    await runner.run(clerk, 'Weather in Bonn?', { session });
    expect((await session.getItems()).map(({ type }) => type)).to.deep.equal(['message', 'compaction']);
    expect((await runner.run(clerk, 'Sure?', { session })).finalOutput).to.equal('Yes, rain.');
    expect(JSON.stringify(scene.backend.bodies[3]?.messages)).not.to.include('umbrella');
  });

  for (const stream of [false, true]) {
    it(`runs parallel tools ${stream ? 'in a stream' : 'without a stream'}`, async () => {
      const calls: ModelCall[] = ['Bonn', SPECIAL].map((city) => ({ name: 'weather', arguments: { city } }));
      scene.backend.plays({ text: 'I look.', calls }, after(`Rain in ${SPECIAL}`, { text: 'Rain, rain.' }));
      const clerk = new Agent({ name: 'Clerk', model: MODEL, tools: [weather] });
      expect(await finalOutput(clerk, 'Weather?', stream)).to.equal('Rain, rain.');
    });

    it(`hands over to another agent ${stream ? 'in a stream' : 'without a stream'}`, async () => {
      const expert = new Agent({ name: 'Expert', instructions: 'You know.', model: MODEL, tools: [weather] });
      const clerk = new Agent({ name: 'Clerk', instructions: 'You ask.', model: MODEL, handoffs: [expert] });
      scene.backend.plays(
        calling('transfer_to_Expert', {}),
        calling('weather', { city: 'Bonn' }),
        after('Rain in Bonn', { text: 'It rains.' }),
      );
      expect(await finalOutput(clerk, 'Weather?', stream)).to.equal('It rains.');
      const system = scene.backend.bodies.map(({ messages }) => messages[0]?.content);
      expect(system).to.deep.equal(['You ask.', 'You know.', 'You know.']);
    });
  }

  it('streams the text as it comes', async () => {
    scene.backend.plays({ text: SPECIAL });
    const result = await runner.run(new Agent({ name: 'Clerk', model: MODEL }), 'Hello', { stream: true });
    let text = '';
    for await (const piece of result.toTextStream()) text += piece;
    expect(text).to.equal(SPECIAL);
  });

  it('parses what a schema describes', async () => {
    const outputType = z.object({ city: z.string() });
    scene.backend.plays({ text: JSON.stringify({ city: SPECIAL }) });
    const result = await runner.run(new Agent({ name: 'Clerk', model: MODEL, outputType }), 'Where?');
    expect(result.finalOutput).to.deep.equal({ city: SPECIAL });
    expect(scene.backend.bodies[0]?.response_format).to.have.property('type', 'json_schema');
  });

  it('shows the model an image that a tool gives', async () => {
    const show = tool({
      name: 'show',
      description: 'Shows a pixel.',
      parameters: z.object({}),
      execute: () => ({ type: 'image' as const, image: PIXEL_URL }),
    });
    scene.backend.plays(calling('show', {}), { text: 'A pixel.' });
    const clerk = new Agent({ name: 'Clerk', model: MODEL, tools: [show] });
    expect(await finalOutput(clerk, 'What is it?', false)).to.equal('A pixel.');
    expect(imagesOfLast(scene.backend.bodies[1])).to.deep.equal([PIXEL_URL]);
  });

  it('goes on with a conversation', async () => {
    const clerk = new Agent({ name: 'Clerk', model: MODEL });
    scene.backend.plays({ text: SPECIAL }, { text: 'Two.' });
    const first = await runner.run(clerk, 'First');
    const second = await runner.run(clerk, [...first.history, { role: 'user', content: 'Second' }]);
    expect(second.finalOutput).to.equal('Two.');
    expect(scene.backend.bodies[1]?.messages).to.deep.equal([
      { role: 'user', content: 'First' },
      { role: 'assistant', content: SPECIAL },
      { role: 'user', content: 'Second' },
    ]);
  });

  const failures = [
    { name: 'refuses', answer: { status: 400, error: { message: 'Not for this model.' } }, says: /Not for this model/ },
    { name: 'breaks off', answer: { text: 'Half an answ', ending: 'cut' }, says: /backend/ },
  ] as const;
  for (const { name, answer, says } of failures) {
    it(`throws in a stream when the backend ${name}`, async () => {
      scene.backend.plays(answer);
      const clerk = new Agent({ name: 'Clerk', model: MODEL });
      const said = await finalOutput(clerk, 'Hello', true).catch((error: unknown) => String(error));
      expect(said).to.match(says);
    });
  }

  async function finalOutput(agent: Agent, input: string, stream: boolean): Promise<unknown> {
    if (!stream) return (await runner.run(agent, input)).finalOutput;
    const result = await runner.run(agent, input, { stream: true });
    await result.completed;
    return result.finalOutput;
  }
});

describe('@openai/agents, where the model reasons', () => {
  const scene = useGateway(REASONING);

  it('gives the model its thoughts back beside their call', async () => {
    scene.backend.plays(
      { reasoning: `First I look. ${SPECIAL}`, ...calling('weather', { city: 'Bonn' }) },
      after('Rain in Bonn', { reasoning: 'Now I know.', text: 'It rains.' }),
    );
    const clerk = new Agent({ name: 'Clerk', model: MODEL, tools: [weather] });
    const result = await runnerFor(scene.baseUrl).run(clerk, 'Weather?');
    expect(result.finalOutput).to.equal('It rains.');
    const first = result.newItems.find((item) => item.type === 'reasoning_item');
    expect(first?.rawItem.content.map(({ text }) => text)).to.deep.equal([`First I look. ${SPECIAL}`]);
    expect(scene.backend.bodies[1]?.messages.at(-2)).to.include({
      role: 'assistant',
      reasoning_content: `First I look. ${SPECIAL}`,
    });
  });
});

import { createOpenResponses } from '@ai-sdk/open-responses';
import { createOpenAI } from '@ai-sdk/openai';
import {
  APICallError,
  generateText,
  isStepCount,
  Output,
  streamText,
  tool,
  type LanguageModel,
  type ModelMessage,
} from 'ai';
import { expect } from 'chai';
import { z } from 'zod';
import type { Environment } from '../../src/config/settings.ts';
import { after, calling, imagesOfLast, SPECIAL } from './model-words.ts';
import { PIXEL, PIXEL_URL } from './pixel.ts';
import { REASONING, useGateway } from './scene.ts';
import { API_KEY, type ModelCall } from './strict-backend.ts';

const MODEL = 'test-model';

interface Provider {
  readonly name: string;
  readonly model: (baseUrl: string) => LanguageModel;
  readonly providerOptions: NonNullable<Parameters<typeof generateText>[0]['providerOptions']>;
  /** What the gateway needs for it. */
  readonly settings: Environment;
}

type Common = Pick<Provider, 'providerOptions'> & { readonly model: LanguageModel; readonly maxRetries: number };

const OPENAI = (baseURL: string): LanguageModel => createOpenAI({ baseURL, apiKey: API_KEY }).responses(MODEL);

const PROVIDERS: readonly Provider[] = [
  {
    name: '@ai-sdk/openai with store: false',
    model: OPENAI,
    providerOptions: { openai: { store: false, include: ['reasoning.encrypted_content'] } },
    settings: {},
  },
  {
    name: '@ai-sdk/openai with its defaults, where the gateway remembers items',
    model: OPENAI,
    providerOptions: {},
    settings: { ITEM_MEMORY_TTL_S: '60' },
  },
  {
    name: '@ai-sdk/open-responses',
    model: (baseUrl) => createOpenResponses({ name: 'gateway', url: `${baseUrl}/responses`, apiKey: API_KEY })(MODEL),
    providerOptions: {},
    settings: {},
  },
];

const weather = tool({
  description: 'The weather of a city.',
  inputSchema: z.object({ city: z.string() }),
  execute: ({ city }) => `Rain in ${city}`,
});
const WITH_TOOLS = { tools: { weather }, stopWhen: isStepCount(5) };

for (const { name, model, providerOptions, settings } of PROVIDERS) {
  describe(name, () => {
    const scene = useGateway({ settings });
    let common: Common;

    beforeEach(() => {
      common = { model: model(scene.baseUrl), providerOptions, maxRetries: 0 };
    });

    it('generates text', async () => {
      scene.backend.plays({ text: SPECIAL });
      const { text, usage, finishReason } = await generateText({
        ...common,
        instructions: 'Be brief.',
        prompt: 'Hello',
      });
      expect({ text, finishReason }).to.deep.equal({ text: SPECIAL, finishReason: 'stop' });
      expect(usage).to.include({ inputTokens: 11, outputTokens: 7 });
      expect(scene.backend.bodies[0]?.messages[0]).to.deep.equal({ role: 'system', content: 'Be brief.' });
    });

    it('streams text as it comes', async () => {
      scene.backend.plays({ text: SPECIAL });
      const { textStream, finishReason } = streamText({ ...common, prompt: 'Hello' });
      const pieces = await collect(textStream);
      expect(pieces.length).to.be.greaterThan(3);
      expect(pieces.join('')).to.equal(SPECIAL);
      expect(await finishReason).to.equal('stop');
    });

    describe('runs parallel tools, with text beside their calls,', () => {
      const calls: ModelCall[] = ['Bonn', SPECIAL].map((city) => ({ name: 'weather', arguments: { city } }));
      beforeEach(() => {
        scene.backend.plays({ text: SPECIAL, calls }, after(`Rain in ${SPECIAL}`, { text: 'Rain, rain.' }));
      });

      it('in steps', async () => {
        const { text, steps } = await generateText({ ...common, ...WITH_TOOLS, prompt: 'Weather?' });
        expect({ text, steps: steps.length }).to.deep.equal({ text: 'Rain, rain.', steps: 2 });
        expect(scene.backend.bodies[1]?.messages.at(-3)).to.include({ role: 'assistant', content: SPECIAL });
      });

      it('in a stream', async () => {
        const result = streamText({ ...common, ...WITH_TOOLS, prompt: 'Weather?' });
        expect((await collect(result.textStream)).join('')).to.equal(`${SPECIAL}Rain, rain.`);
        expect(scene.backend.bodies[1]?.messages.at(-3)).to.include({ role: 'assistant', content: SPECIAL });
      });
    });

    it('goes on with a conversation', async () => {
      scene.backend.plays({ text: SPECIAL }, { text: 'Two.' });
      const first: ModelMessage = { role: 'user', content: 'First' };
      const { responseMessages } = await generateText({ ...common, messages: [first] });
      const messages = [first, ...responseMessages, { role: 'user', content: 'Second' } as const];
      expect((await generateText({ ...common, messages })).text).to.equal('Two.');
      expect(scene.backend.bodies[1]?.messages).to.deep.equal([
        first,
        { role: 'assistant', content: SPECIAL },
        { role: 'user', content: 'Second' },
      ]);
    });

    it('generates what a schema describes', async () => {
      scene.backend.plays({ text: JSON.stringify({ city: SPECIAL }) });
      const output = Output.object({ schema: z.object({ city: z.string() }) });
      const result = await generateText({ ...common, output, prompt: 'Where?' });
      expect(result.output).to.deep.equal({ city: SPECIAL });
      expect(scene.backend.bodies[0]?.response_format).to.have.property('type', 'json_schema');
    });

    it('shows an image', async () => {
      scene.backend.plays({ text: 'A pixel.' });
      const image = { type: 'file', mediaType: 'image/png', data: Buffer.from(PIXEL, 'base64') } as const;
      const messages: ModelMessage[] = [{ role: 'user', content: [{ type: 'text', text: 'What is it?' }, image] }];
      expect((await generateText({ ...common, messages })).text).to.equal('A pixel.');
      expect(imagesOfLast(scene.backend.bodies[0])).to.deep.equal([PIXEL_URL]);
    });

    it('sends a file', async () => {
      scene.backend.plays({ text: 'A file.' });
      const file = {
        type: 'file',
        mediaType: 'application/pdf',
        filename: 'a.pdf',
        data: Buffer.from('%PDF-'),
      } as const;
      const messages: ModelMessage[] = [{ role: 'user', content: [{ type: 'text', text: 'What is it?' }, file] }];
      expect((await generateText({ ...common, messages })).text).to.equal('A file.');
      expect(scene.backend.bodies[0]?.messages.at(-1)?.content).to.deep.include({
        type: 'file',
        file: {
          filename: 'a.pdf',
          file_data: `data:application/pdf;base64,${Buffer.from('%PDF-').toString('base64')}`,
        },
      });
    });

    it('throws what the backend refuses, with its words', async () => {
      scene.backend.plays({ status: 400, error: { message: 'Not for this model.' } });
      const error = await errorOf(generateText({ ...common, prompt: 'Hello' }));
      expect(APICallError.isInstance(error)).to.equal(true);
      expect(error).to.include({ statusCode: 400, message: 'Not for this model.', isRetryable: false });
    });

    it('reports that the stream of the backend broke', async () => {
      scene.backend.plays({ text: 'Half an answ', ending: 'cut' });
      const errors: unknown[] = [];
      const onError = ({ error }: { error: unknown }): void => void errors.push(error);
      const { textStream, finishReason } = streamText({ ...common, prompt: 'Hello', onError });
      await collect(textStream);
      expect(await finishReason).to.equal('error');
      expect(String(errors[0])).to.include('broke in the middle of the answer');
    });
  });

  describe(`${name}, where the model reasons`, () => {
    const scene = useGateway({ settings: { ...settings, ...REASONING.settings }, rules: REASONING.rules });

    it('gives the model its thoughts back beside their call', async () => {
      const thought = `First I look. ${SPECIAL}`;
      scene.backend.plays(
        { reasoning: thought, ...calling('weather', { city: 'Bonn' }) },
        after('Rain in Bonn', { reasoning: 'Now I know.', text: 'It rains.' }),
      );
      const { text, steps } = await generateText({
        model: model(scene.baseUrl),
        providerOptions,
        ...WITH_TOOLS,
        prompt: 'Weather?',
      });
      expect(text).to.equal('It rains.');
      expect(steps.map(({ reasoningText }) => reasoningText)).to.deep.equal([thought, 'Now I know.']);
      expect(scene.backend.bodies[1]?.messages.at(-2)).to.include({ role: 'assistant', reasoning_content: thought });
    });
  });
}

describe('@ai-sdk/openai, where a conversation becomes too long', () => {
  const scene = useGateway();

  for (const { name, providerOptions } of [
    { name: 'on the way', providerOptions: { contextManagement: [{ type: 'compaction', compactThreshold: 1000 }] } },
    { name: 'by an item', providerOptions: { compactionTrigger: true } },
  ] as const) {
    it(`has it compacted ${name}, and goes on with that`, async () => {
      const history: ModelMessage[] = [
        { role: 'user', content: 'Find the cat.' },
        { role: 'assistant', content: 'I look. '.repeat(1000) },
        { role: 'user', content: 'And now?' },
        { role: 'assistant', content: 'Still not.' },
        { role: 'user', content: 'Go on.' },
      ];
      const asked = { model: OPENAI(scene.baseUrl), maxRetries: 0 };
      const isOnTheWay = 'contextManagement' in providerOptions;
      scene.backend.plays(
        after('[The conversation ends here.', { text: 'SUMMARY: no cat.' }),
        ...(isOnTheWay ? [{ text: 'In the kitchen.' }] : []),
        ({ messages }) => ({ text: JSON.stringify(messages).includes('SUMMARY: no cat.') ? 'I remember.' : 'What?' }),
      );
      const first = await generateText({
        ...asked,
        messages: history,
        providerOptions: { openai: { store: false, ...providerOptions } },
      });
      expect(first.text).to.equal(isOnTheWay ? 'In the kitchen.' : '');
      const { text } = await generateText({
        ...asked,
        messages: [...first.responseMessages, { role: 'user', content: 'Where?' }],
        providerOptions: { openai: { store: false } },
      });
      expect(text).to.equal('I remember.');
    });
  }
});

describe('@ai-sdk/openai with its default for store', () => {
  const scene = useGateway();

  it('is told what to set when it refers to what the gateway does not remember', async () => {
    scene.backend.plays({ text: 'I look.', calls: [{ name: 'weather', arguments: { city: 'Bonn' } }] });
    const request = { model: OPENAI(scene.baseUrl), ...WITH_TOOLS, prompt: 'Weather?' };
    expect(await errorOf(generateText(request)))
      .to.have.property('message')
      .that.matches(/"store": false/);
  });
});

async function collect(stream: AsyncIterable<string>): Promise<string[]> {
  const pieces: string[] = [];
  for await (const piece of stream) pieces.push(piece);
  return pieces;
}

async function errorOf(promise: PromiseLike<unknown>): Promise<unknown> {
  try {
    await promise;
  } catch (error) {
    return error;
  }
  throw new Error('it did not throw');
}

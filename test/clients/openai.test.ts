import { expect } from 'chai';
import OpenAI, { APIConnectionError, APIError, AuthenticationError, BadRequestError, RateLimitError } from 'openai';
import { zodTextFormat } from 'openai/helpers/zod';
import type { Response, ResponseInput } from 'openai/resources/responses/responses';
import { z } from 'zod';
import { after, imagesOfLast, SPECIAL } from './model-words.ts';
import { PIXEL_URL } from './pixel.ts';
import { REASONING, useGateway } from './scene.ts';
import { API_KEY, type ModelCall } from './strict-backend.ts';
import { WEATHER } from './weather.ts';

const MODEL = 'test-model';

describe('openai', () => {
  const scene = useGateway();
  let client: OpenAI;

  beforeEach(() => {
    client = new OpenAI({ baseURL: scene.baseUrl, apiKey: API_KEY });
  });

  it('gets an answer', async () => {
    scene.backend.plays({ text: SPECIAL });
    const response = await client.responses.create({ model: MODEL, instructions: 'Be brief.', input: 'Hello' });
    expect(response.output_text).to.equal(SPECIAL);
    expect(response.usage?.total_tokens).to.equal(18);
  });

  it('streams an answer', async () => {
    scene.backend.plays({ text: SPECIAL });
    let text = '';
    for await (const event of await client.responses.create({ model: MODEL, input: 'Hello', stream: true })) {
      if (event.type === 'response.output_text.delta') text += event.delta;
    }
    expect(text).to.equal(SPECIAL);
  });

  it('runs parallel tools in a loop', async () => {
    const cities: ModelCall[] = ['Bonn', SPECIAL].map((city) => ({ name: 'weather', arguments: { city } }));
    scene.backend.plays({ text: 'I look.', calls: cities }, after(`Rain in ${SPECIAL}`, { text: 'Rain, rain.' }));
    const input: ResponseInput = [{ role: 'user', content: 'Weather?' }];
    let response: Response;
    for (;;) {
      response = await client.responses.stream({ model: MODEL, input, tools: [WEATHER] }).finalResponse();
      const calls = response.output.filter((item) => item.type === 'function_call');
      if (calls.length === 0) break;
      input.push(...toInput(response));
      for (const call of calls) {
        const { city } = JSON.parse(call.arguments) as { city: string };
        input.push({ type: 'function_call_output', call_id: call.call_id, output: `Rain in ${city}` });
      }
    }
    expect(response.output_text).to.equal('Rain, rain.');
  });

  it('parses what a schema describes', async () => {
    scene.backend.plays({ text: JSON.stringify({ city: SPECIAL }) });
    const format = zodTextFormat(z.object({ city: z.string() }), 'place');
    const { output_parsed: place } = await client.responses.parse({ model: MODEL, input: 'Where?', text: { format } });
    expect(place).to.deep.equal({ city: SPECIAL });
    expect(scene.backend.bodies[0]?.response_format).to.have.nested.property('json_schema.name', 'place');
  });

  it('shows an image', async () => {
    scene.backend.plays({ text: 'A pixel.' });
    const content = [
      { type: 'input_text', text: 'What is it?' } as const,
      { type: 'input_image', image_url: PIXEL_URL, detail: 'auto' } as const,
    ];
    const response = await client.responses.create({ model: MODEL, input: [{ role: 'user', content }] });
    expect(response.output_text).to.equal('A pixel.');
    expect(imagesOfLast(scene.backend.bodies[0])).to.deep.equal([PIXEL_URL]);
  });

  for (const stream of [false, true]) {
    it(`throws what the backend refuses as its own types of errors, ${stream ? 'with' : 'without'} stream`, async () => {
      const request = { model: MODEL, input: 'Hello', stream };
      const stranger = client.withOptions({ apiKey: 'another' });
      expect(await errorOf(stranger.responses.create(request))).to.be.instanceOf(AuthenticationError);

      scene.backend.plays({ status: 400, error: { message: 'The context length is exceeded.' } });
      const tooLong = await errorOf(client.responses.create(request));
      expect(tooLong).to.be.instanceOf(BadRequestError);
      expect(tooLong).to.include({ status: 400, code: 'context_length_exceeded' });

      scene.backend.plays({ status: 429, error: { message: 'Slow down.' } });
      const patient = client.withOptions({ maxRetries: 0 });
      expect(await errorOf(patient.responses.create(request))).to.be.instanceOf(RateLimitError);
    });
  }

  it('tries again by itself', async () => {
    const headers = { 'retry-after': '0' };
    scene.backend.plays({ status: 429, error: { message: 'Slow down.' }, headers }, { text: 'Now.' });
    const response = await client.responses.create({ model: MODEL, input: 'Hello' });
    expect(response.output_text).to.equal('Now.');
  });

  it('throws when the stream of the backend breaks', async () => {
    scene.backend.plays({ text: 'Half an answ', ending: 'cut' });
    const error = await errorOf(client.responses.stream({ model: MODEL, input: 'Hello' }).finalResponse());
    expect(error).to.be.instanceOf(APIError).and.not.instanceOf(APIConnectionError);
  });

  it('stops the model when it is aborted', async () => {
    scene.backend.plays({ text: 'A long answ', ending: 'silence' });
    const stream = client.responses.stream({ model: MODEL, input: 'Hello' });
    stream.on('response.output_text.delta', () => stream.abort());
    await errorOf(stream.finalResponse());
    const request = await scene.backend.request(1);
    expect((await request.closed).aborted).to.equal(true);
  });
});

describe('openai, where the model reasons', () => {
  const scene = useGateway(REASONING);

  it('shows the thoughts as a summary, and gives them back sealed', async () => {
    scene.backend.plays({ reasoning: `Hm. ${SPECIAL}`, text: 'One.' }, { text: 'Two.' });
    const client = new OpenAI({ baseURL: scene.baseUrl, apiKey: API_KEY });
    const input: ResponseInput = [{ role: 'user', content: 'First' }];
    const request = { model: MODEL, include: ['reasoning.encrypted_content' as const] };
    const first = await client.responses.create({ ...request, input });
    const thoughts = first.output.flatMap((item) => (item.type === 'reasoning' ? item.summary : []));
    expect(thoughts.map(({ text }) => text).join('')).to.equal(`Hm. ${SPECIAL}`);

    const sealed = toInput(first).map((item) => (item.type === 'reasoning' ? { ...item, summary: [] } : item));
    const second = await client.responses.create({
      ...request,
      input: [...input, ...sealed, { role: 'user', content: 'Second' }],
    });
    expect(second.output_text).to.equal('Two.');
    expect(scene.backend.bodies[1]?.messages[1]).to.deep.equal({
      role: 'assistant',
      content: 'One.',
      reasoning_content: `Hm. ${SPECIAL}`,
    });
  });
});

/** What the model said goes back as it came; the types of the SDK forbid it for an item that no reply here holds. */
function toInput({ output }: Response): ResponseInput {
  return output as ResponseInput;
}

async function errorOf(promise: Promise<unknown>): Promise<unknown> {
  try {
    await promise;
  } catch (error) {
    return error;
  }
  throw new Error('it did not throw');
}

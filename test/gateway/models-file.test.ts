/** What the operator says of models in MODELS_FILE, from the request to what the backend and the caller get. */

import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { answer } from '../records/chunks.ts';
import { callerOf, readError } from '../records/caller.ts';
import { startScriptedBackend, type ScriptedBackend } from '../support/backend.ts';
import { openGateway, type TestGateway } from '../support/gateway.ts';
import { openManagedGateway } from '../support/managed.ts';
import { useRealSockets } from '../support/real-sockets.ts';
import { speakTo } from '../support/web-socket.ts';
import { responseOf } from '../support/web-socket-scene.ts';

const SETTINGS = {
  defaults: { temperature: 0.6, top_k: 20, max_output_tokens: 300, reasoning: { effort: 'high' } },
  overrides: { chat_template_kwargs: { enable_thinking: true }, top_p: 0.9 },
  context_window: 40_960,
  input: ['text', 'image'],
  efforts: ['low', 'medium'],
};
const DESCRIPTION = {
  context_window: 40_960,
  input_modalities: ['text', 'image'],
  reasoning_efforts: ['low', 'medium'],
  default_reasoning_effort: 'medium',
};
const HEADERS = { authorization: 'Bearer k', 'content-type': 'application/json' };
const LIST = { object: 'list', data: [{ id: 'qwen3-8b', object: 'model', max_model_len: 8 }, { id: 'other' }] };

describe('MODELS_FILE', () => {
  useRealSockets();

  let folder: string;
  let backend: ScriptedBackend;
  let gateway: TestGateway;
  let env: Readonly<Record<string, string>>;

  beforeEach(async () => {
    folder = mkdtempSync(join(tmpdir(), 'models-'));
    backend = await startScriptedBackend();
    backend.always(answer('Hello'));
    write({ 'qwen3-*': SETTINGS });
    env = {
      UPSTREAM_BASE_URL: backend.baseUrl,
      UPSTREAM_DIALECT: 'vllm',
      MODEL_ALIASES: '{"coder": "qwen3-8b"}',
      MODELS_FILE: join(folder, 'models.json'),
    };
    gateway = await openGateway(env);
  });

  afterEach(async () => {
    await gateway.close();
    await backend.close();
    rmSync(folder, { recursive: true, force: true });
  });

  function write(models: object): void {
    writeFileSync(join(folder, 'models.json'), JSON.stringify({ models }));
  }

  const sent = () => (backend.requests.at(-1)?.body ?? {}) as Readonly<Record<string, unknown>>;

  it('fills and replaces parameters, echoes what was used and names what had no effect', async () => {
    const reply = await callerOf(gateway.url).create({ model: 'coder', input: 'Hi', temperature: 0, top_p: 0.1 });
    expect(await reply.json()).to.deep.include({
      model: 'coder',
      temperature: 0,
      top_p: 0.9,
      max_output_tokens: 300,
      reasoning: { effort: 'medium', summary: null },
    });
    expect(reply.headers.get('x-ignored-parameters')).to.equal('top_p');
    expect(sent()).to.deep.include({
      model: 'qwen3-8b',
      temperature: 0,
      top_p: 0.9,
      top_k: 20,
      max_tokens: 300,
      reasoning_effort: 'medium',
      chat_template_kwargs: { enable_thinking: true },
    });
  });

  it('leaves other models and chat completions alone', async () => {
    await callerOf(gateway.url).create({ model: 'other', input: 'Hi' });
    expect(sent()).to.have.all.keys('model', 'messages', 'stream');
    const body = JSON.stringify({ model: 'qwen3-8b', messages: [{ role: 'user', content: 'Hi' }] });
    await (await callerOf(gateway.url).complete(body)).text();
    expect(JSON.stringify(sent())).to.equal(body);
  });

  it('holds from the next request on when it is read again', async () => {
    write({ '*': { overrides: { temperature: 1.5 } } });
    gateway.reload();
    await callerOf(gateway.url).create({ model: 'qwen3-8b', input: 'Hi', temperature: 0 });
    expect(sent()).to.have.all.keys('model', 'messages', 'stream', 'temperature').and.to.include({ temperature: 1.5 });
    write({ '*': { overrides: { tools: [] } } });
    gateway.reload();
    await callerOf(gateway.url).create({ model: 'qwen3-8b', input: 'Hi' });
    expect(sent()).to.include({ temperature: 1.5 });
  });

  it('holds for each frame of a WebSocket, small and large', async () => {
    const speaker = await speakTo(gateway.url);
    let previous: object = {};
    for (const input of ['Hi', 'x'.repeat(300_000)]) {
      const { id, ...response } = responseOf(
        await speaker.ask({ model: 'coder', input, top_p: 0.1, chat_template_kwargs: { tools: null }, ...previous }),
      );
      expect(response).to.deep.include({ model: 'coder', temperature: 0.6, top_p: 0.9, max_output_tokens: 300 });
      expect(sent()).to.deep.include({
        model: 'qwen3-8b',
        temperature: 0.6,
        top_p: 0.9,
        top_k: 20,
        reasoning_effort: 'medium',
        chat_template_kwargs: { tools: null, enable_thinking: true },
      });
      previous = { previous_response_id: id };
    }
    write({ '*': { overrides: { temperature: 1.5 } } });
    gateway.reload();
    responseOf(await speaker.ask({ model: 'coder', input: 'And?', ...previous }));
    expect(sent()).to.have.all.keys('model', 'messages', 'stream', 'stream_options', 'temperature');
    expect(sent()).to.include({ temperature: 1.5 });
    speaker.close();
    await speaker.closed;
  });

  it('has limits that are reserved as those of a request are', async () => {
    write({ m: SETTINGS });
    const managed = await openManagedGateway(env);
    try {
      // 300 tokens of output cost 3,000.
      const { secret } = await managed.issue({ creditsMicro: 2900 });
      const caller = callerOf(managed.url, secret);
      const refused = await caller.create({ model: 'm', input: 'Hi' });
      expect(await readError(refused)).to.include({ code: 'insufficient_credits' });
      expect(backend.requests).to.deep.equal([]);
      expect((await caller.create({ model: 'm', input: 'Hi', max_output_tokens: 100 })).status).to.equal(200);
      expect(sent()).to.include({ max_tokens: 100, top_k: 20 });
    } finally {
      await managed.close();
    }
  });

  it('describes models in the list, to Codex too, and beside a count of tokens', async () => {
    backend.always({ json: LIST });
    const list = await gateway.get('/v1/models');
    const [model, other] = LIST.data;
    expect(await list.json()).to.deep.equal({
      ...LIST,
      data: [{ ...model, ...DESCRIPTION }, other, { ...model, id: 'coder', ...DESCRIPTION }],
    });
    const codex = await gateway.get('/v1/models?client_version=0.169.0');
    const { models } = (await codex.json()) as { models: readonly Readonly<Record<string, unknown>>[] };
    expect(models.find(({ slug }) => slug === 'coder')).to.deep.include({
      context_window: 40_960,
      input_modalities: ['text', 'image'],
      default_reasoning_level: 'medium',
      supported_reasoning_levels: ['low', 'medium'].map((effort) => ({ effort, description: `Effort: ${effort}` })),
    });
    backend.always({ json: model ?? {} });
    for (const name of ['qwen3-8b', 'coder']) {
      const found = await gateway.get(`/v1/models/${name}`);
      expect(await found.json()).to.deep.equal({ ...model, id: name, ...DESCRIPTION });
    }
    const counted = await fetch(`${gateway.url}/api/v1/responses/input_tokens`, {
      method: 'POST',
      headers: HEADERS,
      body: JSON.stringify({ model: 'coder', input: 'Hi' }),
    });
    expect(await counted.json()).to.include({ context_window: 40_960 });
  });
});

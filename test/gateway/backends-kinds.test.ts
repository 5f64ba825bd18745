/** Backends of one model that differ in dialect and in the name that they know: each gets the request that suits it. */

import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import type { ResponseResource } from '../../src/contract/types.ts';
import type { ChatRequest } from '../../src/core/chat.ts';
import { callerOf, type Caller } from '../records/caller.ts';
import { answer, stream, text, USAGE } from '../records/chunks.ts';
import { startScriptedBackend, type Reply, type ScriptedBackend } from '../support/backend.ts';
import { openGateway, type TestGateway } from '../support/gateway.ts';
import { openManagedGateway, type ManagedGateway } from '../support/managed.ts';
import { useRealSockets } from '../support/real-sockets.ts';
import { speakTo } from '../support/web-socket.ts';
import { responseOf } from '../support/web-socket-scene.ts';

const BUSY: Reply = { status: 503, json: { error: { message: 'not now' } } };
/** A thread prepares it. */
const LARGE = 'x'.repeat(2 * 1024 * 1024 + 1);

describe('backends of different kinds', () => {
  useRealSockets();

  let folder: string;
  let file: string;
  let generic: ScriptedBackend;
  let openai: ScriptedBackend;
  let gateway: TestGateway;
  let caller: Caller;

  beforeEach(async () => {
    folder = mkdtempSync(join(tmpdir(), 'kinds-'));
    file = join(folder, 'backends.json');
    [generic, openai] = [await startScriptedBackend(), await startScriptedBackend()];
    generic.always(answer('from generic'));
    openai.always(answer('from openai'));
    write();
  });

  afterEach(async () => {
    await gateway.close();
    await Promise.all([generic.close(), openai.close()]);
    rmSync(folder, { recursive: true, force: true });
  });

  /** All but one of a hundred thousand conversations go to `a` first. */
  function write(ofGeneric: object = {}, ofOpenai: object = {}): void {
    const backends = [
      { name: 'a', base_url: generic.baseUrl, dialect: 'generic', aliases: { m: 'qwen' }, weight: 1000, ...ofGeneric },
      { name: 'b', base_url: openai.baseUrl, dialect: 'openai', aliases: { m: 'gpt-x' }, weight: 0.01, ...ofOpenai },
    ];
    writeFileSync(file, JSON.stringify({ backends, expose_upstream: true }));
  }

  async function open(settings: Readonly<Record<string, string>> = {}): Promise<void> {
    gateway = await openGateway({ BACKENDS_FILE: file, ...settings });
    caller = callerOf(gateway.url);
  }

  const REQUEST = { model: 'm', input: 'Hello', max_output_tokens: 50 };

  for (const [how, input, stream] of [
    ['a small request', 'Hello', false],
    ['a large one', LARGE, true],
  ] as const) {
    it(`get ${how} in their own form (stream: ${stream})`, async () => {
      await open();
      generic.reply(BUSY);
      const reply = await caller.create({ ...REQUEST, input, stream });
      expect(await reply.text()).to.contain('from openai');
      expect(reply.headers.get('x-upstream')).to.equal('b');
      expect(generic.requests[0]?.body).to.include({ model: 'qwen', max_tokens: 50 });
      expect(openai.requests[0]?.body).to.include({ model: 'gpt-x', max_completion_tokens: 50 });
      expect(openai.requests[0]?.body).not.to.have.property('max_tokens');
    });
  }

  for (const [how, input] of [
    ['small', 'Hello'],
    ['large', LARGE],
  ] as const) {
    it(`get a ${how} frame of a WebSocket in their own form, with its history`, async () => {
      await open();
      const speaker = await speakTo(gateway.url);
      const first = responseOf(await speaker.ask({ ...REQUEST, input }));
      generic.reply(BUSY);
      const second = responseOf(await speaker.ask({ ...REQUEST, previous_response_id: first.id }));
      speaker.close();
      expect([first.output_text, second.output_text]).to.deep.equal(['from generic', 'from openai']);
      const body = openai.requests[0]?.body as ChatRequest | undefined;
      expect(body?.messages.map(({ role }) => role)).to.deep.equal(['user', 'assistant', 'user']);
      expect(openai.requests[0]?.body).to.include({ model: 'gpt-x', max_completion_tokens: 50 });
    });
  }

  it('are skipped where they cannot do what the request asks for', async () => {
    write({}, { models: ['another'] });
    await open();
    generic.reply(BUSY);
    expect((await caller.create(REQUEST)).status).to.equal(503);
    expect(openai.requests.length).to.equal(0);
  });

  it('give state back to the kind and model that made it alone, and name what is left out', async () => {
    await open();
    const details = [{ type: 'reasoning.encrypted', data: 'opaque' }];
    const message = { role: 'assistant', content: 'Hi', reasoning_details: details };
    generic.reply({ json: { choices: [{ index: 0, message, finish_reason: 'stop' }], usage: USAGE } });
    const first = (await (await caller.create(REQUEST)).json()) as ResponseResource;
    const input = [{ role: 'user', content: 'Hello' }, ...first.output, { role: 'user', content: 'And now?' }];
    const same = await caller.create({ ...REQUEST, input });
    expect(JSON.stringify(generic.requests[1]?.body)).to.contain('"data":"opaque"');
    expect(same.headers.get('x-dropped-items')).to.equal(null);
    generic.reply(BUSY);
    const other = await caller.create({ ...REQUEST, input });
    expect(await other.text()).to.contain('from openai');
    expect(JSON.stringify(openai.requests[0]?.body)).to.contain('And now?').and.not.to.contain('opaque');
    expect(other.headers.get('x-dropped-items')).to.equal('encrypted_content');
  });

  it('are left as soon as the caller cancels, whichever runs at that moment', async () => {
    await open();
    generic.reply(BUSY);
    openai.reply(stream([text('Hel')], 'hang'));
    const reply = await caller.create({ ...REQUEST, stream: true });
    const rest = reply.text();
    await openai.request(1);
    const id = String(reply.headers.get('x-request-id'));
    expect((await caller.cancel(id)).status).to.equal(202);
    expect((await openai.requests[0]?.closed)?.aborted).to.equal(true);
    expect(await rest).to.contain('response.failed');
    expect(await caller.final(id)).to.include({ status: 'cancelled', upstream: 'b' });
  });

  it('are left as soon as the caller leaves', async () => {
    await open();
    generic.reply(BUSY);
    openai.reply(stream([text('Hel')], 'hang'));
    const gone = new AbortController();
    const reply = await caller.create({ ...REQUEST, stream: true }, { signal: gone.signal });
    await openai.request(1);
    gone.abort();
    expect((await openai.requests[0]?.closed)?.aborted).to.equal(true);
    const record = await caller.final(String(reply.headers.get('x-request-id')));
    expect(record).to.deep.include({ status: 'cancelled', upstream: 'b' });
  });

  describe('of managed keys', () => {
    const HELD_AND_RUN = { qwen: { input: '2', output: '10' }, 'gpt-x': { input: '1', output: '5' } };

    async function openPriced(
      models: object,
      settings: Readonly<Record<string, string>> = {},
    ): Promise<ManagedGateway> {
      const prices = join(folder, 'prices.json');
      writeFileSync(prices, JSON.stringify({ currency: 'USD', models }));
      const managed = await openManagedGateway({
        BACKENDS_FILE: file,
        PRICES_FILE: prices,
        ...settings,
      });
      gateway = managed;
      return managed;
    }

    for (const [what, path, body] of [
      ['responses', 'create', REQUEST],
      ['chat completions', 'complete', { model: 'm', max_tokens: 50, messages: [{ role: 'user', content: 'Hi' }] }],
    ] as const) {
      it(`cost what the model costs that ran, for ${what}`, async () => {
        const managed = await openPriced(HELD_AND_RUN);
        const { secret } = await managed.issue({ creditsMicro: 1_000_000 });
        const asking = callerOf(managed.url, secret);
        await (await asking[path](body)).text();
        generic.reply(BUSY);
        const moved = await asking[path](body);
        await moved.text();
        expect(openai.requests[0]?.body).to.include({ model: 'gpt-x', max_completion_tokens: 50 });
        const { data } = (await (await asking.get('/v1/requests')).json()) as { data: { cost: number }[] };
        const cost = (input: number, output: number): number =>
          USAGE.prompt_tokens * input + USAGE.completion_tokens * output;
        expect(data.map((record) => record.cost)).to.deep.equal([cost(1, 5), cost(2, 10)]);
      });
    }

    it('are not asked where they cost more than is held, or where the key may not use their model', async () => {
      const managed = await openPriced({ ...HELD_AND_RUN, qwen: { input: '0', output: '1' } });
      const { secret } = await managed.issue({ creditsMicro: 1_000_000 });
      generic.reply(BUSY);
      expect((await callerOf(managed.url, secret).create(REQUEST)).status).to.equal(503);
      expect(openai.requests.length).to.equal(0);
    });

    for (const [limit, how] of [
      [32_000, 'are not asked where their model may write more than is held'],
      [4096, 'are asked where their model may write what is held'],
    ] as const) {
      it(how, async () => {
        const models = join(folder, 'models.json');
        const defaults = { max_output_tokens: limit };
        writeFileSync(models, JSON.stringify({ models: { 'gpt-x': { defaults } } }));
        const managed = await openPriced(
          { qwen: { input: '1', output: '5' }, 'gpt-x': { input: '1', output: '5' } },
          { MODELS_FILE: models },
        );
        const { secret } = await managed.issue({ creditsMicro: 1_000_000 });
        generic.reply(BUSY);
        const reply = await callerOf(managed.url, secret).create({ model: 'm', input: 'Hello' });
        await reply.text();
        expect(generic.requests[0]?.body).to.include({ max_tokens: 4096 });
        const told = openai.requests.map(({ body }) => (body as ChatRequest).max_completion_tokens);
        expect(told).to.deep.equal(limit > 4096 ? [] : [limit]);
      });
    }
  });
});

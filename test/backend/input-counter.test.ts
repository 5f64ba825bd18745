import { expect } from 'chai';
import { createInputCounter, type InputCounter, type InputCounterOptions } from '../../src/backend/input-counter.ts';
import type { ChatRequest } from '../../src/core/chat.ts';
import { DIALECTS } from '../../src/core/dialects.ts';
import { encodeChat, type ChatBody } from '../../src/core/encoded-chat.ts';
import { startScriptedBackend, type ScriptedBackend, type Script } from '../support/backend.ts';
import { useHeldTime } from '../support/held-time.ts';
import { useRealSockets } from '../support/real-sockets.ts';

const { llamacpp, vllm } = DIALECTS;
const CHAT: ChatRequest = { model: 'm', messages: [{ role: 'user', content: 'Hello' }] };
const HEADERS = { authorization: 'Bearer sk-test' };

describe('createInputCounter', () => {
  useRealSockets();

  let backend: ScriptedBackend;
  let counter: InputCounter;

  beforeEach(async () => {
    backend = await startScriptedBackend();
    open();
  });
  afterEach(async () => {
    await counter.close();
    await backend.close();
  });

  function open(options: Partial<InputCounterOptions> = {}): void {
    const { baseUrl } = backend;
    const { inputCounter } = llamacpp;
    counter = createInputCounter({ baseUrl, inputCounter, timeoutMs: 60_000, connectTimeoutMs: 60_000, ...options });
  }

  const count = (chat: ChatBody = CHAT, signal = new AbortController().signal) =>
    counter.count(chat, { headers: HEADERS, signal });

  const reply =
    (status: number, body: string): Script =>
    ({ start, end }) => {
      start(status, { 'content-type': 'application/json' });
      end(body);
    };

  for (const { name, inputCounter, suffix, path, body } of [
    {
      name: 'llama.cpp',
      inputCounter: llamacpp.inputCounter,
      suffix: '',
      path: '/v1/chat/completions/input_tokens',
      body: '{"input_tokens": 9}',
    },
    {
      name: 'vLLM',
      inputCounter: vllm.inputCounter,
      suffix: '/',
      path: '/tokenize',
      body: '{"count": 9, "max_model_len": 4096, "tokens": [1, 2]}',
    },
    {
      name: 'vLLM behind a prefix',
      inputCounter: vllm.inputCounter,
      suffix: '/x/v1',
      path: '/v1/x/tokenize',
      body: '{"count": 9}',
    },
  ]) {
    it(`asks ${name} at ${path}`, async () => {
      await counter.close();
      open({ baseUrl: backend.baseUrl + suffix, inputCounter });
      backend.reply(reply(200, body));
      const chat = { ...CHAT, stream: true, stream_options: { include_usage: true }, chat_template_kwargs: { a: 1 } };
      expect(await count(chat)).to.equal(9);
      const [asked] = backend.requests;
      expect(asked).to.deep.include({ method: 'POST', path, body: { ...CHAT, chat_template_kwargs: { a: 1 } } });
      expect(asked?.headers).to.include(HEADERS);
    });
  }

  it('asks in the same way for a request that a thread has encoded', async () => {
    backend.reply(reply(200, '{"input_tokens": 9}'));
    expect(await count(encodeChat({ ...CHAT, stream: true, temperature: 1 }))).to.equal(9);
    expect(backend.requests[0]?.body).to.deep.equal({ ...CHAT, temperature: 1 });
  });

  for (const { status, body } of [
    { status: 404, body: '{"detail":"Not Found"}' },
    { status: 405, body: '{}' },
    { status: 501, body: '' },
    { status: 200, body: '<html>' },
    { status: 200, body: '{"input_tokens": -1}' },
    { status: 200, body: '{"input_tokens": "9"}' },
  ]) {
    it(`does not ask again for this model for an hour after ${status} ${body}`, async () => {
      backend.reply(reply(status, body), reply(200, '{"input_tokens": 9}'));
      expect([await count(), await count()]).to.deep.equal([undefined, undefined]);
      expect(await count({ ...CHAT, model: 'other' })).to.equal(9);
      expect(backend.requests).to.have.length(2);
    });
  }

  for (const status of [400, 401, 429, 500, 503]) {
    it(`knows nothing after ${status}, and asks again`, async () => {
      backend.reply(reply(status, '{"input_tokens": 5}'), reply(200, '{"input_tokens": 9}'));
      expect([await count(), await count()]).to.deep.equal([undefined, 9]);
    });
  }

  it('knows nothing after an answer of more than 4 MiB, and asks again', async () => {
    const long = `{"input_tokens": 5, "tokens": [${'1,'.repeat(2_500_000)}1]}`;
    backend.reply(reply(200, long), reply(200, '{"input_tokens": 9}'));
    expect([await count(), await count()]).to.deep.equal([undefined, 9]);
  });

  it('does not read JSON with more than 100,000 lists', async () => {
    backend.reply(reply(200, `{"input_tokens": 5, "tokens": [${'[],'.repeat(120_000)}[]]}`));
    expect(await count()).to.equal(undefined);
  });

  it('knows nothing when the connection breaks', async () => {
    backend.reply(({ cut }) => cut('reset'));
    expect(await count()).to.equal(undefined);
  });

  it('throws the reason when the caller leaves', async () => {
    backend.reply(({ hang }) => hang());
    const gone = new AbortController();
    const counted = count(CHAT, gone.signal);
    await backend.request(1);
    const reason = new Error('gone');
    gone.abort(reason);
    expect(await counted.catch((error: unknown) => error)).to.equal(reason);
    expect(await (await backend.request(1)).closed).to.include({ aborted: true });
  });

  it('asks for no more than 16 counts at once', async () => {
    const free = Promise.withResolvers<void>();
    backend.always(async (stage) => {
      await free.promise;
      await reply(200, '{"input_tokens": 9}')(stage);
    });
    const counts = Array.from({ length: 17 }, () => count());
    expect(await counts[16]).to.equal(undefined);
    free.resolve();
    expect(await Promise.all(counts.slice(0, 16))).to.deep.equal(Array.from({ length: 16 }, () => 9));
    expect(await count()).to.equal(9);
  });

  it('asks nobody without time', async () => {
    await counter.close();
    open({ timeoutMs: 0 });
    expect(await count()).to.equal(undefined);
    expect(backend.requests).to.have.length(0);
  });

  describe('in time', () => {
    const passTime = useHeldTime();

    it('gives up an answer that does not end, and forgets a missing counter after an hour', async () => {
      await counter.close();
      open({ timeoutMs: 3000 });
      backend.reply(
        async ({ start, res, hang }) => {
          start(200, { 'content-type': 'application/json' });
          res.write('{"input');
          await hang();
        },
        reply(404, '{}'),
        reply(200, '{"input_tokens": 9}'),
      );
      const slow = count();
      await backend.request(1);
      await passTime(3000);
      expect(await slow).to.equal(undefined);
      expect(await count()).to.equal(undefined);
      await passTime(60 * 60 * 1000);
      expect(await count()).to.equal(9);
    });
  });
});

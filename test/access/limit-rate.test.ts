import { once } from 'node:events';
import { request, type ClientRequest, type IncomingMessage } from 'node:http';
import { expect } from 'chai';
import { answer } from '../records/chunks.ts';
import { startScriptedBackend, type ScriptedBackend } from '../support/backend.ts';
import { openManagedGateway, type IssuedKey, type ManagedGateway } from '../support/managed.ts';
import { sendTimes } from '../support/raw-request.ts';
import { useRealSockets } from '../support/real-sockets.ts';
import { allArrived, until } from '../support/time.ts';
import { speakTo } from '../support/web-socket.ts';

const REQUEST = { model: 'm', input: 'Hello', max_output_tokens: 1 };
const HUNGRY = { ...REQUEST, max_output_tokens: 1000 };
const HUNGRY_CHAT = { model: 'm', messages: [{ role: 'user', content: 'Hello' }], max_tokens: 1000 };
/** The beginning of a minute. */
const MINUTE_MS = 1_790_000_040_000;

describe('the minute of a key', () => {
  useRealSockets();

  let backend: ScriptedBackend;
  let gateway: ManagedGateway;
  let issued: IssuedKey;

  beforeEach(async () => {
    backend = await startScriptedBackend();
    backend.always(answer());
    gateway = await openManagedGateway({ UPSTREAM_BASE_URL: backend.baseUrl }, { nowMs: () => MINUTE_MS });
    issued = await gateway.issue({ limits: { requestsPerMinute: 2 }, creditsMicro: 1000 });
  });
  afterEach(async () => {
    await gateway.close();
    await backend.close();
  });

  const counted = async (): Promise<number | undefined> => (await gateway.store.findRate(issued.key.keyId))?.requests;

  async function post(path: string, body: object, others: Record<string, string> = {}): Promise<number> {
    const reply = await fetch(gateway.url + path, {
      method: 'POST',
      headers: { authorization: `Bearer ${issued.secret}`, 'content-type': 'application/json', ...others },
      body: JSON.stringify(body),
    });
    await reply.text();
    return reply.status;
  }

  /** Sends the first byte of a body. */
  function begin(path: string, headers: Record<string, string> = {}): ClientRequest {
    const asked = request(gateway.url + path, {
      method: 'POST',
      headers: { authorization: `Bearer ${issued.secret}`, 'content-length': '1000', ...headers },
    });
    asked.on('error', () => undefined);
    asked.write('{');
    return asked;
  }

  async function statusOf(asked: ClientRequest): Promise<number | undefined> {
    const [reply] = (await once(asked, 'response')) as [IncomingMessage];
    reply.resume();
    return reply.statusCode;
  }

  for (const { name, path = '/v1/responses', body, status } of [
    { name: 'what is refused for its shape', body: { model: 'm' }, status: 400 },
    { name: 'what is refused for its funds', body: { ...REQUEST, max_output_tokens: 4000 }, status: 402 },
    { name: 'a chat completion that is refused', path: '/v1/chat/completions', body: {}, status: 400 },
    { name: 'a count of tokens', path: '/v1/responses/input_tokens', body: REQUEST, status: 200 },
    { name: 'a count that is refused', path: '/v1/responses/input_tokens', body: {}, status: 400 },
    { name: 'a compaction that is refused', path: '/v1/responses/compact', body: {}, status: 400 },
  ]) {
    it(`counts ${name} once`, async () => {
      expect(await post(path, body)).to.equal(status);
      await until(async () => (await counted()) === 1);
      expect(await post(path, body)).to.equal(status);
      await until(async () => (await counted()) === 2);
      expect(await post(path, body)).to.equal(429);
    });
  }

  for (const { name, path, body } of [
    { name: 'a response', path: '/v1/responses', body: REQUEST },
    { name: 'a chat completion', path: '/v1/chat/completions', body: { ...HUNGRY_CHAT, max_tokens: 1 } },
  ]) {
    it(`does not hide why the backend refused the last request of it: ${name}`, async () => {
      expect(await post(path, body)).to.equal(200);
      backend.always({ status: 400, json: { error: { message: 'no', type: 'invalid_request_error' } } });
      expect(await post(path, body, { 'idempotency-key': 'last' })).to.equal(400);
      expect(await post(path, body)).to.equal(429);
    });
  }

  it('does not hide it over a WebSocket', async () => {
    expect(await post('/v1/responses', REQUEST)).to.equal(200);
    backend.always({ status: 400, json: { error: { message: 'no', type: 'invalid_request_error' } } });
    const speaker = await speakTo(gateway.url, { apiKey: issued.secret });
    expect(await speaker.ask({ ...REQUEST, idempotency_key: 'last' })).to.have.nested.property(
      'error.code',
      'invalid_request',
    );
    speaker.close();
  });

  it('counts warm-ups and refused frames of a WebSocket', async () => {
    const speaker = await speakTo(gateway.url, { apiKey: issued.secret });
    await speaker.ask({ ...REQUEST, generate: false });
    expect(await counted()).to.equal(1);
    await speaker.ask({ model: 'm', input: 7 });
    await until(async () => (await counted()) === 2);
    expect(await speaker.ask({ ...REQUEST, generate: false })).to.have.nested.property(
      'error.code',
      'rate_limit_exceeded',
    );
    speaker.close();
    await speaker.closed;
  });

  it('is looked at before a body is read, unless the request may be a duplicate', async () => {
    for (let n = 0; n < 2; n++) expect(await post('/v1/responses', REQUEST)).to.equal(200);
    expect(await statusOf(begin('/v1/responses'))).to.equal(429);

    const body = JSON.stringify(REQUEST);
    const mayRepeat = begin('/v1/responses', { 'idempotency-key': 'one', 'content-length': String(body.length) });
    mayRepeat.end(body.slice(1));
    expect(await statusOf(mayRepeat)).to.equal(429);
  });

  it('reads no more bodies of what may be a duplicate than records', async () => {
    for (let n = 0; n < 2; n++)
      expect(await post('/v1/responses', REQUEST, { 'idempotency-key': `${n}` })).to.equal(200);
    const statuses = await sendTimes(gateway.url, 700, {
      line: 'POST /v1/responses',
      headersOf: (at) => ({ authorization: `Bearer ${issued.secret}`, 'idempotency-key': `${at % 3}` }),
      body: JSON.stringify(REQUEST),
    });
    expect(new Set(statuses)).to.deep.equal(new Set([409, 429]));
    for (const path of ['/v1/responses', '/v1/responses/compact', '/v1/chat/completions'])
      expect(await statusOf(begin(path, { 'idempotency-key': '0' })), path).to.equal(429);
    const speaker = await speakTo(gateway.url, { apiKey: issued.secret });
    expect(await speaker.ask({ ...REQUEST, idempotency_key: '0' }))
      .to.have.nested.property('error.message')
      .that.includes('repeat requests 600 times a minute');
    speaker.close();
    await speaker.closed;
  });

  it('counts a message of a WebSocket that cannot be read', async () => {
    const speaker = await speakTo(gateway.url, { apiKey: issued.secret });
    speaker.ws.send(Buffer.from([0xff]), { binary: false });
    await speaker.closed;
    await until(async () => (await counted()) === 1);
  });

  it('counts a request for which there are not enough tokens', async () => {
    issued = await gateway.issue({ limits: { requestsPerMinute: 2, tokensPerMinute: 100 } });
    expect(await post('/v1/responses', HUNGRY)).to.equal(429);
    expect(await post('/v1/chat/completions', HUNGRY_CHAT)).to.equal(429);
    await until(async () => (await counted()) === 2);
    expect(await statusOf(begin('/v1/responses/input_tokens'))).to.equal(429);
    expect(backend.requests).to.have.length(0);
  });

  it('counts a frame for which there are not enough tokens', async () => {
    issued = await gateway.issue({ limits: { requestsPerMinute: 1, tokensPerMinute: 100 } });
    const speaker = await speakTo(gateway.url, { apiKey: issued.secret });
    expect(await speaker.ask(HUNGRY))
      .to.have.nested.property('error.message')
      .that.includes('can never run');
    await until(async () => (await counted()) === 1);
    expect(await speaker.ask(HUNGRY))
      .to.have.nested.property('error.message')
      .that.includes('1 requests per minute');
    speaker.close();
    await speaker.closed;
  });

  describe('whose tokens are used up', () => {
    beforeEach(async () => {
      issued = await gateway.issue({ limits: { tokensPerMinute: 100 } });
      backend.always(answer('Hello', 'stop', { prompt_tokens: 150, completion_tokens: 1, total_tokens: 151 }));
      expect(await post('/v1/responses', REQUEST)).to.equal(200);
      await until(async () => ((await gateway.store.findRate(issued.key.keyId))?.tokens ?? 0) > 100);
      // The store says so to the first one.
      expect(await post('/v1/responses', REQUEST)).to.equal(429);
    });

    for (const path of ['/v1/responses', '/v1/responses/compact', '/v1/chat/completions'])
      it(`refuses ${path} before its body is read`, async () => {
        expect(await statusOf(begin(path))).to.equal(429);
      });

    it('counts the tokens of an input', async () => {
      expect(await post('/v1/responses/input_tokens', REQUEST)).to.equal(200);
    });

    it('refuses a frame before it is parsed, unless it is a warm-up', async () => {
      const speaker = await speakTo(gateway.url, { apiKey: issued.secret });
      expect(await speaker.ask({ model: 'm', input: 7 })).to.have.nested.property('error.code', 'rate_limit_exceeded');
      expect(await speaker.ask({ ...REQUEST, generate: false })).to.be.an('array');
      speaker.close();
      await speaker.closed;
    });
  });

  for (const path of ['/v1/responses', '/v1/responses/compact', '/v1/responses/input_tokens', '/v1/chat/completions'])
    it(`says 429 and not 400 at its limit to a request to ${path} which could be a duplicate`, async () => {
      for (let n = 0; n < 2; n++) await post('/v1/responses', REQUEST);
      expect(await post(path, {}, { 'idempotency-key': 'one' })).to.equal(429);
      expect(await counted()).to.equal(2);
    });

  it('says 429 and not 400 at its limit to a frame which could be a duplicate', async () => {
    for (let n = 0; n < 2; n++) await post('/v1/responses', REQUEST);
    const speaker = await speakTo(gateway.url, { apiKey: issued.secret });
    const frame = { model: 'm', input: 7, metadata: { idempotency_key: 'one' } };
    expect(await speaker.ask(frame)).to.have.nested.property('error.code', 'rate_limit_exceeded');
    speaker.close();
    await speaker.closed;
  });

  for (const path of ['/v1/responses', '/v1/responses/input_tokens', '/v1/chat/completions'])
    it(`counts a client that leaves ${path} before the end of its body`, async () => {
      // Whoever leaves before the key is known has cost nothing.
      await until(async () => {
        const asked = begin(path);
        await allArrived();
        asked.destroy();
        await allArrived();
        return ((await counted()) ?? 0) > 0;
      });
    });

  it('counts a frame once whose client leaves while it is read', async () => {
    const speaker = await speakTo(gateway.url, { apiKey: issued.secret });
    speaker.send({ ...REQUEST, input: 'x'.repeat(8 * 1024 * 1024) });
    speaker.close();
    await until(async () => (await counted()) === 1);
    await speaker.closed;
  });
});

import { once } from 'node:events';
import { request, type IncomingMessage } from 'node:http';
import { expect } from 'chai';
import { answer } from '../../records/chunks.ts';
import { startScriptedBackend, type ScriptedBackend } from '../../support/backend.ts';
import { openManagedGateway, type IssuedKey, type ManagedGateway } from '../../support/managed.ts';
import { useRealSockets } from '../../support/real-sockets.ts';
import { until } from '../../support/time.ts';
import { speakTo } from '../../support/web-socket.ts';

const REQUEST = { model: 'm', input: 'Hello', max_output_tokens: 1 };
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

  async function post(path: string, body: object): Promise<number> {
    const reply = await fetch(gateway.url + path, {
      method: 'POST',
      headers: { authorization: `Bearer ${issued.secret}`, 'content-type': 'application/json' },
      body: JSON.stringify(body),
    });
    await reply.text();
    return reply.status;
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
    const begin = (headers: Record<string, string>) => {
      const headersOfAll = { authorization: `Bearer ${issued.secret}`, 'content-length': '1000' };
      const asked = request(`${gateway.url}/v1/responses`, {
        method: 'POST',
        headers: { ...headersOfAll, ...headers },
      });
      asked.on('error', () => undefined);
      asked.write('{');
      return asked;
    };
    const [refused] = (await once(begin({}), 'response')) as [IncomingMessage];
    refused.resume();
    expect(refused.statusCode).to.equal(429);

    const body = JSON.stringify(REQUEST);
    const mayRepeat = begin({ 'idempotency-key': 'one', 'content-length': String(body.length) });
    mayRepeat.end(body.slice(1));
    const [reply] = (await once(mayRepeat, 'response')) as [IncomingMessage];
    reply.resume();
    expect(reply.statusCode).to.equal(429);
  });
});

import { setTimeout as delay } from 'node:timers/promises';
import { expect } from 'chai';
import { startScriptedBackend, type ScriptedBackend } from '../support/backend.ts';
import { TEST_KEY } from '../support/gateway.ts';
import { startGatewayProcess, type GatewayProcess } from '../support/gateway-process.ts';
import { chunkOf } from '../support/machine.ts';
import { useRealSockets } from '../support/real-sockets.ts';

const LIMIT_MS = 5000;
const PAUSE_MS = 10_000;

describe('a gateway that was paused for longer than its time-outs', () => {
  useRealSockets();
  let backend: ScriptedBackend;
  let gateway: GatewayProcess;

  beforeEach(async () => {
    backend = await startScriptedBackend();
    gateway = await startGatewayProcess({
      UPSTREAM_BASE_URL: backend.baseUrl,
      AUTH_MODE: 'static',
      API_KEYS: TEST_KEY,
      FIRST_BYTE_TIMEOUT_MS: String(LIMIT_MS),
      IDLE_TIMEOUT_MS: String(LIMIT_MS),
    });
  });
  afterEach(async () => {
    gateway.kill();
    await backend.close();
  });

  function post(path: string, body: object): Promise<Response> {
    return fetch(`${gateway.url}${path}`, {
      method: 'POST',
      headers: { authorization: `Bearer ${TEST_KEY}`, 'content-type': 'application/json' },
      body: JSON.stringify({ model: 'm', ...body }),
    });
  }

  it('answers what had begun, what waited, and what came meanwhile', async () => {
    const paused = Promise.withResolvers<void>();
    let begun = 0;
    backend.always(async ({ request, sse, end }) => {
      const hasBegun = JSON.stringify(request.body).includes('begun');
      if (hasBegun) await sse(chunkOf({ content: 'Hello' }));
      begun += 1;
      await paused.promise;
      await sse(chunkOf({ content: ' there' }), chunkOf({}, 'stop'), '[DONE]');
      end();
    });
    const replies = [];
    for (let turn = 0; turn < 10; turn += 1) {
      for (const input of ['begun', 'waiting']) {
        const stream = turn % 2 === 0;
        replies.push(post('/api/v1/responses', { input, stream }));
        replies.push(post('/v1/chat/completions', { messages: [{ role: 'user', content: input }], stream: true }));
      }
    }
    await backend.request(replies.length);
    expect(begun).to.be.above(0);
    gateway.signal('SIGSTOP');
    paused.resolve();
    for (let turn = 0; turn < 10; turn += 1) replies.push(post('/api/v1/responses', { input: 'new' }));
    await delay(PAUSE_MS);
    gateway.signal('SIGCONT');
    const ends = await Promise.all(
      replies.map(async (asked) => {
        const reply = await asked;
        return [reply.status, /upstream_timeout|store_unavailable/.exec(await reply.text())?.[0]];
      }),
    );
    expect(ends).to.deep.equal(ends.map(() => [200, undefined]));
  });
});

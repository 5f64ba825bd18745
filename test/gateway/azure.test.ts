import { expect } from 'chai';
import { startScriptedBackend, type ScriptedBackend } from '../support/backend.ts';
import { openGateway, type TestGateway } from '../support/gateway.ts';
import { useRealSockets } from '../support/real-sockets.ts';

const VERSION = 'api-version=2024-10-21';

describe('the classic API of Azure', () => {
  useRealSockets();

  let backend: ScriptedBackend;
  let gateway: TestGateway;

  beforeEach(async () => {
    backend = await startScriptedBackend();
    backend.always(({ request: { path }, start, end }) => {
      start(200, { 'content-type': 'application/json' });
      const choices = [{ index: 0, message: { role: 'assistant', content: 'Hi' }, finish_reason: 'stop' }];
      end(JSON.stringify(path.includes('/models') ? { object: 'list', data: [{ id: 'm' }] } : { choices }));
      return Promise.resolve();
    });
    const { origin } = new URL(backend.baseUrl);
    gateway = await openGateway({
      UPSTREAM_BASE_URL: `${origin}/openai/deployments/m?${VERSION}`,
      UPSTREAM_DIALECT: 'azure',
    });
  });

  afterEach(async () => {
    await gateway.close();
    await backend.close();
  });

  const ask = (path: string, key: string, init: RequestInit = {}) =>
    fetch(gateway.url + path, {
      ...init,
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    });

  for (const [path, body, asked] of [
    ['/api/v1/responses', { model: 'm', input: 'Hi' }, `/openai/deployments/m/chat/completions?${VERSION}`],
    ['/v1/chat/completions', { model: 'm', messages: [] }, `/openai/deployments/m/chat/completions?${VERSION}`],
    ['/v1/models', undefined, `/openai/deployments/m/models?${VERSION}`],
  ] as const) {
    it(`gets its version and its key with ${path}`, async () => {
      const reply = await ask(path, 'azure-key-0001', body && { method: 'POST', body: JSON.stringify(body) });
      expect(reply.status).to.equal(200);
      await reply.text();
      const [request] = backend.requests;
      expect(request?.path).to.equal(asked);
      expect(request?.headers).to.include({ 'api-key': 'azure-key-0001' }).and.not.have.property('authorization');
    });
  }

  it('gets a token of Entra ID as a bearer', async () => {
    await (await ask('/v1/models', 'eyJhbGciOi.eyJz.x')).text();
    expect(backend.requests[0]?.headers).to.include({ authorization: 'Bearer eyJhbGciOi.eyJz.x' });
  });
});

import { expect } from 'chai';
import type { StopSignal } from '../../../src/core/stop-signal.ts';
import { startScriptedBackend, type ScriptedBackend } from '../../support/backend.ts';
import { openGateway, TEST_KEY, type TestGateway } from '../../support/gateway.ts';
import { useRealSockets } from '../../support/real-sockets.ts';
import { makeWorkshop, type Workshop } from '../../support/sqlite.ts';

const ADMIN_TOKEN = 'admin-token-of-some-length';

describe('a list whose client leaves', () => {
  useRealSockets();

  let workshop: Workshop;
  let backend: ScriptedBackend;
  let gateway: TestGateway;
  let asked: PromiseWithResolvers<StopSignal | undefined>;

  /** Says by which signal it was asked for, and ends by that alone. */
  async function listUntilStopped(_caller: unknown, signal?: StopSignal): Promise<never> {
    asked.resolve(signal);
    await new Promise<void>((resolve) => signal?.addEventListener('abort', resolve));
    throw signal?.reason;
  }

  beforeEach(async () => {
    asked = Promise.withResolvers();
    workshop = makeWorkshop();
    backend = await startScriptedBackend();
    const store = {
      ...(await workshop.open({ file: undefined })),
      list: (_caller: unknown, query: unknown, signal?: StopSignal) => listUntilStopped(query, signal),
      listUsage: listUntilStopped,
    };
    gateway = await openGateway({ UPSTREAM_BASE_URL: backend.baseUrl, ADMIN_TOKEN }, { store });
  });
  afterEach(async () => {
    await gateway.close();
    await backend.close();
    await workshop.clear();
  });

  for (const { path, key } of [
    { path: '/api/v1/requests?status=failed', key: TEST_KEY },
    { path: '/api/v1/usage', key: TEST_KEY },
    { path: '/admin/v1/usage', key: ADMIN_TOKEN },
  ]) {
    it(`is stopped: GET ${path}`, async () => {
      const client = new AbortController();
      const reply = fetch(`${gateway.url}${path}`, {
        headers: { authorization: `Bearer ${key}` },
        signal: client.signal,
      }).catch(() => undefined);
      const signal = await asked.promise;
      client.abort();
      await reply;
      await new Promise<void>((resolve) => (signal?.aborted ? resolve() : signal?.addEventListener('abort', resolve)));
      expect(signal?.reason).to.have.property('code', 'client_disconnected');
    });
  }
});

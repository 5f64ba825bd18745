import { expect } from 'chai';
import { callerOf } from '../records/caller.ts';
import { answer } from '../records/chunks.ts';
import { startScriptedBackend, type ScriptedBackend } from '../support/backend.ts';
import { startStaticGateway, type GatewayProcess } from '../support/gateway-process.ts';
import { useRealSockets } from '../support/real-sockets.ts';

const HEAP_MB = 64;
const BODY_MB = 4;
const CLIENTS = 12;

describe(`a gateway with a heap of ${HEAP_MB} MB`, () => {
  useRealSockets();
  let backend: ScriptedBackend;
  let gateway: GatewayProcess;

  beforeEach(async () => {
    backend = await startScriptedBackend();
    backend.always(answer());
    gateway = await startStaticGateway(backend, { NODE_OPTIONS: `--max-old-space-size=${HEAP_MB}` });
  });
  afterEach(async () => {
    gateway.kill();
    await backend.close();
  });

  it(`answers ${CLIENTS} clients at once with conversations of ${BODY_MB} MB, twice, and lives`, async () => {
    const content = [{ type: 'input_text', text: 'word '.repeat((BODY_MB * 1024 * 1024) / 5 / 100) }];
    const input = Array.from({ length: 100 }, () => ({ role: 'user', content }));
    const body = JSON.stringify({ model: 'm', stream: true, input });
    const caller = callerOf(gateway.url ?? '');
    for (let times = 0; times < 2; times += 1) {
      const asked = Array.from({ length: CLIENTS }, async () => {
        const reply = await caller.create(body);
        return [reply.status, (await reply.text()).includes('data: [DONE]')];
      });
      for (const answered of await Promise.all(asked)) expect(answered).to.deep.equal([200, true]);
    }
    expect((await fetch(`${gateway.url}/readyz`)).status).to.equal(200);
  });
});

import { expect } from 'chai';
import { answer } from '../records/chunks.ts';
import { startScriptedBackend, type ScriptedBackend } from '../support/backend.ts';
import { openGateway, type TestGateway } from '../support/gateway.ts';
import { useHeldTime } from '../support/held-time.ts';
import { useRealSockets } from '../support/real-sockets.ts';

const BODY = { model: 'm', input: 'Hello' };

describe('a gateway that is to stop behind a load balancer', () => {
  const passTime = useHeldTime();
  useRealSockets();
  let backend: ScriptedBackend;
  let gateway: TestGateway;

  beforeEach(async () => {
    backend = await startScriptedBackend();
    gateway = await openGateway({ UPSTREAM_BASE_URL: backend.baseUrl, DRAIN_DELAY_MS: '5000' });
  });
  afterEach(async () => {
    await gateway.close();
    await backend.close();
  });

  it('is unready at once, and takes requests until the delay is over', async () => {
    const goOn = Promise.withResolvers<void>();
    backend.always(async (stage) => {
      await goOn.promise;
      await answer()(stage);
    });
    const running = gateway.create(BODY);
    await backend.request(1);
    const drained = gateway.drain();

    expect((await gateway.get('/readyz')).status).to.equal(503);
    await passTime(4999);
    const late = gateway.create(BODY);
    await backend.request(2);
    await passTime(1);
    expect((await gateway.create(BODY)).status).to.equal(503);

    goOn.resolve();
    for (const reply of [running, late]) expect((await reply).status).to.equal(200);
    await drained;
  });

  it('lets each reply close its connection meanwhile', async () => {
    backend.always(answer());
    expect((await gateway.create(BODY)).headers.get('connection')).to.equal('keep-alive');
    const drained = gateway.drain();
    const reply = await gateway.create(BODY);
    expect([reply.status, reply.headers.get('connection')]).to.deep.equal([200, 'close']);
    await reply.text();
    await passTime(5000);
    await drained;
  });
});

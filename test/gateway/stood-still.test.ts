import { expect } from 'chai';
import { startScriptedBackend, type ScriptedBackend, type Stage } from '../support/backend.ts';
import { openGateway, TEST_KEY, type TestGateway } from '../support/gateway.ts';
import { standStill, useHeldTime } from '../support/held-time.ts';
import { chunkOf } from '../support/machine.ts';
import { useRealSockets } from '../support/real-sockets.ts';
import { allArrived } from '../support/time.ts';
import { expectWellFormed, parseEvents } from '../support/well-formed.ts';

const LIMIT_MS = 5000;
const PAUSE_MS = 2 * LIMIT_MS;

describe('a gateway that stood still while the backend answered', () => {
  useHeldTime();
  useRealSockets();
  let backend: ScriptedBackend;
  let gateway: TestGateway;
  let stage: Stage;

  beforeEach(async () => {
    backend = await startScriptedBackend();
    backend.always(async (present) => {
      stage = present;
      await present.hang();
    });
    gateway = await openGateway({
      UPSTREAM_BASE_URL: backend.baseUrl,
      FIRST_BYTE_TIMEOUT_MS: String(LIMIT_MS),
      IDLE_TIMEOUT_MS: String(LIMIT_MS),
    });
  });
  afterEach(async () => {
    await gateway.close();
    await backend.close();
  });

  /** The bytes have arrived before the timers fire, and are not read yet. */
  async function answerMeanwhile(...chunks: readonly unknown[]): Promise<void> {
    void stage.sse(...chunks);
    await standStill(PAUSE_MS);
  }

  async function expectAnswered(reply: Promise<Response>): Promise<void> {
    void stage.sse(chunkOf({ content: 'time' }), chunkOf({}, 'stop'), '[DONE]');
    stage.end();
    const response = expectWellFormed(parseEvents(await (await reply).text()));
    expect(response).to.include({ status: 'completed', output_text: 'In time' });
  }

  it('reads its first byte', async () => {
    const reply = gateway.create({ model: 'm', input: 'Hi', stream: true });
    await backend.request(1);
    await allArrived();
    await answerMeanwhile(chunkOf({ content: 'In ' }));
    await expectAnswered(reply);
  });

  it('reads what came after a silence', async () => {
    const reply = gateway.create({ model: 'm', input: 'Hi', stream: true });
    await backend.request(1);
    void stage.sse(chunkOf({ content: 'In' }));
    await allArrived();
    await answerMeanwhile(chunkOf({ content: ' ' }));
    await expectAnswered(reply);
  });

  for (const what of ['the first byte', 'a later byte']) {
    it(`reads ${what} of a chat completion that it passes through`, async () => {
      const asking = fetch(`${gateway.url}/v1/chat/completions`, {
        method: 'POST',
        headers: { authorization: `Bearer ${TEST_KEY}`, 'content-type': 'application/json' },
        body: JSON.stringify({ model: 'm', messages: [], stream: true }),
      });
      await backend.request(1);
      if (what === 'a later byte') void stage.sse(chunkOf({ content: 'In' }));
      await allArrived();
      await answerMeanwhile(chunkOf({ content: 'time' }));
      void stage.sse('[DONE]');
      stage.end();
      const reply = await asking;
      expect(reply.status).to.equal(200);
      expect(await reply.text()).to.match(/time[^]*\[DONE\]/);
    });
  }
});

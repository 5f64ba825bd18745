/** How much one caller gets alone, with default settings. */
import { mkdtempSync, rmSync } from 'node:fs';
import { Agent, request, type ClientRequest, type IncomingMessage } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { answer } from '../records/chunks.ts';
import { startScriptedBackend, type ScriptedBackend } from '../support/backend.ts';
import { openGatewayAsItIs, TEST_KEY, type TestGateway } from '../support/gateway.ts';
import { useRealSockets } from '../support/real-sockets.ts';

const STREAMS = 1000;
const REQUEST = { model: 'm', input: 'Hello' };

describe('one accepted key', () => {
  useRealSockets();

  let backend: ScriptedBackend;
  let gateway: TestGateway;
  let folder: string;
  const agent = new Agent({ maxSockets: Infinity });

  beforeEach(async () => {
    folder = mkdtempSync(join(tmpdir(), 'one-key-'));
    backend = await startScriptedBackend();
  });
  afterEach(async () => {
    agent.destroy();
    await gateway.close();
    await backend.close();
    rmSync(folder, { recursive: true });
  });

  async function open(): Promise<void> {
    gateway = await openGatewayAsItIs({
      UPSTREAM_BASE_URL: backend.baseUrl,
      DATABASE_URL: `file:${join(folder, 'gateway.db')}`,
    });
  }

  /** Returns how many of the streams run at once. */
  async function runAll(): Promise<number> {
    backend.always(async ({ sse, hang }) => {
      await sse({ choices: [{ index: 0, delta: { content: 'Hel' } }] });
      await hang();
    });
    const asked: ClientRequest[] = [];
    const statuses = await Promise.all(
      Array.from({ length: STREAMS }, async () => {
        const { promise, resolve } = Promise.withResolvers<number>();
        const sent = request(`${gateway.url}/api/v1/responses`, {
          method: 'POST',
          agent,
          headers: { authorization: `Bearer ${TEST_KEY}`, 'content-type': 'application/json' },
        });
        sent.on('response', (reply: IncomingMessage) => resolve(reply.resume().statusCode ?? 0));
        sent.on('error', () => resolve(0));
        sent.end(JSON.stringify({ ...REQUEST, stream: true }));
        asked.push(sent);
        return promise;
      }),
    );
    for (const sent of asked) sent.destroy();
    return statuses.filter((status) => status === 200).length;
  }

  it('runs a thousand streams, also right after a restart', async () => {
    await open();
    backend.reply(answer());
    await (await gateway.create(REQUEST)).text();
    expect(await runAll()).to.equal(STREAMS);
    await gateway.close();
    await open();
    expect(await runAll()).to.equal(STREAMS);
  });
});

import { expect } from 'chai';
import { answer } from '../records/chunks.ts';
import { startScriptedBackend, type ScriptedBackend } from '../support/backend.ts';
import { startGatewayProcess, type GatewayProcess } from '../support/gateway-process.ts';
import { useRealSockets } from '../support/real-sockets.ts';
import { until } from '../support/time.ts';
import { responseOf } from '../support/web-socket-scene.ts';
import { speakTo, type ConnectionContext } from '../support/web-socket.ts';

const CROWD = 1000;
const METRICS_TOKEN = 'the-token-of-this-test';
/** Several times what was measured: 19 to 25 KB. */
const CEILING_KB = 100;

describe('a thousand WebSockets', () => {
  useRealSockets();

  let backend: ScriptedBackend;
  let gateway: GatewayProcess;
  let speakers: ConnectionContext[];

  beforeEach(async () => {
    backend = await startScriptedBackend();
    backend.always(answer());
    gateway = await startGatewayProcess({ UPSTREAM_BASE_URL: backend.baseUrl, METRICS_TOKEN });
    speakers = [];
  });

  afterEach(async () => {
    for (const { ws } of speakers) ws.terminate();
    gateway.kill();
    await backend.close();
  });

  async function metric(name: string): Promise<number> {
    const reply = await fetch(`${gateway.url}/metrics`, { headers: { authorization: `Bearer ${METRICS_TOKEN}` } });
    const line = new RegExp(`^${name} (\\S+)$`, 'm').exec(await reply.text());
    return Number(line?.[1]);
  }

  it('that are idle cost little each, and serve when they are asked', async () => {
    const url = gateway.url ?? '';
    // What is loaded and made once is not a matter of how many there are.
    const first = await speakTo(url);
    speakers.push(first);
    responseOf(await first.ask({ model: 'm', input: 'Hello' }));
    const beforeBytes = await metric('process_resident_memory_bytes');
    while (speakers.length < CROWD) {
      speakers.push(...(await Promise.all(Array.from({ length: 50 }, () => speakTo(url)))));
    }
    expect(await metric('responses_gateway_websockets')).to.equal(speakers.length);
    const eachKb = ((await metric('process_resident_memory_bytes')) - beforeBytes) / 1024 / speakers.length;
    console.log(`\n  Each of ${speakers.length} idle WebSockets takes ${eachKb.toFixed(1)} KB of the gateway`);
    expect(eachKb).to.be.below(CEILING_KB);

    const asked = speakers.filter((_speaker, index) => index % 50 === 0);
    for (const told of await Promise.all(asked.map((speaker) => speaker.ask({ model: 'm', input: 'Hello' })))) {
      responseOf(told);
    }
    for (const speaker of speakers) speaker.close();
    await Promise.all(speakers.map(({ closed }) => closed));
    await until(async () => (await metric('responses_gateway_websockets')) === 0);
  });
});

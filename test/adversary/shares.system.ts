/** What made-up keys and poor keys do to others. Each test prints the figures that it saw. */
import type { IncomingMessage } from 'node:http';
import { gzipSync } from 'node:zlib';
import { expect } from 'chai';
import { useRealSockets } from '../support/real-sockets.ts';
import { until } from '../support/time.ts';
import { speakTo } from '../support/web-socket.ts';
import { responseOf } from '../support/web-socket-scene.ts';
import { answerOf, HANDSHAKE } from './begin.ts';
import { answerInJson, openScene, print, serveHonest, type Scene } from './scene.ts';

const MIB = 1024 * 1024;
const POOR = { limits: { requests_per_minute: 1 }, credits: '0.001' };

describe('an adversary', () => {
  useRealSockets();

  let scene: Scene;
  afterEach(() => scene.close());

  const attacks = [
    {
      name: '2,000 half-sent requests',
      before: '503 for every other caller, for 168 s and more',
      attempts: 2000,
      begin: (key: string) => scene.begin('/api/v1/responses', key, { 'content-length': 1000 }, '{'),
    },
    {
      name: '16 unfinished bodies of 32 MiB',
      before: '503 for every other caller',
      attempts: 16,
      begin: (key: string) =>
        scene.begin('/api/v1/responses', key, { 'content-length': 32 * MIB }, ' '.repeat(32 * MIB - 1)),
    },
    {
      name: '2,000 WebSockets',
      before: '503 for every other WebSocket, for 10 minutes',
      attempts: 2000,
      begin: (key: string) => scene.begin('/api/v1/responses', key, HANDSHAKE, ''),
    },
  ];

  for (const { name, before, attempts, begin } of attacks) {
    for (const who of ['a made-up key', 'a poor key'] as const) {
      it(`with ${name} by ${who} refuses no other caller`, async () => {
        const isManaged = who === 'a poor key';
        scene = await openScene({ AUTH_MODE: isManaged ? 'managed' : 'passthrough' });
        const honest = isManaged ? (await scene.issue({ credits: '10' })).secret : 'an-honest-key';
        const attacker = isManaged ? (await scene.issue(POOR)).secret : 'a-made-up-key';
        // The backend accepts the honest key, which makes it known.
        const idle = await serveHonest(scene.url, honest, (done) => done >= 200);
        expect(idle.failures).to.deep.equal([]);

        const statuses = new Map<number, number>();
        for (let n = 0; n < attempts; n++) {
          void answerOf(begin(attacker)).then((status) => statuses.set(status, (statuses.get(status) ?? 0) + 1));
        }
        // The gateway has refused what is beyond the share; it holds the rest.
        await until(() => (statuses.get(429) ?? 0) > 0);
        const attacked = await serveHonest(scene.url, honest, (done) => done >= 200);
        const webSocket = await answerOf(scene.begin('/api/v1/responses', honest, HANDSHAKE, ''));
        print(
          `${name} by ${who}`,
          before,
          `${attacked.failures.length} of ${attacked.requests} requests of another caller refused, ` +
            `p99 ${attacked.p99Ms} ms (idle ${idle.p99Ms} ms)`,
        );
        expect(attacked.failures).to.deep.equal([]);
        expect(webSocket).to.equal(101);
      });
    }
  }

  for (const who of ['a made-up key', 'a poor key'] as const) {
    it(`with 10 full warm-ups by ${who} pushes out no history of another caller`, async () => {
      const isManaged = who === 'a poor key';
      scene = await openScene({ AUTH_MODE: isManaged ? 'managed' : 'passthrough' }, answerInJson);
      const honest = isManaged ? (await scene.issue({ credits: '10' })).secret : 'an-honest-key';
      const speaker = await speakTo(scene.url, { apiKey: honest });
      const first = responseOf(await speaker.ask({ model: 'm', input: 'Hello' }));

      const answers: string[] = [];
      for (let n = 0; n < 10; n++) {
        const apiKey = isManaged ? (await scene.issue(POOR)).secret : 'a-made-up-key';
        const attacker = await speakTo(scene.url, { apiKey });
        const warmUp = await attacker.ask({ model: 'm', generate: false, input: 'x'.repeat(30 * MIB) });
        answers.push('status' in warmUp ? warmUp.error.code : 'warm');
      }
      const next = await speaker.ask({ model: 'm', input: 'And then?', previous_response_id: first.id });
      print(
        `10 warm-ups of 30 MiB by ${who}`,
        'previous_response_not_found for every other caller',
        `${responseOf(next).status} (the attackers saw ${answers.join(', ')})`,
      );
    });
  }

  for (const { name, body, before, mostMs } of [
    {
      name: '31 MB of backslashes',
      body: `{"model":"m","input":"${'\\'.repeat(31 * MIB)}`,
      before: '1,120 ms',
      mostMs: 560,
    },
    { name: '31 MB of spaces', body: `${' '.repeat(31 * MIB)}x`, before: '453 ms', mostMs: 300 },
    {
      name: '990,000 objects',
      body: `{"model":"m","input":"x","y":[${'{},'.repeat(990_000)}{}]}`,
      before: '513 ms',
      mostMs: 250,
    },
    {
      name: '299,000 names',
      body: `{"model":"m","input":"x","y":{${Array.from({ length: 299_000 }, (_, n) => `"${n}":1`).join()}}}`,
      before: '810 ms',
      mostMs: 250,
    },
  ]) {
    it(`with a body of ${name} costs little`, async () => {
      scene = await openScene();
      const sent = gzipSync(body);
      const ask = async (): Promise<number> => {
        const reply = await fetch(`${scene.url}/api/v1/responses`, {
          method: 'POST',
          headers: {
            authorization: 'Bearer a-made-up-key',
            'content-type': 'application/json',
            'content-encoding': 'gzip',
          },
          body: sent,
        });
        await reply.text();
        return reply.status;
      };
      await ask();
      const { cpuMs } = await scene.figures();
      const times = 5;
      for (let n = 0; n < times; n++) expect(await ask()).to.be.within(400, 413);
      const cost = Math.round(((await scene.figures()).cpuMs - cpuMs) / times);
      print(`${name} (${sent.length} bytes sent)`, `${before} of CPU each`, `${cost} ms of CPU each`);
      expect(cost).to.be.below(mostMs);
    });
  }

  it('with 500 streams that it never reads takes a bounded memory', async () => {
    scene = await openScene({ MAX_BODY_BYTES_IN_FLIGHT: String(64 * MIB) });
    await serveHonest(scene.url, 'a-key', (done) => done >= 50);
    const { residentBytes } = await scene.figures();
    const body = '{"model":"m","input":"x","stream":true}';
    let begun = 0;
    for (let n = 0; n < 500; n++) {
      const asked = scene.begin('/api/v1/responses', 'a-key', { 'content-length': body.length }, body);
      asked.once('response', (reply: IncomingMessage) => {
        reply.pause();
        begun++;
      });
    }
    await until(async () => begun === 500 && (await scene.figures()).streams < 50);
    const taken = (await scene.figures()).residentBytes - residentBytes;
    print('500 streams that are never read', '1,330 MiB', `${Math.round(taken / MIB)} MiB`);
    expect(taken).to.be.below(1100 * MIB);
  });
});

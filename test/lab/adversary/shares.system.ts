/** What made-up keys and poor keys do to others. Each test prints the figures that it saw. */
import type { IncomingMessage } from 'node:http';
import { gzipSync } from 'node:zlib';
import { expect } from 'chai';
import { useRealSockets } from '../../support/real-sockets.ts';
import { until } from '../../support/time.ts';
import { speakTo } from '../../support/web-socket.ts';
import { responseOf } from '../../support/web-socket-scene.ts';
import { answerOf, HANDSHAKE } from './begin.ts';
import { ATTACKS, POOR } from './attacks.ts';
import { answerInJson, openScene, print, type Scene } from './scene.ts';

const MIB = 1024 * 1024;

/** `npm run lab adversary` sets it to a minute. */
const IS_LONG = Number(process.env['ADVERSARY_SECONDS'] ?? 3) >= 30;
const REQUESTS = IS_LONG ? 5000 : 200;
const ATTACKERS = ['a made-up key', 'a poor key'] as const;

describe('an adversary', () => {
  useRealSockets();

  let scene: Scene;
  afterEach(() => scene.close());

  for (const [index, { move, atOnce, poorKeys = 1, before }] of ATTACKS.entries()) {
    // A short run tries each by one of the two.
    for (const who of IS_LONG ? ATTACKERS : ATTACKERS.slice(index % 2, (index % 2) + 1)) {
      it(`with ${atOnce} ${move} by ${who} refuses no other caller`, async () => {
        const isManaged = who === 'a poor key';
        scene = await openScene({ AUTH_MODE: isManaged ? 'managed' : 'passthrough' }, answerInJson);
        const honest = isManaged ? (await scene.issue({ credits: '10' })).secret : 'an-honest-key';
        const poor = await Promise.all(Array.from({ length: isManaged ? poorKeys : 0 }, () => scene.issue(POOR)));
        const serve = () => scene.serve(honest, (done) => done >= REQUESTS);
        // The backend accepts the honest key, which makes it known.
        await serve();
        const idleBefore = await serve();
        const speaker = await speakTo(scene.url, { apiKey: honest });
        const first = responseOf(await speaker.ask({ model: 'm', input: 'Hello' }));

        const attackers = await scene.attack({
          keys: isManaged ? poor.map(({ secret }) => secret) : ['a-made-up-key'],
          moves: [move],
          pace: { atOnce },
        });
        // Either the gateway has refused what is beyond the share and holds the rest, or it has answered all.
        const isShared = (): boolean => {
          const statuses = attackers.seen[move] ?? {};
          return 429 in statuses || Object.values(statuses).reduce((sum, times) => sum + times, 0) >= atOnce;
        };
        const attacked = await scene.serve(honest, (done) => done >= REQUESTS && isShared());
        const next = await speaker.ask({ model: 'm', input: 'And then?', previous_response_id: first.id });
        const webSocket = await answerOf(scene.begin('/api/v1/responses', honest, HANDSHAKE, ''));
        await attackers.stop();
        const idleAfter = await serve();
        print(
          `${atOnce} ${move} by ${who}`,
          before,
          `${attacked.failures.length} of ${attacked.requests} requests of another caller refused, ` +
            `p50 ${attacked.p50Ms} ms (idle ${idleBefore.p50Ms} and ${idleAfter.p50Ms}), ` +
            `p99 ${attacked.p99Ms} ms (idle ${idleBefore.p99Ms} and ${idleAfter.p99Ms}); ` +
            `the attackers saw ${JSON.stringify(attackers.seen[move])}`,
        );
        expect(attacked.failures).to.deep.equal([]);
        expect(responseOf(next).status).to.equal('completed');
        expect(webSocket).to.equal(101);
        // A short run on a busy machine says nothing of its slowest hundredth.
        if (IS_LONG) expect(attacked.p99Ms).to.be.at.most(3 * Math.max(idleBefore.p99Ms, idleAfter.p99Ms));
      });
    }
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
    await scene.serve('a-key', (done) => done >= 50);
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

/** Many attackers at once, in a process of their own, and what an honest caller notices of them. */
import { randomBytes } from 'node:crypto';
import { expect } from 'chai';
import { useRealSockets } from '../../support/real-sockets.ts';
import { until } from '../../support/time.ts';
import type { Move } from './attackers.ts';
import { answerAsAsked, COST_MICRO, openScene, print, type Scene } from './scene.ts';

/** `npm run lab adversary` sets it to a minute. */
const SECONDS = Number(process.env['ADVERSARY_SECONDS'] ?? 3);
const MOVES_PER_SECOND = 110;
const MOVES: readonly Move[] = [
  'half-sent bodies',
  'unfinished bodies of 32 MiB',
  'handshakes',
  'spaces, compressed',
  'a request, compressed 85 to 1',
  'requests with a new idempotency key',
  'bodies of no shape with an idempotency key',
  'chat completions',
  'chat completions with two limits',
  'streams that are never read',
  'warm-ups',
];
const HOSTILE = { limits: { requests_per_minute: 1 }, credits: '0.01' };

describe('a crowd of attackers', () => {
  useRealSockets();

  let scene: Scene;
  afterEach(() => scene.close());

  it(`of 100 made-up keys and 10 hostile ones for ${SECONDS} s does not harm an honest caller`, async () => {
    scene = await openScene({ AUTH_MODE: 'managed' });
    const honest = await scene.issue({ credits: '100' });
    const hostile = await Promise.all(Array.from({ length: 10 }, () => scene.issue(HOSTILE)));
    const poor = hostile.map(({ secret }) => secret);
    // Every second one has a key of the gateway.
    const keys = makeUp().flatMap((key, n) => [key, poor[n % poor.length] ?? '']);
    const requests = await attack(honest.secret, keys, '100 made-up and 10 hostile keys');
    expect(await scene.balanceOf(honest.id)).to.deep.equal({ balance: 100e6 - requests * COST_MICRO, held: 0 });
    for (const { id } of hostile) expect((await scene.balanceOf(id)).balance).to.be.at.least(0);
  });

  it(`of 100 keys that the backend refuses for ${SECONDS} s does not harm one that it accepts`, async () => {
    const honest = 'the-key-of-the-honest-caller';
    scene = await openScene({}, (res, body, authorization) => {
      if (authorization === `Bearer ${honest}`) answerAsAsked(res, body);
      else res.writeHead(401, { 'content-type': 'application/json' }).end('{"error":{"message":"unknown key"}}');
    });
    await attack(honest, makeUp(), '100 keys that the backend refuses');
  });

  /** Resolves with how many requests the honest caller has made. */
  async function attack(honest: string, keys: readonly string[], who: string): Promise<number> {
    const serveFor = (seconds: number) => {
      const endsAtMs = performance.now() + seconds * 1000;
      return scene.serve(honest, () => performance.now() > endsAtMs);
    };
    const warmUp = await scene.serve(honest, (done) => done >= 1000);
    const idleBefore = await serveFor(SECONDS / 2);
    const attackers = await scene.attack({ keys, moves: MOVES, pace: { perSecond: MOVES_PER_SECOND } });
    const hasSeen = (statuses: object): boolean => Object.keys(statuses).length > 0;
    await until(() => hasSeen(attackers.seen) && Object.values(attackers.seen).every(hasSeen));
    const attacked = await serveFor(SECONDS);
    await attackers.stop();
    const idleAfter = await serveFor(SECONDS / 2);
    print(
      `${who} with ${MOVES_PER_SECOND} moves a second for ${SECONDS} s`,
      '503 for the honest caller as soon as all is taken',
      `${attacked.failures.length} of ${attacked.requests} requests refused, ` +
        `p50 ${attacked.p50Ms} ms (idle ${idleBefore.p50Ms} and ${idleAfter.p50Ms}), ` +
        `p99 ${attacked.p99Ms} ms (idle ${idleBefore.p99Ms} and ${idleAfter.p99Ms}); ` +
        `the attackers saw ${JSON.stringify(attackers.seen)}`,
    );
    expect(attacked.failures).to.deep.equal([]);
    // A short run on a busy machine has too few requests for its slowest hundredth.
    if (SECONDS >= 30) expect(attacked.p99Ms).to.be.at.most(3 * Math.max(idleBefore.p99Ms, idleAfter.p99Ms));
    return [warmUp, idleBefore, attacked, idleAfter].reduce((sum, { requests }) => sum + requests, 0);
  }
});

function makeUp(): string[] {
  return Array.from({ length: 100 }, () => `rgk_${randomBytes(20).toString('hex')}`);
}

/** Many attackers at once, in a process of their own, and what an honest caller notices of them. */
import { randomBytes } from 'node:crypto';
import { expect } from 'chai';
import { useRealSockets } from '../support/real-sockets.ts';
import { until } from '../support/time.ts';
import type { Move } from './attackers.ts';
import { COST_MICRO, openScene, print, serveHonest, startAttackers, type Scene } from './scene.ts';

/** `npm run test:adversary` sets it to a minute. */
const SECONDS = Number(process.env['ADVERSARY_SECONDS'] ?? 3);
const MOVES_PER_SECOND = 110;
const MOVES: readonly Move[] = [
  'half-sent bodies',
  'unfinished bodies of 32 MiB',
  'handshakes',
  'spaces, compressed',
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
    const serveFor = (seconds: number) => {
      const endsAtMs = performance.now() + seconds * 1000;
      return serveHonest(scene.url, honest.secret, () => performance.now() > endsAtMs);
    };
    await serveHonest(scene.url, honest.secret, (done) => done >= 1000);
    const before = await scene.balanceOf(honest.id);
    const idleBefore = await serveFor(SECONDS / 2);

    const poor = hostile.map(({ secret }) => secret);
    const madeUp = Array.from({ length: 100 }, () => `rgk_${randomBytes(20).toString('hex')}`);
    const attackers = await startAttackers({
      url: scene.url,
      // Every second one has a key of the gateway.
      keys: madeUp.flatMap((key, n) => [key, poor[n % poor.length] ?? '']),
      moves: MOVES,
      pace: { perSecond: MOVES_PER_SECOND },
    });
    const hasSeen = (statuses: object): boolean => Object.keys(statuses).length > 0;
    await until(() => hasSeen(attackers.seen) && Object.values(attackers.seen).every(hasSeen));
    const attacked = await serveFor(SECONDS);
    await attackers.stop();
    const idleAfter = await serveFor(SECONDS / 2);

    const idleP99Ms = Math.max(idleBefore.p99Ms, idleAfter.p99Ms);
    const requests = idleBefore.requests + attacked.requests + idleAfter.requests;
    print(
      `100 made-up and 10 hostile keys with ${MOVES_PER_SECOND} moves a second for ${SECONDS} s`,
      '503 for the honest caller as soon as all is taken',
      `${attacked.failures.length} of ${attacked.requests} requests refused, ` +
        `p50 ${attacked.p50Ms} ms (idle ${idleBefore.p50Ms} and ${idleAfter.p50Ms}), ` +
        `p99 ${attacked.p99Ms} ms (idle ${idleBefore.p99Ms} and ${idleAfter.p99Ms}); ` +
        `the attackers saw ${JSON.stringify(attackers.seen)}`,
    );
    expect(attacked.failures).to.deep.equal([]);
    expect(await scene.balanceOf(honest.id)).to.deep.equal({
      balance: before.balance - requests * COST_MICRO,
      held: 0,
    });
    // A short run on a busy machine has too few requests for its slowest hundredth.
    if (SECONDS >= 30) expect(attacked.p99Ms).to.be.at.most(3 * idleP99Ms);
    for (const { id } of hostile) expect((await scene.balanceOf(id)).balance).to.be.at.least(0);
  });
});

import { expect } from 'chai';
import { manyGateways, oneGateway } from './scenarios.ts';
import { quantileOf, simulate, type Found, type Scenario } from './simulate.ts';

describe('the choice of backends, in virtual time', () => {
  it('keeps the prefixes of four replicas as warm as those of one, also while one rests and comes back', async () => {
    const four: Scenario = {
      seed: 1,
      gateways: 1,
      replicas: 4,
      requests: 8000,
      perSecond: 20,
      conversations: 400,
      turns: Infinity,
      hotShare: 0,
      slots: 64,
      room: 0,
      cachedPrefixes: 120,
      maxConcurrent: 64,
      failover: 'any',
      outages: [],
    };
    const one = await simulate({ ...four, replicas: 1, cachedPrefixes: 480, slots: 256, maxConcurrent: 256 });
    const well = await simulate(four);
    const broken = await simulate({
      ...four,
      outages: [{ replica: 1, fault: 'killed', fromMs: 120_000, untilMs: 180_000 }],
    });
    expect(one.hitRate).to.equal(1);
    expect(well.hitRate).to.equal(1);
    expect(broken.hitRate).to.be.within(0.95, 0.9999);
    expect(broken.rests).to.be.within(1, 7);
    expect(broken.spills).to.be.greaterThan(200);
    for (const requests of well.requestsByReplica) expect(requests).to.be.within(1600, 2400);
  });

  it('lets few notice that replicas fail at random, and waits for no place while others are free', async () => {
    const { 'replicas fail': failing, 'nothing fails': well } = oneGateway(10_000);
    const found = await expectAllEnded(failing);
    expect(found.rests).to.be.greaterThan(0);
    // Their output had begun.
    expect([...found.told.keys()]).to.deep.equal(['upstream_error']);
    expect(found.answered / 10_000).to.be.greaterThan(0.99);
    expect(quantileOf(found.queueMs, 0.99)).to.equal(0);
    expect(found.lostPerOutage).to.be.lessThan(20);
    const calm = await expectAllEnded(well);
    expect(calm.answered).to.equal(10_000);
    expect(calm.rests).to.equal(0);
    expect(found.hitRate).to.be.within(calm.hitRate * 0.85, calm.hitRate);
  });

  it('gives each place that becomes free to one that waits', async () => {
    const { 'replicas fail, a third more requests': busy } = oneGateway(4000);
    const found = await expectAllEnded(busy);
    expect(found.queueMs.filter((ms) => ms > 0).length).to.be.greaterThan(500);
    expect(found.queueMs.at(-1)).to.be.at.most(2000);
    expect(found.answered / 4000).to.be.greaterThan(0.999);
  });

  it('makes no herds of gateways that decide alone', async () => {
    const size = { gateways: 20, replicas: 20, requests: 8000 };
    const {
      'no request shares a prefix': scattered,
      'nothing fails': well,
      'replicas fail': failing,
    } = manyGateways(size);
    const [byChance, calm, found] = [
      await expectAllEnded(scattered),
      await expectAllEnded(well),
      await expectAllEnded(failing),
    ];
    expect(calm.hitRate).to.equal(1);
    expect(found.hitRate).to.be.greaterThan(0.9);
    expect(found.rests).to.be.greaterThan(20);
    expect(calm.imbalance).to.be.lessThan(1.4);
    expect(quantileOf(calm.imbalances, 0.99)).to.be.lessThan(1.5 * quantileOf(byChance.imbalances, 0.99));
    expect(quantileOf(found.herds, 0.99)).to.be.lessThan(1.5 * quantileOf(byChance.herds, 0.99));
  });
});

/** Every request has its answer or its error. */
async function expectAllEnded(scenario: Scenario | undefined): Promise<Found> {
  if (scenario === undefined) throw new Error('there is no such scenario');
  const found = await simulate(scenario);
  const failed = [...found.told.values()].reduce((sum, count) => sum + count, 0);
  expect(found.answered + failed).to.equal(scenario.requests);
  return found;
}

import { expect } from 'chai';
import { ApiError } from '../../src/core/errors.ts';
import { createFailureLimit, networkOf, type FailureLimit } from '../../src/access/failure-limit.ts';

describe('createFailureLimit', () => {
  let nowMs: number;
  let limit: FailureLimit;

  beforeEach(() => {
    nowMs = 1_000_000;
    limit = createFailureLimit({ perMinute: 2, maxNetworks: 3, nowMs: () => nowMs });
  });

  function fail(network: string, times: number): void {
    for (let n = 0; n < times; n++) limit.count(network);
  }

  it('lets a network fail as often as it may', () => {
    fail('a', 1);
    expect(() => limit.check('a')).not.to.throw();
  });

  it('holds up a network that has failed more often, and says for how long', () => {
    fail('a', 2);
    nowMs += 20_500;
    expect(() => limit.check('a'))
      .to.throw(ApiError)
      .that.deep.includes({ code: 'rate_limit_exceeded', headers: { 'retry-after': '40' } });
  });

  it('holds nobody up for longer when the clock was set back', () => {
    fail('a', 2);
    nowMs -= 3_600_000;
    expect(() => limit.check('a')).not.to.throw();
  });

  it('does not hold up other networks', () => {
    fail('a', 2);
    expect(() => limit.check('b')).not.to.throw();
  });

  it('lets a network in again after a minute', () => {
    fail('a', 2);
    nowMs += 60_000;
    expect(() => limit.check('a')).not.to.throw();
  });

  it('counts from nothing after a minute', () => {
    fail('a', 2);
    nowMs += 60_000;
    fail('a', 1);
    expect(() => limit.check('a')).not.to.throw();
  });

  it('forgets the network whose minute began first when there are too many', () => {
    for (const network of ['a', 'b', 'c', 'd']) fail(network, 2);
    expect(() => limit.check('a')).not.to.throw();
    for (const network of ['b', 'c', 'd']) expect(() => limit.check(network)).to.throw(ApiError);
  });
});

describe('networkOf', () => {
  const cases: { address: string; network: string }[] = [
    { address: '203.0.113.7', network: '203.0.113.7' },
    { address: '::ffff:203.0.113.7', network: '203.0.113.7' },
    { address: '203.0.113.7:40000', network: '203.0.113.7' },
    { address: '::ffff:cb00:7107', network: '203.0.113.7' },
    { address: '0:0:0:0:0:FFFF:203.0.113.7', network: '203.0.113.7' },
    { address: '[::ffff:203.0.113.7]:443', network: '203.0.113.7' },
    { address: '2001:0db8:0001:0002::1', network: '2001:db8:1:2' },
    { address: '[2001:db8:1:2::9]:40000', network: '2001:db8:1:2' },
    { address: '[2001:db8:1:2::9]', network: '2001:db8:1:2' },
    { address: 'fe80::1%eth0', network: 'fe80:0:0:0' },
    { address: '2001:db8:1:2:3:4:5:6', network: '2001:db8:1:2' },
    { address: '2001:DB8:1:2::9', network: '2001:db8:1:2' },
    { address: '2001:db8::1', network: '2001:db8:0:0' },
    { address: '1::2:3:4:5:6', network: '1:0:0:2' },
    { address: '::1', network: '0:0:0:0' },
    { address: 'x'.repeat(100), network: 'x'.repeat(64) },
    { address: '', network: '' },
  ];

  for (const { address, network } of cases) {
    it(`takes ${address.slice(0, 30)} for ${network.slice(0, 30)}`, () => {
      expect(networkOf(address)).to.equal(network);
    });
  }
});

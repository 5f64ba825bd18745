import { expect } from 'chai';
import type { AdminLimit } from '../../src/contract/operator-types.ts';
import { createLoad } from '../../src/access/load.ts';
import { describeLimits, joinLimits } from '../../src/admin/limits.ts';
import { compileSchema } from '../support/schemas.ts';

const LIMITS = {
  maxConcurrentRequests: 8,
  maxBodyBytes: 100,
  maxBodyBytesInFlight: 1000,
  maxWebSockets: 20,
  callerSharePercent: 100,
};

function describeUsed(requests: number, bytes: number): readonly AdminLimit[] {
  const load = createLoad(LIMITS);
  const shares = Array.from({ length: requests }, (_, at) => load.enter(() => ({ name: `${at}`, isStranger: false })));
  shares[0]?.take(bytes);
  return describeLimits(load);
}

const briefly = (limits: readonly AdminLimit[]) =>
  limits.map(({ name, used, capacity, fullest_percent }) => [name, used, capacity, fullest_percent]);

describe('describeLimits', () => {
  it('says how much of each limit is taken, and which setting it is', () => {
    const limits = describeUsed(2, 100);
    expect(briefly(limits)).to.deep.equal([
      ['requests', 2, 8, 25],
      ['body_bytes', 100, 1000, 10],
      ['web_sockets', 0, 20, 0],
      ['history_bytes', 0, 256 * 1024 * 1024, 0],
    ]);
    const isList = compileSchema('admin.json#/$defs/AdminLimitList', { closed: true });
    expect(isList({ object: 'list', gateway: 'gateway-1', data: limits }), JSON.stringify(isList.errors)).to.equal(
      true,
    );
  });
});

describe('joinLimits', () => {
  it('sums up what processes have, and says how full the fullest one is', () => {
    expect(briefly(joinLimits([describeUsed(1, 0), describeUsed(4, 50), []])).slice(0, 2)).to.deep.equal([
      ['requests', 5, 16, 50],
      ['body_bytes', 50, 2000, 5],
    ]);
    expect(joinLimits([[], []])).to.deep.equal([]);
  });
});

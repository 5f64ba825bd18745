import { expect } from 'chai';
import type { BackendState } from '../../src/backend/backends.ts';
import { describeBackends, joinBackends } from '../../src/admin/backends.ts';
import { onlyBackend } from '../support/only-backend.ts';
import { compileSchema } from '../support/schemas.ts';

const NOW_MS = 1_790_000_000_000;

function stateOf(name: string, state: Partial<BackendState> = {}): BackendState {
  return {
    spec: onlyBackend({ name, isOnly: false, apiKey: 'canary', models: ['m'] }),
    state: 'up',
    restMs: 0,
    reason: null,
    addresses: [],
    running: 1,
    waiting: 2,
    answered: 3,
    failed: 4,
    cancelled: 5,
    rests: 6,
    ...state,
  };
}

describe('describeBackends', () => {
  it('says all but the key, and until when a backend rests', () => {
    const [up, resting] = describeBackends(
      [stateOf('a'), stateOf('b', { state: 'resting', restMs: 1500, reason: 'upstream_timeout' })],
      NOW_MS,
    );
    expect(up).to.include({ state: 'up', resting_until: null, reason: null, waiting: 2, failed: 4 });
    expect(resting).to.include({ resting_until: 1_790_000_002, reason: 'upstream_timeout' });
    expect(JSON.stringify(up)).to.not.include('canary');
    const isBackend = compileSchema('admin.json#/$defs/AdminBackend', { closed: true });
    for (const backend of [up, resting]) expect(isBackend(backend), JSON.stringify(isBackend.errors)).to.equal(true);
  });
});

describe('joinBackends', () => {
  it('sums up what processes have seen, with the worst state and the latest end', () => {
    const list = (...states: BackendState[]) => describeBackends(states, NOW_MS);
    const up = { address: '10.0.0.1', state: 'up', restMs: 0, reason: null } as const;
    const gone = { address: '10.0.0.2', state: 'resting', restMs: 1000, reason: 'upstream_unreachable' } as const;
    const other = { ...up, address: '10.0.0.3' };
    const joined = joinBackends([
      list(stateOf('a', { state: 'draining' }), stateOf('b', { state: 'resting', restMs: 1000 })),
      list(
        stateOf('a', { addresses: [up, gone] }),
        stateOf('b', { state: 'resting', restMs: 9000, reason: 'upstream_error' }),
      ),
      list(stateOf('a', { state: 'trial', reason: 'upstream_timeout', addresses: [{ ...gone, restMs: 9000 }, other] })),
    ]);
    expect(joined.map(({ name, state, running, rests }) => ({ name, state, running, rests }))).to.deep.equal([
      { name: 'a', state: 'trial', running: 3, rests: 18 },
      { name: 'b', state: 'resting', running: 2, rests: 12 },
    ]);
    expect(joined[0]?.reason).to.equal('upstream_timeout');
    expect(
      joined[0]?.addresses.map(({ address, state, resting_until }) => ({ address, state, resting_until })),
    ).to.deep.equal([
      { address: '10.0.0.1', state: 'up', resting_until: null },
      { address: '10.0.0.2', state: 'resting', resting_until: 1_790_000_009 },
      { address: '10.0.0.3', state: 'up', resting_until: null },
    ]);
    expect(joined[1]?.resting_until).to.equal(1_790_000_009);
  });
});

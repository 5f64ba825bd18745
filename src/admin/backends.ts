import type { BackendState, RestingState } from '../backend/backends.ts';
import type { AdminBackend } from '../contract/operator-types.ts';

/** Returns the backends as schemas/admin.json has them. */
export function describeBackends(states: readonly BackendState[], nowMs: number): readonly AdminBackend[] {
  const until = ({ state, restMs }: RestingState) => (state === 'resting' ? Math.ceil((nowMs + restMs) / 1000) : null);
  return states.map(({ spec, addresses, ...rest }) => {
    const { state, reason, restMs: _, ...counts } = rest;
    return {
      object: 'backend',
      name: spec.name,
      base_url: spec.baseUrl,
      dialect: spec.upstreamDialect,
      models: spec.models === null ? null : [...spec.models],
      weight: spec.weight,
      max_concurrent: spec.maxConcurrent,
      state,
      resting_until: until(rest),
      reason,
      addresses: addresses.map((each) => ({
        address: each.address,
        state: each.state,
        resting_until: until(each),
        reason: each.reason,
      })),
      ...counts,
    };
  });
}

/** Returns the backends of several processes as one list, with the worst state of each. */
export function joinBackends(lists: readonly (readonly AdminBackend[])[]): readonly AdminBackend[] {
  const joined = new Map<string, AdminBackend>();
  for (const backend of lists.flat()) {
    const known = joined.get(backend.name);
    joined.set(backend.name, known === undefined ? backend : join(known, backend));
  }
  return [...joined.values()];
}

/** The worst is the last. */
const STATES: readonly AdminBackend['state'][] = ['draining', 'up', 'trial', 'resting'];

function worstOf<Resting extends Pick<AdminBackend, 'state' | 'resting_until'>>(one: Resting, other: Resting): Resting {
  const worst = STATES.indexOf(other.state) > STATES.indexOf(one.state) ? other : one;
  const latest = Math.max(one.resting_until ?? 0, other.resting_until ?? 0);
  return { ...worst, resting_until: latest === 0 ? null : latest };
}

function join(one: AdminBackend, other: AdminBackend): AdminBackend {
  const addresses = new Map(one.addresses.map((each) => [each.address, each]));
  for (const each of other.addresses) {
    const known = addresses.get(each.address);
    addresses.set(each.address, known === undefined ? each : worstOf(known, each));
  }
  return {
    ...worstOf(one, other),
    addresses: [...addresses.values()],
    running: one.running + other.running,
    waiting: one.waiting + other.waiting,
    answered: one.answered + other.answered,
    failed: one.failed + other.failed,
    cancelled: one.cancelled + other.cancelled,
    rests: one.rests + other.rests,
  };
}

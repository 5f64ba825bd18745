import { randomOutages, type Scenario } from './simulate.ts';

const REQUESTS = {
  seed: 1,
  conversations: 1000,
  turns: 20,
  hotShare: 0,
  slots: 16,
  room: 0,
  cachedPrefixes: 200,
  failover: 'any',
} as const satisfies Partial<Scenario>;

/** One gateway knows how much runs at each of 10 replicas: requests wait there. */
export function oneGateway(requests: number): Readonly<Record<string, Scenario>> {
  const well = { ...REQUESTS, gateways: 1, replicas: 10, requests, perSecond: 45, maxConcurrent: 16, outages: [] };
  const failing = { ...well, outages: randomOutages({ ...well, everyMs: 300_000, lastsMs: 15_000 }) };
  const busy = { ...failing, perSecond: 60 };
  return {
    'nothing fails': well,
    'replicas fail': failing,
    'replicas fail, failover `safe`': { ...failing, failover: 'safe' },
    'replicas fail, a fifth has one prefix': { ...failing, hotShare: 0.2 },
    'replicas fail, a third more requests': {
      ...busy,
      outages: randomOutages({ ...busy, everyMs: 300_000, lastsMs: 15_000 }),
    },
  };
}

/** Many gateways see but a small part of what runs at many replicas, and the replicas let it wait or refuse it. */
export function manyGateways(size: Pick<Scenario, 'gateways' | 'replicas' | 'requests'>): Record<string, Scenario> {
  const part = size.replicas / 100;
  const well: Scenario = {
    ...REQUESTS,
    ...size,
    perSecond: 436 * part,
    conversations: 10_000 * part,
    room: 32,
    maxConcurrent: null,
    outages: [],
  };
  const failing = { ...well, outages: randomOutages({ ...well, everyMs: 300_000, lastsMs: 15_000 }) };
  const hot = { ...failing, hotShare: 2 / size.replicas };
  return {
    'no request shares a prefix': { ...well, turns: 1 },
    'nothing fails': well,
    'replicas fail': failing,
    'replicas fail, 2 % have one prefix': hot,
    'the same with one gateway and `max_concurrent`': { ...hot, gateways: 1, maxConcurrent: REQUESTS.slots },
  };
}

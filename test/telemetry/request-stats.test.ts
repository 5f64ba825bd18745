import { expect } from 'chai';
import type { CountedCaller, RequestEnd, RequestFacts } from '../../src/telemetry/facts.ts';
import { toGroupId, toUniquePart } from '../../src/core/ids.ts';
import { nameOfTime } from '../../src/core/books/request-stats.ts';
import {
  createStatsObserver,
  type StatsObserver,
  type StatsObserverOptions,
} from '../../src/telemetry/request-stats.ts';
import { useHeldTime } from '../support/held-time.ts';
import { beginFacts } from '../support/observe.ts';
import { USAGE } from '../support/records.ts';

const HOUR_MS = 3_600_000;
const GROUP = toGroupId(toUniquePart('0'.repeat(32)));
const ADA: CountedCaller = { name: 'key_ada', groupId: GROUP, isStranger: () => false };
const END: RequestEnd = { outcome: 'answered', status: 200, durationMs: 3000, bytes: 1000, requestId: 'req_1' };
const REJECTED: RequestEnd = { ...END, outcome: 'rejected', status: 429 };
const ANSWERED = { model: 'm', backend: 'answered', counted: ADA } as const;

describe('the observer that counts for statistics', () => {
  const passTime = useHeldTime();
  let observer: StatsObserver;
  let written: Parameters<StatsObserverOptions['write']>[0];
  let fails: boolean;
  let nowMs: number;

  beforeEach(() => {
    written = [];
    fails = false;
    nowMs = 5 * HOUR_MS;
    observer = createStatsObserver({
      async write(stats) {
        if (fails) throw new Error('the store is away');
        written = [...written, ...stats];
      },
      nowMs: () => nowMs,
      everyMs: 100,
    });
  });
  afterEach(() => observer.close());

  function end(facts: Partial<RequestFacts>, how: Partial<RequestEnd> = {}): void {
    observer.end({ ...beginFacts(), ...facts }, { ...END, ...how });
  }

  async function counted() {
    await observer.flush();
    return written.map(({ model, counts }) => [model, counts]);
  }

  it('adds up the times of a caller, a model and an hour, and writes them from time to time', async () => {
    const startedAtMs = 1000;
    end({ ...ANSWERED, stream: true, startedAtMs, firstOutputAtMs: startedAtMs + 200 });
    end(ANSWERED);
    nowMs += HOUR_MS;
    end(ANSWERED, { durationMs: 50 });
    expect(written).to.deep.equal([]);
    await passTime(100);
    const row = { caller: 'key_ada', groupId: GROUP, model: 'm' };
    expect(written).to.deep.equal([
      { ...row, hour: 5, counts: { [nameOfTime('duration', 3000)]: 2, [nameOfTime('first_token', 200)]: 1 } },
      { ...row, hour: 6, counts: { [nameOfTime('duration', 50)]: 1 } },
    ]);
  });

  it('counts refusals by code, of a model only after it has answered', async () => {
    const refused = { ...ANSWERED, backend: 'not asked', errorCode: 'rate_limit_exceeded' } as const;
    end(refused, REJECTED);
    end(ANSWERED);
    end(refused, REJECTED);
    end({ ...refused, model: undefined, errorCode: 'invalid_json' }, REJECTED);
    expect(await counted()).to.deep.equal([
      ['', { 'rejected:rate_limit_exceeded': 1, 'rejected:invalid_json': 1 }],
      ['m', { [nameOfTime('duration', 3000)]: 1, 'rejected:rate_limit_exceeded': 1 }],
    ]);
  });

  it('adds up the input of each of several backends, also where the answer was cut', async () => {
    const usage = { ...USAGE, input_tokens: 1000, input_tokens_details: { cached_tokens: 640, cache_write_tokens: 0 } };
    const prompt = { turn: { turn: 'extended' }, reachableTokens: 900, changedBackend: true } as const;
    end({ ...ANSWERED, usage, prompt });
    const [[, ofOnly]] = (await counted()) as [[string, object]];
    expect(ofOnly).to.deep.equal({ [nameOfTime('duration', 3000)]: 1 });
    written = [];
    end({ ...ANSWERED, usage, prompt, savedMicro: 640, upstream: 'gpu-a' }, { outcome: 'cancelled' });
    end({ ...ANSWERED, usage, upstream: 'gpu-a' }, { outcome: 'failed' });
    expect(await counted()).to.deep.equal([
      [
        'm',
        { 'input:gpu-a': 2000, 'cached:gpu-a': 1280, 'reachable:gpu-a': 900, 'moved:gpu-a': 1, 'saved:gpu-a': 640 },
      ],
    ]);
  });

  for (const { name, facts, how } of [
    { name: 'without a key', facts: { ...ANSWERED, counted: undefined } },
    { name: 'of a stranger', facts: { ...ANSWERED, counted: { ...ADA, isStranger: () => true } } },
    { name: 'for a list', facts: { ...ANSWERED, endpoint: 'requests' } },
    { name: 'that opens a WebSocket', facts: { ...ANSWERED, model: undefined }, how: { status: 101 } },
    { name: 'for a path that is not there', facts: { ...ANSWERED, errorCode: 'not_found' }, how: REJECTED },
    {
      name: 'that failed at the backend',
      facts: { ...ANSWERED, errorCode: 'upstream_error' },
      how: { outcome: 'failed' },
    },
    { name: 'that was a duplicate', facts: ANSWERED, how: { outcome: 'duplicate' } },
  ] as readonly { name: string; facts: Partial<RequestFacts>; how?: Partial<RequestEnd> }[]) {
    it(`counts no request ${name}`, async () => {
      end(facts, how);
      expect(await counted()).to.deep.equal([]);
    });
  }

  it('holds a bounded number of callers, and goes on when the store was away', async () => {
    for (let at = 0; at < 10_001; at += 1) end({ ...ANSWERED, counted: { ...ADA, name: `key_${at}` } });
    expect(await counted()).to.have.length(10_000);
    written = [];
    fails = true;
    end(ANSWERED);
    await observer.flush();
    fails = false;
    end(ANSWERED, { durationMs: 7 });
    expect(await counted()).to.deep.equal([['m', { [nameOfTime('duration', 7)]: 1 }]]);
  });
});

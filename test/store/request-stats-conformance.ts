/** What every engine promises about how long requests took; called by the tests of each. */
import { expect } from 'chai';
import { toGroupId, toUniquePart } from '../../src/core/ids.ts';
import { USAGE_KEPT_DAYS } from '../../src/core/books/keys.ts';
import type { RequestStats, RequestStatsQuery } from '../../src/core/books/request-stats.ts';
import type { Store } from '../../src/core/books/store.ts';
import { useStoreAt, type EngineUnderTest } from './conformance.ts';

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
const AT_MS = Date.UTC(2026, 8, 30, 22);
const HOUR = AT_MS / HOUR_MS;
const GROUP = toGroupId(toUniquePart('7'.repeat(32)));

const statsOf = (stats: Partial<RequestStats>): RequestStats => ({
  caller: 'ada',
  groupId: null,
  model: 'm',
  hour: HOUR,
  counts: { 'duration:5': 1 },
  ...stats,
});

/** Describes what a store knows of the times of requests by its promises. */
export function describeRequestStats(name: string, engine: EngineUnderTest): void {
  describe(`the statistics of requests in the store ${name}`, () => {
    let store: Store;
    const { clock } = useStoreAt(engine, AT_MS, (opened) => {
      store = opened;
    });

    async function list(query: Partial<RequestStatsQuery>) {
      const span = { fromMs: AT_MS, untilMs: AT_MS + 1 };
      const rows = await store.listRequestStats({ of: 'all', per: 'hour', ...span, ...query });
      const sorted = [...rows].sort((one, other) => one.startMs - other.startMs || (one.model < other.model ? -1 : 1));
      return sorted.map(({ startMs, model, counts }) => [startMs, model, counts]);
    }

    it('add up, whoever has counted them', async () => {
      await Promise.all([
        store.addRequestStats([statsOf({ counts: { 'duration:5': 1, 'rejected:forbidden': 2 } })]),
        store.addRequestStats([
          statsOf({ counts: { 'duration:5': 4, 'first_token:9': 1 } }),
          statsOf({ model: 'n ü"' }),
        ]),
      ]);
      expect(await list({ of: ['ada'] })).to.deep.equal([
        [AT_MS, 'm', { 'duration:5': 5, 'first_token:9': 1, 'rejected:forbidden': 2 }],
        [AT_MS, 'n ü"', { 'duration:5': 1 }],
      ]);
    });

    it('are there for a caller under each of its names, for a group, and for all', async () => {
      await store.addRequestStats([
        statsOf({}),
        statsOf({ caller: 'past', counts: { 'duration:6': 1 } }),
        statsOf({ caller: 'bob', groupId: GROUP, counts: { 'duration:7': 1 } }),
      ]);
      expect(await list({ of: ['ada', 'past'] })).to.have.length(2);
      expect(await list({ of: GROUP })).to.deep.equal([[AT_MS, 'm', { 'duration:7': 1 }]]);
      expect(await list({})).to.deep.equal([[AT_MS, 'm', { 'duration:5': 1, 'duration:6': 1, 'duration:7': 1 }]]);
      expect(await list({ of: ['nobody'] })).to.deep.equal([]);
    });

    it('are there by hour, day and month of UTC', async () => {
      const monthMs = Date.UTC(2026, 8, 1);
      const stats = [HOUR - 24, HOUR - 1, HOUR, HOUR + 2].map((hour) => statsOf({ hour }));
      await store.addRequestStats(stats);
      const span = { fromMs: AT_MS - HOUR_MS, untilMs: AT_MS + 5 * HOUR_MS };
      const startsOf = async (per: 'hour' | 'day' | 'month') =>
        (await list({ per, ...span })).map(([start, , counts]) => [
          start,
          (counts as Record<string, number>)['duration:5'],
        ]);
      expect(await startsOf('hour')).to.deep.equal([
        [AT_MS - HOUR_MS, 1],
        [AT_MS, 1],
        [AT_MS + 2 * HOUR_MS, 1],
      ]);
      expect(await startsOf('day')).to.deep.equal([
        [Date.UTC(2026, 8, 30), 2],
        [Date.UTC(2026, 9, 1), 1],
      ]);
      expect(await startsOf('month')).to.deep.equal([
        [monthMs, 3],
        [Date.UTC(2026, 9, 1), 1],
      ]);
    });

    it('go when they are too old, the hours before the days', async () => {
      const callers = Array.from({ length: 150 }, (_, at) => `caller ${at}`);
      await store.addRequestStats(callers.map((caller) => statsOf({ caller })));
      clock.nowMs = AT_MS + 33 * DAY_MS;
      await store.prune(0);
      expect(await list({})).to.deep.equal([]);
      expect(await list({ per: 'day' })).to.have.length(1);
      clock.nowMs = AT_MS + (USAGE_KEPT_DAYS + 31) * DAY_MS;
      await store.prune(0);
      expect([await list({ per: 'day' }), await list({ per: 'month' })]).to.deep.equal([[], []]);
    });
  });
}

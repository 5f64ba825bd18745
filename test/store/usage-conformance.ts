/** What every engine promises about the sums of what was used; called by the tests of each. */
import { expect } from 'chai';
import { USAGE_KEPT_DAYS, type UsageQuery, type UsageRow } from '../../src/store/keys.ts';
import type { Outcome, RecordDraft, Store } from '../../src/store/store.ts';
import { CALLER, newDraft, newOutcome, USAGE } from '../support/records.ts';
import { useStore, type EngineUnderTest } from './conformance.ts';

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
/** The beginning of an hour, on the last day of a month. */
const AT_MS = Date.UTC(2026, 8, 30, 22);
const NEXT_MONTH_MS = Date.UTC(2026, 9, 1);

/** Describes what a store knows of usage by its promises. */
export function describeUsage(name: string, engine: EngineUnderTest): void {
  describe(`the usage in the store ${name}`, () => {
    let nowMs: number;
    let store: Store;

    useStore(
      engine,
      () => nowMs,
      (opened) => {
        store = opened;
      },
    );
    beforeEach(() => {
      nowMs = AT_MS;
    });

    it('is summed up by caller and model', async () => {
      await end({ model: 'm', createdAtMs: AT_MS }, { completedAtMs: AT_MS + 5, costMicro: 3 });
      await end({ model: 'm', createdAtMs: AT_MS }, { completedAtMs: AT_MS + 7, status: 'failed', usage: null });
      await end({ model: 'm', createdAtMs: AT_MS }, { completedAtMs: AT_MS + 9, status: 'cancelled', costMicro: 4 });
      await end({ model: 'other' }, {});
      await end({ model: 'm', caller: ['another'] }, {});
      const rows = await list({ per: 'hour' });
      expect(rows).to.have.lengthOf(3);
      expect(rows.find(({ caller, model }) => caller === CALLER[0] && model === 'm')).to.deep.equal({
        startMs: AT_MS,
        caller: CALLER[0],
        model: 'm',
        requests: 3,
        failed: 1,
        cancelled: 1,
        inputTokens: 2 * USAGE.input_tokens,
        cachedTokens: 2 * USAGE.input_tokens_details.cached_tokens,
        cacheWriteTokens: 2 * USAGE.input_tokens_details.cache_write_tokens,
        outputTokens: 2 * USAGE.output_tokens,
        reasoningTokens: 2 * USAGE.output_tokens_details.reasoning_tokens,
        costMicro: 7,
        durationMs: 21,
      } satisfies UsageRow);
    });

    it('counts what has ended, once, and nothing that was taken back', async () => {
      await store.accept(newDraft());
      const { requestId } = await end({}, {});
      await store.finish(requestId, newOutcome({ completedAtMs: AT_MS }));
      await store.discard(requestId);
      const discarded = newDraft();
      await store.accept(discarded);
      await store.discard(discarded.requestId);
      expect(await requestsPer('hour')).to.deep.equal([[AT_MS, 1]]);
    });

    it('counts what was cancelled when it was to be taken back', async () => {
      const draft = newDraft();
      await store.accept(draft);
      await store.requestCancel(CALLER, draft.requestId);
      await store.discard(draft.requestId);
      expect(await list({ per: 'hour' })).to.have.deep.nested.property('[0].cancelled', 1);
    });

    it('belongs to the hour in which a request ended, to the millisecond', async () => {
      await end({ createdAtMs: AT_MS - DAY_MS }, { completedAtMs: AT_MS - 1 });
      await end({ createdAtMs: AT_MS - DAY_MS }, { completedAtMs: AT_MS });
      expect(await requestsPer('hour')).to.deep.equal([
        [AT_MS - HOUR_MS, 1],
        [AT_MS, 1],
      ]);
    });

    it('is shown by day and by month of UTC, the oldest first', async () => {
      const ends = [NEXT_MONTH_MS, AT_MS, NEXT_MONTH_MS - 1, NEXT_MONTH_MS + 31 * DAY_MS, AT_MS - DAY_MS, AT_MS];
      for (const completedAtMs of ends) await end({}, { completedAtMs });
      expect(await requestsPer('day')).to.deep.equal([
        [Date.UTC(2026, 8, 29), 1],
        [Date.UTC(2026, 8, 30), 3],
        [Date.UTC(2026, 9, 1), 1],
        [Date.UTC(2026, 10, 1), 1],
      ]);
      expect(await requestsPer('month')).to.deep.equal([
        [Date.UTC(2026, 8, 1), 4],
        [Date.UTC(2026, 9, 1), 1],
        [Date.UTC(2026, 10, 1), 1],
      ]);
    });

    it('is shown for the hours that are asked for, the first and the last as a whole', async () => {
      for (const hours of [-1, 0, 1, 2]) await end({}, { completedAtMs: AT_MS + hours * HOUR_MS + 10 });
      const asked = { fromMs: AT_MS + 20, untilMs: AT_MS + HOUR_MS + 1 };
      expect(await requestsPer('hour', asked)).to.deep.equal([
        [AT_MS, 1],
        [AT_MS + HOUR_MS, 1],
      ]);
      expect(await requestsPer('hour', { ...asked, untilMs: AT_MS + HOUR_MS })).to.deep.equal([[AT_MS, 1]]);
      expect(await requestsPer('hour', { fromMs: 5, untilMs: 5 })).to.deep.equal([]);
      expect(await requestsPer('hour', { fromMs: 9, untilMs: 8 })).to.deep.equal([]);
    });

    it('is shown to a caller as far as it is its own, under its present name', async () => {
      await end({ caller: ['past'] }, { costMicro: 1 });
      await end({ caller: ['now', 'past'] }, { costMicro: 2 });
      await end({ caller: ['another'] }, { costMicro: 4 });
      await end({ caller: ['past'] }, { completedAtMs: AT_MS + HOUR_MS, costMicro: 8 });
      const rows = await list({ per: 'hour', caller: ['now', 'past'] });
      expect(rows.map(({ startMs, caller, costMicro }) => [startMs, caller, costMicro])).to.deep.equal([
        [AT_MS, 'now', 3],
        [AT_MS + HOUR_MS, 'now', 8],
      ]);
      expect(await list({ per: 'hour', caller: ['stranger'] })).to.deep.equal([]);
    });

    it('counts no time for a clock that was set back', async () => {
      await end({ createdAtMs: AT_MS + 500 }, { completedAtMs: AT_MS + 100 });
      expect(await list({ per: 'hour' })).to.have.deep.nested.property('[0].durationMs', 0);
    });

    it('counts no further than numbers are exact, and never keeps a request from its end', async () => {
      const endless = { ...USAGE, input_tokens: Number.MAX_SAFE_INTEGER };
      for (let times = 0; times < 2; times += 1) await end({}, { usage: endless });
      expect(await list({ per: 'day' })).to.have.deep.nested.property('[0].inputTokens', Number.MAX_SAFE_INTEGER);
    });

    it('outlives the records, and goes when it is too old', async () => {
      await end({}, { completedAtMs: AT_MS - 1 });
      for (let model = 0; model < 250; model += 1) void end({ model: `m${model}` }, { completedAtMs: AT_MS - 1 });
      await end({}, { completedAtMs: AT_MS });
      nowMs = AT_MS + USAGE_KEPT_DAYS * DAY_MS;
      expect(await store.prune(nowMs)).to.equal(252);
      expect(await requestsPer('hour')).to.deep.equal([[AT_MS, 1]]);
    });

    async function end(overrides: Partial<RecordDraft>, outcome: Partial<Outcome>): Promise<RecordDraft> {
      const draft = newDraft(overrides);
      const accepted = store.accept(draft);
      await store.finish(draft.requestId, newOutcome({ completedAtMs: AT_MS, ...outcome }));
      await accepted;
      return draft;
    }

    function list(query: Partial<UsageQuery> & { per: UsageQuery['per'] }): Promise<readonly UsageRow[]> {
      return store.listUsage({ fromMs: 0, untilMs: 2 * AT_MS, ...query });
    }

    async function requestsPer(per: UsageQuery['per'], span: { fromMs?: number; untilMs?: number } = {}) {
      return (await list({ per, ...span })).map(({ startMs, requests }) => [startMs, requests]);
    }
  });
}

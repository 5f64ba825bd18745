/** What every engine promises about the sums of what was used; called by the tests of each. */
import { expect } from 'chai';
import type { GroupId } from '../../src/contract/ids.ts';
import {
  USAGE_KEPT_DAYS,
  type StoredKey,
  type UsageQuery,
  type UsageRow,
  type UsageTotalsQuery,
} from '../../src/core/books/keys.ts';
import type { Outcome, RecordDraft, Store } from '../../src/core/books/store.ts';
import { newGroupDraft, newKeyDraft } from '../support/keys.ts';
import { CALLER, newDraft, newOutcome, USAGE } from '../support/records.ts';
import { useStoreAt, type EngineUnderTest } from './conformance.ts';

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
/** The beginning of an hour, on the last day of a month. */
const AT_MS = Date.UTC(2026, 8, 30, 22);
const NEXT_MONTH_MS = Date.UTC(2026, 9, 1);

/** Describes what a store knows of usage by its promises. */
export function describeUsage(name: string, engine: EngineUnderTest): void {
  describe(`the usage in the store ${name}`, () => {
    let store: Store;
    const { clock } = useStoreAt(engine, AT_MS, (opened) => {
      store = opened;
    });

    it('is summed up by caller and model', async () => {
      await end({ model: 'm', createdAtMs: AT_MS }, { completedAtMs: AT_MS + 5, costMicro: 3, savedMicro: 2 });
      await end({ model: 'm', createdAtMs: AT_MS }, { completedAtMs: AT_MS + 7, status: 'failed', usage: null });
      await end(
        { model: 'm', createdAtMs: AT_MS },
        { completedAtMs: AT_MS + 9, status: 'cancelled', costMicro: 4, savedMicro: 1 },
      );
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
        savedMicro: 3,
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
      const models = Array.from({ length: 250 }, (_, at) => `m${at}`);
      await Promise.all(models.map((model) => end({ model }, { completedAtMs: AT_MS - 1 })));
      await end({}, { completedAtMs: AT_MS });
      clock.nowMs = AT_MS + USAGE_KEPT_DAYS * DAY_MS;
      expect(await store.prune(clock.nowMs)).to.equal(252);
      expect(await requestsPer('hour')).to.deep.equal([[AT_MS, 1]]);
    });

    it('counts the models of a caller beyond 250 in an hour together, and of nobody else', async () => {
      const { groupId } = await store.createGroup(newGroupDraft());
      const { keyId } = await store.createKey(newKeyDraft({ groupId }));
      const hold = { keyId, heldMicro: 0, interruptedCostMicro: null, tokens: 0 };
      const endAll = (names: readonly string[], completedAtMs = AT_MS, caller: RecordDraft['caller'] = [keyId]) =>
        Promise.all(names.map((model) => end({ model, caller, hold }, { completedAtMs })));
      const namesOf = (count: number, of: string) => Array.from({ length: count }, (_, at) => `${of}${at}`);
      await endAll(namesOf(250, 'm'));
      await endAll(namesOf(5, 'more'));
      await endAll(['m0', 'm249', 'more0', 'last']);
      await endAll(['later'], AT_MS + HOUR_MS);
      await endAll(['of another'], AT_MS, ['another']);
      const own = { caller: [keyId] } as const;
      for (const query of [own, { group: groupId }]) {
        const rows = await list({ per: 'hour', ...query });
        const counted = (of: string) => rows.filter(({ model }) => model === of).map(({ requests }) => requests);
        const [named, others] = [['m0', 'm1', 'm249', 'later'].flatMap(counted), counted('(others)')];
        expect({ named, others }, JSON.stringify(query)).to.deep.equal({ named: [2, 1, 2, 1], others: [7] });
        expect(rows.length).to.equal(252 + (query === own ? 0 : 1));
      }
    });

    describe('in totals', () => {
      const DAY = Date.UTC(2026, 7, 1);
      const MODELS = ['m', 'n'];
      let groupId: GroupId;
      let otherId: GroupId;
      let keys: readonly StoredKey[];

      /** Each day has a request more than the day before it, by turns of the keys of two groups, for the same model. */
      beforeEach(async () => {
        ({ groupId } = await store.createGroup(newGroupDraft()));
        ({ groupId: otherId } = await store.createGroup(newGroupDraft()));
        keys = [
          await store.createKey(newKeyDraft({ groupId })),
          await store.createKey(newKeyDraft({ groupId: otherId })),
        ];
        for (let day = 0; day < 9; day += 1) {
          for (let at = 0; at <= day; at += 1) await endOn(day, at);
        }
        clock.nowMs = DAY + 9 * DAY_MS + HOUR_MS;
      });

      function endOn(day: number, at: number): Promise<RecordDraft> {
        const { keyId } = keys[at % 2] ?? {};
        if (keyId === undefined) throw new Error('there are two keys');
        const createdAtMs = DAY + day * DAY_MS + at * HOUR_MS;
        const hold = { keyId, heldMicro: 0, interruptedCostMicro: null, tokens: 0 };
        const draft = { caller: [keyId] as const, model: MODELS[day % 2] ?? '', createdAtMs, hold };
        return end(draft, { completedAtMs: createdAtMs + 3, costMicro: 10 + day, savedMicro: day });
      }

      const QUERIES = (['key', 'group', 'model', 'time'] as const).flatMap((by) =>
        (['hour', 'day', 'month'] as const).flatMap((per) => [
          { by, per },
          { by, per, ofGroup: true },
          { by, per, model: 'n' },
        ]),
      );

      /** All answers, for some spans of time that begin and end within days. */
      async function all() {
        const answers = [];
        for (const { ofGroup, ...query } of QUERIES as readonly ((typeof QUERIES)[number] & { ofGroup?: true })[]) {
          for (const [from, until] of [
            [0, 9],
            [1.3, 8.6],
            [4, 8],
          ] as const) {
            const span = { fromMs: DAY + from * DAY_MS, untilMs: DAY + until * DAY_MS };
            const whole = { ...query, ...span, ...(ofGroup && { group: groupId }), limit: 5 };
            answers.push({ ...whole, ...(await store.listUsageTotals(whole)) });
          }
        }
        return answers;
      }

      async function rollUpAll(): Promise<void> {
        while (await store.rollUpUsage());
      }

      it('is summed up by key, group, model and time', async () => {
        const span = { fromMs: DAY, untilMs: DAY + 9 * DAY_MS, per: 'day', limit: 2 } as const;
        const briefly = async (query: Partial<UsageTotalsQuery> & Pick<UsageTotalsQuery, 'by'>) => {
          const { total, totals, hasMore } = await store.listUsageTotals({ ...span, ...query });
          return [total.requests, totals.map(({ name, requests, costMicro }) => [name, requests, costMicro]), hasMore];
        };
        const [ada, bob] = keys.map(({ keyId }) => keyId);
        expect(await briefly({ by: 'key' })).to.deep.equal([
          45,
          [
            [ada, 25, 380],
            [bob, 20, 310],
          ],
          false,
        ]);
        expect(await briefly({ by: 'group' })).to.deep.equal([
          45,
          [
            [groupId, 25, 380],
            [otherId, 20, 310],
          ],
          false,
        ]);
        expect(await briefly({ by: 'model', group: groupId })).to.deep.equal([
          25,
          [
            ['m', 15, 230],
            ['n', 10, 150],
          ],
          false,
        ]);
        expect(await briefly({ by: 'time', model: 'n', caller: [ada ?? ''], group: groupId })).to.deep.equal([
          10,
          [
            [new Date(DAY + 7 * DAY_MS).toISOString(), 4, 68],
            [new Date(DAY + 5 * DAY_MS).toISOString(), 3, 45],
          ],
          true,
        ]);
        expect(await briefly({ by: 'time' })).to.deep.equal([
          45,
          [
            [new Date(DAY + 8 * DAY_MS).toISOString(), 9, 162],
            [new Date(DAY + 7 * DAY_MS).toISOString(), 8, 136],
          ],
          true,
        ]);
        expect(await briefly({ by: 'time', per: 'hour', caller: [bob ?? ''] })).to.deep.equal([
          20,
          [
            [new Date(DAY + 8 * DAY_MS + 7 * HOUR_MS).toISOString(), 1, 18],
            [new Date(DAY + 8 * DAY_MS + 5 * HOUR_MS).toISOString(), 1, 18],
          ],
          true,
        ]);
        expect(await briefly({ by: 'model', fromMs: 0, untilMs: 1 })).to.deep.equal([0, [], false]);
      });

      it('is the same before days are rolled up and after, and when some of their usage comes late', async () => {
        const before = await all();
        await rollUpAll();
        expect(await all()).to.deep.equal(before);
        await endOn(4, 1);
        await endOn(6, 0);
        const after = await all();
        expect(after).not.to.deep.equal(before);
        await rollUpAll();
        expect(await all()).to.deep.equal(after);
      });

      it('goes with the hours that it sums up', async () => {
        await rollUpAll();
        clock.nowMs = DAY + (5 + USAGE_KEPT_DAYS) * DAY_MS;
        await store.prune(clock.nowMs);
        const span = { fromMs: 0, untilMs: clock.nowMs, per: 'month', limit: 5 } as const;
        const { total } = await store.listUsageTotals({ ...span, by: 'key' });
        expect(total.requests).to.equal(6 + 7 + 8 + 9);
      });
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

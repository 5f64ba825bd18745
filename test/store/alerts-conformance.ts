/** What every engine promises about alerts; called by the tests of each. */
import { expect } from 'chai';
import type { KeyId } from '../../src/contract/ids.ts';
import { createCalendar } from '../../src/store/calendar.ts';
import { DAY_MS, UTC } from '../../src/core/time.ts';
import type { SpendingQuery } from '../../src/core/books/alerts.ts';
import type { KeyDraft } from '../../src/core/books/keys.ts';
import { USAGE_KEPT_DAYS } from '../../src/core/books/keys.ts';
import type { Store } from '../../src/core/books/store.ts';
import { NO_LIMITS, newGroupDraft, newHold, newKeyDraft } from '../support/keys.ts';
import { newDraft, newOutcome } from '../support/records.ts';
import { useStore, type EngineUnderTest } from './conformance.ts';

const NOON_MS = Date.UTC(2026, 8, 21, 12);

/** Describes what the store says about spending, and who sends an alert. */
export function describeAlerts(name: string, engine: EngineUnderTest): void {
  describe(`the alerts of the store ${name}`, () => {
    let nowMs: number;
    let store: Store;

    const open = useStore(
      engine,
      () => nowMs,
      (opened) => {
        store = opened;
      },
    );
    beforeEach(() => {
      nowMs = NOON_MS;
    });

    it('tells once of the currency before, when something was charged in it', async () => {
      expect(await store.noteCurrency('EUR')).to.equal(undefined);
      expect(await store.noteCurrency('USD'), 'nothing was charged').to.equal(undefined);
      await spend((await makeKey({})).keyId, 5);
      expect(await store.noteCurrency('USD')).to.equal(undefined);
      expect([await store.noteCurrency('GBP'), await store.noteCurrency('GBP')]).to.deep.equal(['USD', undefined]);
    });

    describe('the list of what accounts have spent', () => {
      const idsOf = async (query: Partial<SpendingQuery> = {}) =>
        (await store.listSpending({ of: 'keys', percent: 80, limit: 10, ...query })).map(({ id }) => id);

      it('has the keys that have used this share of their credits', async () => {
        const key = await makeKey({ creditsMicro: 100, createdAtMs: NOON_MS - 1 });
        await spend(key.keyId, 79);
        expect(await idsOf()).to.deep.equal([]);
        await spend(key.keyId, 1);
        expect(await store.listSpending({ of: 'keys', percent: 80, limit: 10 })).to.have.deep.members([
          {
            seq: (await store.listSpending({ of: 'keys', percent: 80, limit: 10 }))[0]?.seq,
            id: key.keyId,
            name: key.name,
            groupId: null,
            groupName: null,
            fundedMicro: 100,
            fundedAtMs: NOON_MS - 1,
            leftMicro: 20,
            spendPerDayMicro: null,
            daySpentMicro: 80,
            spendPerWeekMicro: null,
            weekSpentMicro: 80,
            spendPerMonthMicro: null,
            monthSpentMicro: 80,
            today: createCalendar(UTC).at(NOON_MS),
          },
        ]);
        expect(await idsOf({ percent: 81 })).to.deep.equal([]);
      });

      it('counts credits from the latest entry of the operator, and held ones as left', async () => {
        const { keyId } = await makeKey({ creditsMicro: 100 });
        await store.accept(newDraft({ createdAtMs: nowMs, hold: newHold(keyId, 90) }));
        expect(await idsOf()).to.deep.equal([]);
        const other = await makeKey({ creditsMicro: 100 });
        await spend(other.keyId, 90);
        expect(await idsOf()).to.deep.equal([other.keyId]);
        await store.credit(other.keyId, { kind: 'grant', amountMicro: 40, note: '', createdAtMs: nowMs });
        expect(await idsOf()).to.deep.equal([]);
        const [spending] = await store.listSpending({ of: 'keys', percent: 0, limit: 1 });
        expect(spending).to.include({ id: other.keyId, fundedMicro: 50, fundedAtMs: NOON_MS, leftMicro: 50 });
        await spend(other.keyId, 40);
        expect(await idsOf()).to.deep.equal([other.keyId]);
      });

      it('has those at a limit per day only on that day, and those at one per month until it ends', async () => {
        const perDay = await makeKey({ limits: { ...NO_LIMITS, spendPerDayMicro: 10 } });
        const perMonth = await makeKey({ limits: { ...NO_LIMITS, spendPerMonthMicro: 10 } });
        for (const { keyId } of [perDay, perMonth]) await spend(keyId, 8);
        expect(await idsOf()).to.deep.equal([perMonth.keyId, perDay.keyId]);
        nowMs += DAY_MS;
        expect(await idsOf()).to.deep.equal([perMonth.keyId]);
        nowMs += 31 * DAY_MS;
        expect(await idsOf()).to.deep.equal([]);
      });

      it('leaves out keys without funds and limits, disabled and expired ones', async () => {
        await spend((await makeKey({})).keyId, 100);
        const [disabled, expired] = [await makeKey({ creditsMicro: 1 }), await makeKey({ creditsMicro: 1 })];
        for (const { keyId } of [disabled, expired]) await spend(keyId, 1);
        expect(await idsOf()).to.have.length(2);
        await store.updateKey(disabled.keyId, { isDisabled: true });
        await store.updateKey(expired.keyId, { expiresAtMs: nowMs });
        expect(await idsOf()).to.deep.equal([]);
      });

      it('has groups, also all of them, and the group of a key', async () => {
        const group = await store.createGroup(newGroupDraft({ creditsMicro: 100 }));
        const { keyId } = await makeKey({ groupId: group.groupId, creditsMicro: 10 });
        await spend(keyId, 10);
        expect(await idsOf({ of: 'groups' })).to.deep.equal([]);
        expect(await idsOf({ of: 'groups', percent: 0 })).to.deep.equal([group.groupId]);
        const [spending] = await store.listSpending({ of: 'keys', percent: 80, limit: 1 });
        expect(spending).to.include({ groupId: group.groupId, groupName: group.name });
        await store.creditGroup(group.groupId, { kind: 'adjust', amountMicro: -80, note: '', createdAtMs: nowMs });
        expect((await store.listSpending({ of: 'groups', percent: 0, limit: 1 }))[0]).to.include({
          fundedMicro: 10,
          leftMicro: 10,
        });
      });

      it('has pages', async () => {
        const made = [];
        for (let at = 0; at < 3; at += 1) made.push(await makeKey({ creditsMicro: 1 }));
        for (const { keyId } of made) await spend(keyId, 1);
        const [first, second, third] = made.map(({ keyId }) => keyId);
        expect(await idsOf({ limit: 2 })).to.deep.equal([third, second]);
        const [, last] = await store.listSpending({ of: 'keys', percent: 80, limit: 2 });
        expect(await idsOf({ limit: 2, beforeSeq: last?.seq ?? 0 })).to.deep.equal([first]);
      });

      it('compares amounts as large as they can be', async () => {
        const { keyId } = await makeKey({ creditsMicro: Number.MAX_SAFE_INTEGER });
        expect(await idsOf({ percent: 1 })).to.deep.equal([]);
        expect(await idsOf({ percent: 0 })).to.deep.equal([keyId]);
      });
    });

    describe('a claim', () => {
      const CLAIM = { subject: 'key_1 credits', period: 'May', level: 80 };

      it('is had by one of many in three gateways, once for each level and period', async () => {
        const stores = engine.isShared ? [store, await open(), await open()] : [store];
        try {
          const claimByAll = async (claim: typeof CLAIM) => {
            const claims = Array.from({ length: 60 }, (_, at) => (stores[at % 3] ?? store).claimAlert(claim));
            return (await Promise.all(claims)).filter(Boolean).length;
          };
          expect(await claimByAll(CLAIM)).to.equal(1);
          expect(await claimByAll(CLAIM)).to.equal(0);
          expect(await claimByAll({ ...CLAIM, level: 95 })).to.equal(1);
          expect(await claimByAll(CLAIM)).to.equal(0);
          expect(await claimByAll({ ...CLAIM, period: 'June' })).to.equal(1);
          expect(await claimByAll({ ...CLAIM, subject: 'key_2 credits' })).to.equal(1);
        } finally {
          await Promise.all(stores.slice(1).map((other) => other.close()));
        }
      });

      it('holds for its time, where it has one', async () => {
        const claim = { ...CLAIM, againAfterMs: 1000 };
        expect(await store.claimAlert(claim)).to.equal(true);
        nowMs += 1000;
        expect(await store.claimAlert(claim)).to.equal(false);
        nowMs += 1;
        expect(await store.claimAlert(claim)).to.equal(true);
        expect(await store.claimAlert(claim)).to.equal(false);
      });

      it('is pruned with the usage', async () => {
        await store.claimAlert(CLAIM);
        nowMs += USAGE_KEPT_DAYS * DAY_MS;
        await store.prune(nowMs);
        expect(await store.claimAlert(CLAIM)).to.equal(false);
        nowMs += DAY_MS;
        await store.prune(nowMs);
        expect(await store.claimAlert(CLAIM)).to.equal(true);
      });
    });

    function makeKey(draft: Partial<KeyDraft>) {
      return store.createKey(newKeyDraft(draft));
    }

    async function spend(keyId: KeyId, costMicro: number): Promise<void> {
      const draft = newDraft({ createdAtMs: nowMs, hold: newHold(keyId, costMicro) });
      expect(await store.accept(draft)).to.include({ kind: 'accepted' });
      await store.finish(draft.requestId, newOutcome({ completedAtMs: nowMs, costMicro }));
    }
  });
}

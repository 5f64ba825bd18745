/** What every engine promises about holds and charges; called by the tests of each. */
import type { KeyLimits } from '../../src/core/money/limits.ts';
import { expect } from 'chai';
import type { KeyId } from '../../src/contract/ids.ts';
import type { KeyDraft, LedgerEntry } from '../../src/core/books/keys.ts';
import type { Acceptance, Outcome, RecordDraft, Store } from '../../src/core/books/store.ts';
import { NO_LIMITS, newHold, newKeyDraft, newKeyId } from '../support/keys.ts';
import { CALLER, newDraft, newKeyedDraft, newOutcome } from '../support/records.ts';
import { useStoreAt, type EngineUnderTest } from './conformance.ts';

const ZONE = { timeZone: 'Europe/Berlin' };
/** The last millisecond of a month, of a day of 25 hours, and of a week whose Sunday has 23. */
const MONTH_END_MS = Date.parse('2026-09-30T22:00:00Z') - 1;
const DAY_END_MS = Date.parse('2026-10-25T23:00:00Z') - 1;
const WEEK_END_MS = Date.parse('2026-03-29T22:00:00Z') - 1;
const NOON_MS = Date.UTC(2026, 8, 21, 12);
const MAX = Number.MAX_SAFE_INTEGER;

/** Describes what requests do to the funds of keys by the promises of the store. */
export function describeCharges(name: string, engine: EngineUnderTest): void {
  describe(`the charges of the store ${name}`, () => {
    let store: Store;
    const { clock } = useStoreAt(
      engine,
      NOON_MS,
      (opened) => {
        store = opened;
      },
      ZONE,
    );

    describe('a request of a prepaid key', () => {
      it('holds what it may cost, until its end', async () => {
        const keyId = await makeKey({ creditsMicro: 100 });
        const { requestId } = await accepted({ hold: newHold(keyId, 30), createdAtMs: 7 });
        expect(await fundsOf(keyId)).to.include({ balanceMicro: 70, heldMicro: 30, daySpentMicro: 0 });
        expect((await ledgerOf(keyId))[0]).to.include({ kind: 'reserve', amountMicro: -30, requestId, createdAtMs: 7 });
      });

      const ends = [
        { what: 'what it has cost', costMicro: 12, entries: { release: 30, settle: -12 } },
        { what: 'more than it held', costMicro: 130, entries: { release: 30, settle: -130 } },
        { what: 'nothing', costMicro: 0, entries: { release: 30 } },
        { what: 'nothing where no cost is known', costMicro: null, entries: { release: 30 } },
      ];
      for (const { what, costMicro, entries } of ends) {
        it(`is charged ${what} and holds nothing any more`, async () => {
          const keyId = await makeKey({ creditsMicro: 100 });
          const { requestId } = await accepted({ hold: newHold(keyId, 30) });
          await store.finish(requestId, ended({ costMicro }));
          const spent = costMicro ?? 0;
          expect(await store.find(CALLER, requestId)).to.have.property('costMicro', costMicro);
          expect(await fundsOf(keyId)).to.include({ balanceMicro: 100 - spent, heldMicro: 0 });
          expect(await fundsOf(keyId)).to.include({ daySpentMicro: spent, monthSpentMicro: spent });
          const made = (await ledgerOf(keyId)).filter(({ kind }) => kind === 'release' || kind === 'settle');
          expect(Object.fromEntries(made.map(({ kind, amountMicro }) => [kind, amountMicro]))).to.deep.equal(entries);
          for (const entry of made) expect(entry).to.include({ requestId, createdAtMs: NOON_MS });
        });
      }

      it('is charged once, however often it is finished or taken back', async () => {
        const keyId = await makeKey({ creditsMicro: 100 });
        const { requestId } = await accepted({ hold: newHold(keyId, 30) });
        await Promise.all([
          store.finish(requestId, ended({ costMicro: 10 })),
          store.finish(requestId, ended({ costMicro: 20, status: 'failed' })),
          store.discard(requestId),
          store.recover(),
        ]);
        await store.finish(requestId, ended({ costMicro: 40 }));
        expect(await fundsOf(keyId)).to.include({ balanceMicro: 90, heldMicro: 0, daySpentMicro: 10 });
        await expectToAddUp(keyId);
      });

      it('gives its hold back once when it is taken back, also by several at once', async () => {
        const keyId = await makeKey({ creditsMicro: 100 });
        const { requestId } = await accepted({ hold: newHold(keyId, 30) });
        await Promise.all([
          store.discard(requestId),
          store.discard(requestId),
          store.finish(requestId, ended({ costMicro: 10 })),
        ]);
        expect(await fundsOf(keyId)).to.include({ balanceMicro: 100, heldMicro: 0, daySpentMicro: 0 });
        await expectToAddUp(keyId);
      });

      it('is charged what it has cost also when it was cancelled', async () => {
        const keyId = await makeKey({ creditsMicro: 100 });
        const { requestId } = await accepted({ hold: newHold(keyId, 30) });
        await store.requestCancel(CALLER, requestId);
        expect(await fundsOf(keyId)).to.include({ balanceMicro: 70, heldMicro: 30 });
        await store.finish(requestId, ended({ costMicro: 5 }));
        expect(await store.find(CALLER, requestId)).to.include({ status: 'cancelled', costMicro: 5 });
        expect(await fundsOf(keyId)).to.include({ balanceMicro: 95, heldMicro: 0 });
      });

      it('gives its hold back when it is taken back after a cancel', async () => {
        const keyId = await makeKey({ creditsMicro: 100 });
        const { requestId } = await accepted({ hold: newHold(keyId, 30) });
        await store.requestCancel(CALLER, requestId);
        await store.discard(requestId);
        expect(await store.find(CALLER, requestId)).to.include({ status: 'cancelled', costMicro: null });
        expect(await fundsOf(keyId)).to.include({ balanceMicro: 100, heldMicro: 0 });
      });

      it('ends as any other when its key is disabled meanwhile', async () => {
        const keyId = await makeKey({ creditsMicro: 100 });
        const { requestId } = await accepted({ hold: newHold(keyId, 30) });
        await store.updateKey(keyId, { isDisabled: true, expiresAtMs: 1 });
        await store.finish(requestId, ended({ costMicro: 10 }));
        expect(await fundsOf(keyId)).to.include({ balanceMicro: 90, heldMicro: 0 });
      });

      it('is still recorded when its key is deleted meanwhile', async () => {
        const keyId = await makeKey({ creditsMicro: 100 });
        const { requestId } = await accepted({ hold: newHold(keyId, 30) });
        await store.deleteKey(keyId);
        const next = await makeKey({ creditsMicro: 100 });
        await store.finish(requestId, ended({ costMicro: 10 }));
        expect(await store.find(CALLER, requestId)).to.include({ status: 'succeeded', costMicro: 10 });
        expect(await fundsOf(next), 'a key made afterwards').to.include({ balanceMicro: 100, heldMicro: 0 });
      });

      it('is never charged so much that the key owes more than its reservation', async () => {
        const keyId = await makeKey({ creditsMicro: 101 });
        const holds = [30, 50, 20, 0].map((heldMicro) => accepted({ hold: newHold(keyId, heldMicro) }));
        const balances = [];
        for (const { requestId } of await Promise.all(holds)) {
          await store.finish(requestId, ended({ costMicro: MAX }));
          balances.push((await store.findKey(keyId))?.balanceMicro);
          expect(await store.find(CALLER, requestId)).to.have.property('costMicro', MAX);
          await expectToAddUp(keyId);
        }
        expect(balances).to.deep.equal([-30, -50, -50, -50]);
        expect(await fundsOf(keyId), 'what it has cost').to.include({ daySpentMicro: MAX, monthSpentMicro: MAX });
      });

      it('is charged in full once there are credits for it', async () => {
        const keyId = await makeKey({ creditsMicro: 30 });
        const { requestId } = await accepted({ hold: newHold(keyId, 30) });
        await store.credit(keyId, { kind: 'grant', amountMicro: 100, note: '', createdAtMs: 1 });
        await store.finish(requestId, ended({ costMicro: 130 }));
        expect(await fundsOf(keyId)).to.include({ balanceMicro: 0, heldMicro: 0 });
      });
    });

    it('leaves room for what comes back when it gives credits', async () => {
      const keyId = await makeKey({ creditsMicro: 10 });
      const { requestId } = await accepted({ hold: newHold(keyId, 10) });
      const entry = { kind: 'grant', note: '', createdAtMs: 1 } as const;
      const tooMuch = store.credit(keyId, { ...entry, amountMicro: MAX - 9 });
      expect(await tooMuch.catch((error: unknown) => error)).to.be.instanceOf(RangeError);
      await store.credit(keyId, { ...entry, amountMicro: MAX - 10 });
      await store.discard(requestId);
      expect(await fundsOf(keyId)).to.include({ balanceMicro: MAX, heldMicro: 0 });
    });

    describe('a request of a key that is not prepaid', () => {
      it('holds and spends, without a ledger', async () => {
        const keyId = await makeKey();
        const { requestId } = await accepted({ hold: newHold(keyId, 30) });
        expect(await fundsOf(keyId)).to.include({ balanceMicro: null, heldMicro: 30 });
        await store.finish(requestId, ended({ costMicro: 12 }));
        expect(await fundsOf(keyId)).to.include({ balanceMicro: null, heldMicro: 0, daySpentMicro: 12 });
        expect(await ledgerOf(keyId)).to.deep.equal([]);
      });

      it('is paid from the credits that the key gets while it runs', async () => {
        const keyId = await makeKey();
        const { requestId } = await accepted({ hold: newHold(keyId, 30) });
        const credited = await store.credit(keyId, { kind: 'grant', amountMicro: 50, note: '', createdAtMs: 1 });
        expect(credited).to.include({ balanceMicro: 20, heldMicro: 30 });
        await expectToAddUp(keyId);
        await store.finish(requestId, ended({ costMicro: 12 }));
        expect(await fundsOf(keyId)).to.include({ balanceMicro: 38, heldMicro: 0 });
        await expectToAddUp(keyId);
      });
    });

    describe('the net ledger', () => {
      const netOf = async (keyId: KeyId) =>
        (await store.listLedger(keyId, { limit: 1000, isNet: true }))?.entries ?? [];
      const kindsOf = async (keyId: KeyId) => (await netOf(keyId)).map(({ kind }) => kind);
      const grant = { kind: 'grant', amountMicro: 50, note: '', createdAtMs: NOON_MS } as const;

      it('has an entry for a request that has cost something, and a reservation for one that runs', async () => {
        const keyId = await makeKey({ creditsMicro: 1000 });
        const hold = newHold(keyId, 30);
        const [free, charged, running] = [await accepted({ hold }), await accepted({ hold }), await accepted({ hold })];
        await store.finish(charged.requestId, ended({ costMicro: 12 }));
        await store.finish(free.requestId, ended({ costMicro: 0 }));
        const net = await netOf(keyId);
        expect(net.map(({ kind, requestId }) => [kind, requestId])).to.deep.equal([
          ['settle', charged.requestId],
          ['reserve', running.requestId],
          ['grant', null],
        ]);
        await expectToAddUp(keyId, net);
      });

      it('has the same entries on each page, however far apart the two of a request are', async () => {
        const keyId = await makeKey({ creditsMicro: 1_000_000 });
        const holds = Array.from({ length: 300 }, () => accepted({ hold: newHold(keyId, 30) }));
        const [, ...others] = await Promise.all(holds);
        await Promise.all(others.map(({ requestId }, at) => store.finish(requestId, ended({ costMicro: at % 7 }))));
        const net = await netOf(keyId);
        expect(net.filter(({ kind }) => kind === 'settle')).to.have.lengthOf(256);
        expect(net.slice(256).map(({ kind }) => kind)).to.deep.equal(['reserve', 'grant']);
        await expectToAddUp(keyId, net);
        for (const { seq } of (await ledgerOf(keyId)).filter((_entry, at) => at % 20 === 0)) {
          const rest = net.filter((entry) => entry.seq < seq);
          for (const limit of [1, 60, 300]) {
            const page = await store.listLedger(keyId, { limit, isNet: true, beforeSeq: seq });
            expect(page).to.deep.equal({ entries: rest.slice(0, limit), hasMore: rest.length > limit });
          }
        }
      });

      it('keeps a release whose reservation was carried', async () => {
        const keyId = await makeKey({ creditsMicro: 100, createdAtMs: 1 });
        const { requestId } = await accepted({ hold: newHold(keyId, 30), createdAtMs: 7 });
        await store.finish(requestId, ended({ costMicro: 12 }));
        await store.prune(8);
        expect(await kindsOf(keyId)).to.deep.equal(['settle', 'release', 'carry']);
        await expectToAddUp(keyId, await netOf(keyId));
      });

      it('keeps a release whose reservation was made when the key became prepaid', async () => {
        const keyId = await makeKey();
        const { requestId } = await accepted({ hold: newHold(keyId, 30) });
        await store.credit(keyId, grant);
        await store.finish(requestId, ended({ costMicro: 12 }));
        expect(await kindsOf(keyId)).to.deep.equal(['settle', 'release', 'reserve', 'grant']);
        await expectToAddUp(keyId, await netOf(keyId));
      });
    });

    it('ends the credits of a key, also while it runs, and begins them anew', async () => {
      const keyId = await makeKey({ creditsMicro: 100 });
      const { requestId } = await accepted({ hold: newHold(keyId, 30) });
      const end = { kind: 'adjust', amountMicro: 0, isEnd: true, note: 'end', createdAtMs: 1 } as const;
      for (let times = 0; times < 2; times += 1)
        expect(await store.credit(keyId, end)).to.include({ balanceMicro: null, heldMicro: 30 });
      const sum = (await ledgerOf(keyId)).reduce((total, { amountMicro }) => total + amountMicro, 0);
      expect(sum, 'what the ledger adds up to').to.equal(0);
      const grant = { kind: 'grant', amountMicro: 50, note: '', createdAtMs: 1 } as const;
      expect(await store.credit(keyId, grant)).to.include({ balanceMicro: 20, heldMicro: 30 });
      await expectToAddUp(keyId);
      await store.credit(keyId, end);
      await store.finish(requestId, ended({ costMicro: 12 }));
      expect(await fundsOf(keyId)).to.include({ balanceMicro: null, heldMicro: 0, daySpentMicro: 12 });
    });

    describe('accept', () => {
      const expired = { expiresAtMs: NOON_MS };
      const limited = (limits: Partial<KeyLimits>) => ({ limits: { ...NO_LIMITS, ...limits } });
      const cases: readonly {
        what: string;
        key: Partial<KeyDraft>;
        heldMicro?: number;
        interruptedCostMicro?: number | null;
        code: string | undefined;
      }[] = [
        { what: 'a key without limits', key: {}, heldMicro: MAX, code: undefined },
        { what: 'a key that expires in the next millisecond', key: { expiresAtMs: NOON_MS + 1 }, code: undefined },
        { what: 'a key that expires in this millisecond', key: expired, code: 'invalid_api_key' },
        { what: 'a hold of all credits', key: { creditsMicro: 10 }, heldMicro: 10, code: undefined },
        { what: 'more than all credits', key: { creditsMicro: 10 }, heldMicro: 11, code: 'insufficient_credits' },
        { what: 'no hold with credits left', key: { creditsMicro: 1 }, heldMicro: 0, code: undefined },
        { what: 'no hold without credits', key: { creditsMicro: 0 }, heldMicro: 0, code: 'insufficient_credits' },
        {
          what: 'a model without a price, without credits',
          key: { creditsMicro: 0 },
          heldMicro: 0,
          interruptedCostMicro: null,
          code: undefined,
        },
        { what: 'the limit of a day', key: limited({ spendPerDayMicro: 10 }), heldMicro: 10, code: undefined },
        {
          what: 'more than the limit of a day',
          key: limited({ spendPerDayMicro: 10 }),
          heldMicro: 11,
          code: 'spend_limit_exceeded',
        },
        { what: 'the limit of a month', key: limited({ spendPerMonthMicro: 10 }), heldMicro: 10, code: undefined },
        {
          what: 'more than the limit of a month',
          key: limited({ spendPerMonthMicro: 10 }),
          heldMicro: 11,
          code: 'spend_limit_exceeded',
        },
      ];
      for (const { what, key, heldMicro = 1, interruptedCostMicro = 1, code } of cases) {
        it(`${code === undefined ? 'takes' : 'refuses'} ${what}`, async () => {
          const keyId = await makeKey(key);
          const before = await fundsOf(keyId);
          const draft = newDraft({ hold: { keyId, heldMicro, interruptedCostMicro, tokens: 0 }, createdAtMs: NOON_MS });
          expect(codeOf(await store.accept(draft))).to.equal(code);
          const after = await fundsOf(keyId);
          expect(after).to.have.property('heldMicro', code === undefined ? heldMicro : 0);
          if (code === undefined) return;
          expect(await store.find(CALLER, draft.requestId)).to.equal(undefined);
          expect(after).to.deep.equal(before);
        });
      }

      it('refuses a key that is disabled, and takes it when it is enabled again', async () => {
        const keyId = await makeKey();
        await store.updateKey(keyId, { isDisabled: true });
        expect(codeOf(await store.accept(newDraft({ hold: newHold(keyId, 1) })))).to.equal('invalid_api_key');
        await store.updateKey(keyId, { isDisabled: false });
        expect(codeOf(await store.accept(newDraft({ hold: newHold(keyId, 1) })))).to.equal(undefined);
      });

      it('refuses a key that does not exist', async () => {
        expect(codeOf(await store.accept(newDraft({ hold: newHold(newKeyId(), 0) })))).to.equal('invalid_api_key');
      });

      it('leaves the idempotency key free when it refuses', async () => {
        const keyId = await makeKey({ creditsMicro: 0 });
        const paid = { hold: newHold(keyId, 5) };
        expect(codeOf(await store.accept(newKeyedDraft('key', paid)))).to.equal('insufficient_credits');
        await store.credit(keyId, { kind: 'grant', amountMicro: 5, note: '', createdAtMs: 1 });
        expect(codeOf(await store.accept(newKeyedDraft('key', paid)))).to.equal(undefined);
      });

      for (const past of [false, true]) {
        const by = past ? 'known by a previous secret' : 'of an exhausted and disabled key';
        it(`answers a duplicate ${by}, which neither holds nor costs anything`, async () => {
          const keyId = await makeKey({ creditsMicro: 5 });
          const hold = newHold(keyId, 5);
          const original = newKeyedDraft('key', { hold });
          await store.accept(original);
          await store.updateKey(keyId, { isDisabled: true });
          const before = await fundsOf(keyId);
          const again = past
            ? newDraft({
                hold,
                caller: ['now', ...CALLER],
                idempotency: { key: ['by the new', 'key'], body: ['too', 'body'] },
              })
            : newKeyedDraft('key', { hold });
          expect(await store.accept(again)).to.have.nested.property('record.requestId', original.requestId);
          expect(await fundsOf(keyId)).to.deep.equal(before);
          expect(await ledgerOf(keyId)).to.have.lengthOf(2);
        });
      }

      it('takes ten of 200 requests at once when the funds suffice for ten', async () => {
        const keyId = await makeKey({ creditsMicro: 109 });
        const answers = await acceptAtOnce(200, () => newDraft({ hold: newHold(keyId, 10) }));
        expect(count(answers)).to.deep.equal({ accepted: 10, insufficient_credits: 190 });
        expect(await fundsOf(keyId)).to.include({ balanceMicro: 9, heldMicro: 100 });
        await expectToAddUp(keyId);
      });

      it('takes ten of 200 requests at once when the limit of the day suffices for ten', async () => {
        const keyId = await makeKey({ limits: { ...NO_LIMITS, spendPerDayMicro: 109 } });
        const answers = await acceptAtOnce(200, () => newDraft({ hold: newHold(keyId, 10) }));
        expect(count(answers)).to.deep.equal({ accepted: 10, spend_limit_exceeded: 190 });
      });

      it('holds once for a hundred equal requests at once', async () => {
        const keyId = await makeKey({ creditsMicro: 100 });
        const answers = await acceptAtOnce(100, () => newKeyedDraft('key', { hold: newHold(keyId, 10) }));
        expect(count(answers)).to.deep.equal({ accepted: 1, duplicate: 99 });
        expect(await fundsOf(keyId)).to.include({ balanceMicro: 90, heldMicro: 10 });
      });

      it('refuses each of many equal requests at once when nothing is left, and keeps none of them', async () => {
        const keyId = await makeKey({ creditsMicro: 5 });
        const answers = await acceptAtOnce(20, () => newKeyedDraft('key', { hold: newHold(keyId, 10) }));
        expect(count(answers)).to.deep.equal({ insufficient_credits: 20 });
        expect(await store.list(CALLER, { limit: 1 })).to.deep.equal({ records: [], hasMore: false, lastId: null });
      });

      it('counts holds together only as far as they can be counted', async () => {
        const keyId = await makeKey();
        await accepted({ hold: newHold(keyId, MAX) });
        expect(codeOf(await store.accept(newDraft({ hold: newHold(keyId, 1) })))).to.equal('spend_limit_exceeded');
      });

      for (const amount of [-1, 0.5, 2 ** 53, Number.NaN]) {
        it(`throws at a hold or a cost of ${amount}`, async () => {
          const keyId = await makeKey({ creditsMicro: 100 });
          const held = newDraft({ hold: { ...newHold(keyId, 1), heldMicro: amount } });
          const interrupted = newDraft({ hold: { ...newHold(keyId, 1), interruptedCostMicro: amount } });
          const { requestId } = await accepted({ hold: newHold(keyId, 1) });
          for (const call of [
            store.accept(held),
            store.accept(interrupted),
            store.finish(requestId, ended({ costMicro: amount })),
          ]) {
            expect(await call.catch((error: unknown) => error)).to.be.instanceOf(RangeError);
          }
          expect(await fundsOf(keyId)).to.include({ balanceMicro: 99, heldMicro: 1 });
        });
      }
    });

    describe('a spend limit', () => {
      it('counts what was spent together with what is held', async () => {
        const keyId = await makeKey({ limits: { ...NO_LIMITS, spendPerDayMicro: 100 } });
        await spend(keyId, 40);
        await accepted({ hold: newHold(keyId, 30), createdAtMs: NOON_MS });
        expect(await codeAt(keyId, 31, NOON_MS)).to.equal('spend_limit_exceeded');
        expect(await codeAt(keyId, 30, NOON_MS)).to.equal(undefined);
        expect(await codeAt(keyId, 0, NOON_MS)).to.equal(undefined);
      });

      const windows = [
        { what: 'day', limit: 'spendPerDayMicro', endMs: DAY_END_MS, shown: 'daySpentMicro' },
        { what: 'week', limit: 'spendPerWeekMicro', endMs: WEEK_END_MS, shown: 'weekSpentMicro' },
        { what: 'month', limit: 'spendPerMonthMicro', endMs: MONTH_END_MS, shown: 'monthSpentMicro' },
      ] as const;
      for (const { what, limit, endMs, shown } of windows) {
        it(`of a ${what} begins anew with the first millisecond of the next ${what}`, async () => {
          const keyId = await makeKey({ limits: { ...NO_LIMITS, [limit]: 100 } });
          await spend(keyId, 100, endMs - 1000);
          expect(await codeAt(keyId, 1, endMs)).to.equal('spend_limit_exceeded');
          clock.nowMs = endMs;
          expect(await fundsOf(keyId)).to.have.property(shown, 100);
          clock.nowMs = endMs + 1;
          expect(await fundsOf(keyId)).to.have.property(shown, 0);
          expect(await codeAt(keyId, 100, endMs + 1)).to.equal(undefined);
        });

        it(`of a ${what} counts a request in the ${what} of its end`, async () => {
          const keyId = await makeKey({ limits: { ...NO_LIMITS, [limit]: 100 } });
          const draft = await accepted({ hold: newHold(keyId, 60), createdAtMs: endMs });
          await store.finish(draft.requestId, ended({ costMicro: 60, completedAtMs: endMs + 1 }));
          expect(await codeAt(keyId, 41, endMs + 1)).to.equal('spend_limit_exceeded');
          expect(await codeAt(keyId, 40, endMs + 1)).to.equal(undefined);
        });

        it(`of a ${what} still counts what is held from before it began`, async () => {
          const keyId = await makeKey({ limits: { ...NO_LIMITS, [limit]: 100 } });
          await accepted({ hold: newHold(keyId, 60), createdAtMs: endMs });
          expect(await codeAt(keyId, 41, endMs + 1)).to.equal('spend_limit_exceeded');
        });

        it(`of a ${what} is neither reset nor reopened by a clock that is set back`, async () => {
          const keyId = await makeKey({ limits: { ...NO_LIMITS, [limit]: 100 } });
          await spend(keyId, 70, endMs);
          await spend(keyId, 30, endMs + 1);
          expect(await codeAt(keyId, 71, endMs)).to.equal('spend_limit_exceeded');
          await spend(keyId, 50, endMs);
          clock.nowMs = endMs;
          expect(await fundsOf(keyId), 'it all counts in the later window').to.have.property(shown, 80);
          clock.nowMs = endMs + 1;
          expect(await fundsOf(keyId)).to.have.property(shown, 80);
          expect(await codeAt(keyId, 21, endMs + 1)).to.equal('spend_limit_exceeded');
        });
      }

      it('of a month is kept over the days', async () => {
        const keyId = await makeKey({ limits: { ...NO_LIMITS, spendPerMonthMicro: 100 } });
        await spend(keyId, 60);
        await spend(keyId, 30, NOON_MS + 86_400_000);
        clock.nowMs = NOON_MS + 86_400_000;
        expect(await fundsOf(keyId)).to.include({ daySpentMicro: 30, monthSpentMicro: 90 });
        expect(await codeAt(keyId, 11, clock.nowMs)).to.equal('spend_limit_exceeded');
      });

      it('can be raised and lowered while requests run', async () => {
        const keyId = await makeKey({ limits: { ...NO_LIMITS, spendPerDayMicro: 10 } });
        await spend(keyId, 10);
        await store.updateKey(keyId, { limits: { spendPerDayMicro: 20 } });
        expect(await codeAt(keyId, 10, NOON_MS)).to.equal(undefined);
        await store.updateKey(keyId, { limits: { spendPerDayMicro: 5 } });
        expect(await codeAt(keyId, 1, NOON_MS)).to.equal('spend_limit_exceeded');
      });
    });

    it('keeps funds and spending when the secret of the key is rotated', async () => {
      const keyId = await makeKey({ creditsMicro: 100 });
      await spend(keyId, 10);
      const running = await accepted({ hold: newHold(keyId, 30) });
      await store.rotateKey(keyId, { hash: ['another'], prefix: 'sk-xyz' }, 9);
      expect(await fundsOf(keyId)).to.include({ balanceMicro: 60, heldMicro: 30, daySpentMicro: 10 });
      await store.finish(running.requestId, ended({ costMicro: 5 }));
      expect(await fundsOf(keyId)).to.include({ balanceMicro: 85, heldMicro: 0, daySpentMicro: 15 });
    });

    describe('prune', () => {
      const BEFORE_MS = 1000;

      it('makes one carry of old entries, and leaves the young ones and the balance as they are', async () => {
        const keyId = await makeKey({ creditsMicro: 1000, createdAtMs: 1 });
        const other = await makeKey({ creditsMicro: 5, createdAtMs: BEFORE_MS });
        await spend(keyId, 10, BEFORE_MS - 1);
        const running = await accepted({ hold: newHold(keyId, 30), createdAtMs: BEFORE_MS - 1 });
        await spend(keyId, 20, BEFORE_MS);
        const [young, others] = [await ledgerOf(keyId), await ledgerOf(other)];
        await store.prune(BEFORE_MS);
        const [last, carry, ...more] = await ledgerOf(keyId);
        expect(last).to.deep.equal(young[0]);
        expect(carry).to.include({ kind: 'carry', amountMicro: 960, requestId: null });
        expect(more).to.deep.equal([]);
        expect(await ledgerOf(other)).to.deep.equal(others);
        await store.finish(running.requestId, ended({ costMicro: 5 }));
        expect(await fundsOf(keyId)).to.include({ balanceMicro: 965, heldMicro: 0 });
        await expectToAddUp(keyId);
      });

      it('keeps nothing in a carry of what its last entry was for', async () => {
        const keyId = await makeKey({ creditsMicro: 1, createdAtMs: 1 });
        const entry = { kind: 'grant', amountMicro: 2, note: 'paid', reference: 'invoice 1', createdAtMs: 2 } as const;
        await store.credit(keyId, entry);
        await store.prune(BEFORE_MS);
        expect(await ledgerOf(keyId)).to.have.lengthOf(1);
        expect((await ledgerOf(keyId))[0]).to.include({ kind: 'carry', amountMicro: 3, note: '', reference: null });
      });

      it('adds to the carry of an earlier time, for any number of entries and keys', async () => {
        const keyIds = await Promise.all(
          Array.from({ length: 3 }, () => makeKey({ creditsMicro: 1000, createdAtMs: 1 })),
        );
        for (const { times, leftMicro } of [
          { times: 250, leftMicro: 750 },
          { times: 1, leftMicro: 749 },
          { times: 0, leftMicro: 749 },
        ]) {
          for (const keyId of keyIds) for (let time = 0; time < times; time += 1) void spend(keyId, 1, BEFORE_MS - 1);
          await store.prune(BEFORE_MS);
          for (const keyId of keyIds) {
            const ledger = await ledgerOf(keyId);
            expect(ledger.map(({ kind, amountMicro }) => [kind, amountMicro])).to.deep.equal([['carry', leftMicro]]);
            await expectToAddUp(keyId);
          }
        }
      });

      it('finds the old entries of one key behind hundreds that have none', async () => {
        await Promise.all(Array.from({ length: 250 }, () => makeKey({ creditsMicro: 1, createdAtMs: BEFORE_MS })));
        const keyId = await makeKey({ creditsMicro: 1, createdAtMs: 1 });
        await store.prune(BEFORE_MS);
        expect(await ledgerOf(keyId)).to.have.deep.nested.property('[0].kind', 'carry');
      });

      it('leaves the ledgers of others alone when a key was deleted', async () => {
        const [deleted, keyId] = [await makeKey({ creditsMicro: 7 }), await makeKey({ creditsMicro: 9 })];
        await store.deleteKey(deleted);
        await store.prune(1);
        expect(await fundsOf(keyId)).to.include({ balanceMicro: 9 });
        await expectToAddUp(keyId);
      });
    });

    async function makeKey(overrides: Partial<KeyDraft> = {}): Promise<KeyId> {
      return (await store.createKey(newKeyDraft(overrides))).keyId;
    }

    async function accepted(overrides: Partial<RecordDraft>): Promise<RecordDraft> {
      const draft = newDraft({ createdAtMs: NOON_MS, ...overrides });
      expect(await store.accept(draft)).to.deep.equal({ kind: 'accepted' });
      return draft;
    }

    async function spend(keyId: KeyId, costMicro: number, atMs = NOON_MS): Promise<void> {
      const { requestId } = await accepted({ hold: newHold(keyId, 0), createdAtMs: atMs });
      await store.finish(requestId, ended({ costMicro, completedAtMs: atMs }));
    }

    /** Tries a hold and gives it back. */
    async function codeAt(keyId: KeyId, heldMicro: number, createdAtMs: number): Promise<string | undefined> {
      const draft = newDraft({ hold: newHold(keyId, heldMicro), createdAtMs });
      const code = codeOf(await store.accept(draft));
      await store.discard(draft.requestId);
      return code;
    }

    function acceptAtOnce(times: number, make: () => RecordDraft): Promise<Acceptance[]> {
      return Promise.all(Array.from({ length: times }, () => store.accept(make())));
    }

    async function fundsOf(keyId: KeyId) {
      const key = await store.findKey(keyId);
      expect(key).not.to.equal(undefined);
      return key ?? {};
    }

    async function ledgerOf(keyId: KeyId): Promise<readonly LedgerEntry[]> {
      return (await store.listLedger(keyId, { limit: 1000 }))?.entries ?? [];
    }

    async function expectToAddUp(keyId: KeyId, entries?: readonly LedgerEntry[]): Promise<void> {
      const sum = (entries ?? (await ledgerOf(keyId))).reduce((sum, { amountMicro }) => sum + amountMicro, 0);
      expect(await fundsOf(keyId)).to.have.property('balanceMicro', sum);
    }
  });
}

function ended(overrides: Partial<Outcome> & { costMicro: number | null }): Outcome {
  return newOutcome({ completedAtMs: NOON_MS, ...overrides });
}

function codeOf(acceptance: Acceptance): string | undefined {
  return acceptance.kind === 'refused' ? acceptance.code : undefined;
}

function count(answers: readonly Acceptance[]): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const answer of answers) {
    const name = codeOf(answer) ?? answer.kind;
    counts[name] = (counts[name] ?? 0) + 1;
  }
  return counts;
}

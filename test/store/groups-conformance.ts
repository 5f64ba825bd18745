/** What every engine promises about groups of keys; called by the tests of each. */
import type { KeyLimits } from '../../src/core/money/limits.ts';
import { UTC } from '../../src/core/time.ts';
import { createCalendar } from '../../src/store/calendar.ts';
import { expect } from 'chai';
import { ApiError } from '../../src/core/errors.ts';
import { WHOLE_GATEWAY } from '../../src/core/ids.ts';
import type { GroupId, KeyId } from '../../src/contract/ids.ts';
import type { GroupDraft, KeyDraft, LedgerEntry, StoredGroup } from '../../src/core/books/keys.ts';
import type { Acceptance, RecordDraft, Store } from '../../src/core/books/store.ts';
import { inOneMinute as withinOneMinute } from '../support/one-minute.ts';
import { NO_LIMITS, newGroupDraft, newGroupId, newHold, newKeyDraft } from '../support/keys.ts';
import { newDraft, newKeyedDraft, newOutcome } from '../support/records.ts';
import { useStoreAt, type EngineUnderTest } from './conformance.ts';

const NOON_MS = Date.UTC(2026, 8, 21, 12);

/** Describes what groups do to their keys by the promises of the store. */
export function describeGroups(name: string, engine: EngineUnderTest): void {
  describe(`the groups of the store ${name}`, () => {
    let store: Store;
    const { clock, open } = useStoreAt(engine, NOON_MS, (opened) => {
      store = opened;
    });

    describe('a group', () => {
      it('holds what its draft says, with its first credits in its ledger', async () => {
        const limits = {
          requestsPerMinute: 1,
          tokensPerMinute: 2,
          spendPerDayMicro: 3,
          spendPerWeekMicro: 5,
          spendPerMonthMicro: 4,
        };
        const draft = newGroupDraft({ expiresAtMs: 9, models: ['a', 'b-*'], limits, creditsMicro: 70 });
        const { groupId, creditsMicro, ...rest } = draft;
        const made: StoredGroup = {
          ...rest,
          groupId,
          keys: 0,
          isDisabled: false,
          balanceMicro: creditsMicro,
          heldMicro: 0,
          daySpentMicro: 0,
          weekSpentMicro: 0,
          monthSpentMicro: 0,
          today: createCalendar(UTC).at(clock.nowMs),
        };
        expect(await store.createGroup(draft)).to.deep.equal(made);
        expect(await store.findGroup(groupId)).to.deep.equal(made);
        expect(await ledgerOf(groupId)).to.deep.equal(['grant 70']);
      });

      it('changes in what is named, and in nothing else', async () => {
        const made = await store.createGroup(newGroupDraft({ models: ['a'] }));
        const change = { name: 'other', isDisabled: true, limits: { spendPerDayMicro: 5 } };
        const limits = { ...NO_LIMITS, spendPerDayMicro: 5 };
        const changed = { ...made, name: 'other', isDisabled: true, limits };
        expect(await store.updateGroup(made.groupId, change)).to.deep.equal(changed);
        expect(await store.updateGroup(made.groupId, { models: null })).to.deep.equal({ ...changed, models: null });
        expect(await store.updateGroup(newGroupId(), { name: 'nobody' })).to.equal(undefined);
      });

      it('has a name that no other group has', async () => {
        const [one, other] = [await store.createGroup(newGroupDraft()), await store.createGroup(newGroupDraft())];
        expect(await codeThrown(store.createGroup(newGroupDraft({ name: one.name })))).to.equal('duplicate_request');
        const whole = newGroupDraft({ groupId: WHOLE_GATEWAY });
        await store.createGroup(whole);
        expect(await codeThrown(store.createGroup(whole)), 'has one id').to.equal('duplicate_request');
        expect(await codeThrown(store.updateGroup(other.groupId, { name: one.name }))).to.equal('duplicate_request');
        await store.updateGroup(one.groupId, { name: one.name });
        await store.createKey(newKeyDraft({ name: one.name }));
      });

      it('is listed, newest first, and found by its name, a part of it or its id', async () => {
        const made = [];
        for (let at = 0; at < 3; at += 1) made.push((await store.createGroup(newGroupDraft())).groupId);
        const [first, second, third] = made;
        const idsOf = async (query: Parameters<Store['listGroups']>[0]) => {
          const page = await store.listGroups(query);
          return page && [page.groups.map(({ groupId }) => groupId), page.hasMore];
        };
        expect(await idsOf({ limit: 2 })).to.deep.equal([[third, second], true]);
        expect(await idsOf({ limit: 2, after: second as GroupId })).to.deep.equal([[first], false]);
        expect(await idsOf({ limit: 2, after: newGroupId() })).to.equal(undefined);
        expect(await idsOf({ limit: 2, name: `the group ${second}` })).to.deep.equal([[second], false]);
        expect(await idsOf({ limit: 2, name: 'nobody' })).to.deep.equal([[], false]);
        await store.updateGroup(first as GroupId, { name: 'Alice’s team' });
        for (const search of ['LICE', first as GroupId]) {
          expect(await idsOf({ limit: 2, search })).to.deep.equal([[first], false]);
        }
        expect(await idsOf({ limit: 2, search: 'a%e' })).to.deep.equal([[], false]);
      });

      it('is deleted once it has no key, with its ledger', async () => {
        const { groupId } = await store.createGroup(newGroupDraft({ creditsMicro: 7 }));
        const keyId = await makeKey(groupId);
        expect(await store.deleteGroup(groupId)).to.equal('has keys');
        await store.updateKey(keyId, { groupId: null });
        expect(await store.deleteGroup(groupId)).to.equal('deleted');
        expect(await store.deleteGroup(groupId)).to.equal(undefined);
        expect(await store.listGroupLedger(groupId, { limit: 5 })).to.equal(undefined);
        const next = await store.createGroup(newGroupDraft({ creditsMicro: 9 }));
        await store.prune(1);
        expect(await ledgerOf(next.groupId)).to.deep.equal(['grant 9']);
      });

      it('gets credits once for a reference, and becomes prepaid by them', async () => {
        const { groupId } = await store.createGroup(newGroupDraft());
        const entry = { kind: 'grant', amountMicro: 5, note: 'paid', reference: 'a', createdAtMs: 1 } as const;
        expect(await store.creditGroup(groupId, entry)).to.include({ balanceMicro: 5 });
        expect(await codeThrown(store.creditGroup(groupId, entry))).to.equal('duplicate_request');
        expect(await store.creditGroup(newGroupId(), entry)).to.equal(undefined);
        expect(await ledgerOf(groupId)).to.deep.equal(['grant 5']);
      });

      it('has the old entries of its ledger carried', async () => {
        const { groupId } = await store.createGroup(newGroupDraft({ creditsMicro: 5, createdAtMs: 1 }));
        await store.creditGroup(groupId, { kind: 'grant', amountMicro: 6, note: '', createdAtMs: 2 });
        await store.creditGroup(groupId, { kind: 'grant', amountMicro: 7, note: '', createdAtMs: 100 });
        await store.prune(50);
        expect(await ledgerOf(groupId)).to.deep.equal(['grant 7', 'carry 11']);
        expect(await store.findGroup(groupId)).to.include({ balanceMicro: 18 });
      });
    });

    describe('a key', () => {
      it('shows its group, and is listed by it', async () => {
        const { groupId } = await store.createGroup(newGroupDraft());
        const keyId = await makeKey(groupId, { name: 'Alice' });
        await makeKey(null);
        const group = await store.findGroup(groupId);
        expect(group).to.include({ keys: 1 });
        expect((await store.findKey(keyId))?.group).to.deep.equal(group);
        expect((await store.findKeyByHash([`hash of ${keyId}`]))?.group).to.deep.equal(group);
        const idsOf = async (query: object) =>
          (await store.listKeys({ limit: 9, ...query }))?.keys.map(({ keyId }) => keyId);
        for (const query of [{ groupId }, { name: 'Alice' }, { search: 'LIC' }, { search: keyId }]) {
          expect(await idsOf(query), JSON.stringify(query)).to.deep.equal([keyId]);
        }
        expect(await idsOf({ groupId, name: 'nobody' })).to.deep.equal([]);
        expect(await idsOf({ groupId: newGroupId() })).to.deep.equal([]);
      });

      it('has a name that no other key has', async () => {
        const [one, other] = [await store.createKey(newKeyDraft()), await store.createKey(newKeyDraft())];
        expect(await codeThrown(store.createKey(newKeyDraft({ name: one.name })))).to.equal('duplicate_request');
        expect(await codeThrown(store.updateKey(other.keyId, { name: one.name }))).to.equal('duplicate_request');
        expect(await store.updateKey(one.keyId, { name: one.name })).to.include({ name: one.name });
        await store.deleteKey(one.keyId);
        expect(await store.createKey(newKeyDraft({ name: one.name }))).to.include({ name: one.name });
      });

      it('is made by one of many that give it the same name at once', async () => {
        const made = await Promise.allSettled(
          Array.from({ length: 20 }, () => store.createKey(newKeyDraft({ name: 'x' }))),
        );
        expect(made.filter(({ status }) => status === 'fulfilled')).to.have.length(1);
      });

      it('belongs to no group that is not there', async () => {
        expect(await codeThrown(makeKey(newGroupId()))).to.equal('not_found');
        const keyId = await makeKey(null);
        expect(await codeThrown(store.updateKey(keyId, { groupId: newGroupId() }))).to.equal('not_found');
      });
    });

    describe('a request', () => {
      it('holds of both what it may cost, and is charged to both', async () => {
        const { groupId } = await store.createGroup(newGroupDraft({ creditsMicro: 100 }));
        const keyId = await makeKey(groupId, { creditsMicro: 50 });
        const { requestId } = await accepted(keyId, 30);
        expect(await store.findKey(keyId)).to.include({ balanceMicro: 20, heldMicro: 30 });
        expect(await store.findGroup(groupId)).to.include({ balanceMicro: 70, heldMicro: 30 });
        await store.finish(requestId, ended(12));
        const funds = { heldMicro: 0, daySpentMicro: 12, monthSpentMicro: 12 };
        expect(await store.findKey(keyId)).to.include({ balanceMicro: 38, ...funds });
        expect(await store.findGroup(groupId)).to.include({ balanceMicro: 88, ...funds });
        expect(await ledgerOf(groupId)).to.deep.equal(['settle -12', 'release 30', 'reserve -30', 'grant 100']);
      });

      it('is charged to each as far as that does not owe more than its reservation', async () => {
        const { groupId } = await store.createGroup(newGroupDraft({ creditsMicro: 100 }));
        const keyId = await makeKey(groupId, { creditsMicro: 50 });
        const { requestId } = await accepted(keyId, 30);
        await store.finish(requestId, ended(95));
        expect(await store.findKey(keyId)).to.include({ balanceMicro: -30, daySpentMicro: 95 });
        expect(await store.findGroup(groupId)).to.include({ balanceMicro: 5, daySpentMicro: 95 });
        expect(await ledgerOf(groupId)).to.include('settle -95');
      });

      it('gives back to both what it held when it is taken back', async () => {
        const { groupId } = await store.createGroup(newGroupDraft({ creditsMicro: 100 }));
        const keyId = await makeKey(groupId);
        const { requestId } = await accepted(keyId, 30);
        await store.discard(requestId);
        expect(await store.findGroup(groupId)).to.include({ balanceMicro: 100, heldMicro: 0, daySpentMicro: 0 });
        expect(await store.findKey(keyId)).to.include({ heldMicro: 0 });
      });

      const refusals: readonly {
        readonly what: string;
        readonly group: Partial<GroupDraft>;
        readonly key?: Partial<KeyDraft>;
        readonly code: string;
        readonly ofGroup: boolean;
      }[] = [
        { what: 'has no credits left', group: { creditsMicro: 29 }, code: 'insufficient_credits', ofGroup: true },
        {
          what: 'may not spend so much a day',
          group: { limits: { ...NO_LIMITS, spendPerDayMicro: 29 } },
          code: 'spend_limit_exceeded',
          ofGroup: true,
        },
        {
          what: 'may not spend so much a month',
          group: { limits: { ...NO_LIMITS, spendPerMonthMicro: 29 } },
          code: 'spend_limit_exceeded',
          ofGroup: true,
        },
        { what: 'has expired', group: { expiresAtMs: NOON_MS }, code: 'invalid_api_key', ofGroup: true },
        {
          what: 'would do, while its key has no credits left',
          group: { creditsMicro: 100 },
          key: { creditsMicro: 29 },
          code: 'insufficient_credits',
          ofGroup: false,
        },
      ];
      for (const { what, group, key, code, ofGroup } of refusals) {
        it(`is refused where the group ${what}, and leaves nothing`, async () => {
          const { groupId, balanceMicro } = await store.createGroup(newGroupDraft(group));
          const keyId = await makeKey(groupId, key);
          const expected = { kind: 'refused', code, ...(ofGroup && { ofGroup: groupId }) };
          expect(await store.accept(draftOf(keyId, 30))).to.deep.equal(expected);
          expect(await store.findGroup(groupId)).to.include({ balanceMicro, heldMicro: 0 });
          expect(await store.findKey(keyId)).to.include({ balanceMicro: key?.creditsMicro ?? null, heldMicro: 0 });
        });
      }

      it('is refused once the group is disabled, also without a record', async () => {
        const { groupId } = await store.createGroup(newGroupDraft());
        const keyId = await makeKey(groupId);
        await store.updateGroup(groupId, { isDisabled: true });
        expect(await store.accept(draftOf(keyId, 0))).to.include({ code: 'invalid_api_key', ofGroup: groupId });
        expect(await store.takeRate(keyId, 0)).to.deep.equal({ refused: 'invalid_api_key', ofGroup: groupId });
      });

      it('is charged to the group that its key had when it was accepted', async () => {
        const [one, other] = [await groupWith(100), await groupWith(100)];
        const keyId = await makeKey(one);
        const { requestId } = await accepted(keyId, 30);
        await store.updateKey(keyId, { groupId: other });
        await store.finish(requestId, ended(10));
        expect(await store.findGroup(one)).to.include({ balanceMicro: 90, heldMicro: 0, keys: 0 });
        expect(await store.findGroup(other)).to.include({ balanceMicro: 100, heldMicro: 0, keys: 1 });
        await accepted(keyId, 30);
        expect(await store.findGroup(other)).to.include({ balanceMicro: 70, heldMicro: 30 });
      });

      it('is charged to its group also when its key is deleted meanwhile, and the other way round', async () => {
        const [one, other] = [await groupWith(100), await groupWith(100)];
        const [first, second] = [await makeKey(one), await makeKey(other, { creditsMicro: 100 })];
        const running = [await accepted(first, 30), await accepted(second, 30)];
        await store.deleteKey(first);
        await store.updateKey(second, { groupId: null });
        await store.deleteGroup(other);
        for (const { requestId } of running) await store.finish(requestId, ended(10));
        expect(await store.findGroup(one)).to.include({ balanceMicro: 90, heldMicro: 0 });
        expect(await store.findKey(second)).to.include({ balanceMicro: 90, heldMicro: 0 });
      });

      it('is held once by the group, however often it is sent at once', async () => {
        const groupId = await groupWith(100);
        const keyId = await makeKey(groupId);
        const draft = newKeyedDraft('same');
        const answers = await Promise.all(
          Array.from({ length: 10 }, () =>
            store.accept({ ...draft, requestId: newDraft().requestId, hold: newHold(keyId, 30) }),
          ),
        );
        expect(answers.filter(({ kind }) => kind === 'accepted')).to.have.length(1);
        expect(await store.findGroup(groupId)).to.include({ balanceMicro: 70, heldMicro: 30 });
      });

      it('is one of those that the credits of the group are enough for, whichever key they have', async () => {
        const groupId = await groupWith(100);
        const keyIds = await Promise.all(Array.from({ length: 5 }, () => makeKey(groupId)));
        const answers = await Promise.all(
          Array.from({ length: 50 }, (_, at) => store.accept(draftOf(keyIds[at % 5] ?? newKeyDraft().keyId, 7))),
        );
        expect(answers.filter(({ kind }) => kind === 'accepted')).to.have.length(14);
        expect(await store.findGroup(groupId)).to.include({ balanceMicro: 2, heldMicro: 98 });
      });

      it('counts in the usage of its group by key and model, and in that of its key', async () => {
        const [one, other] = [await groupWith(null), await groupWith(null)];
        const [first, second] = [await makeKey(one), await makeKey(one)];
        await spend(first, 5, 'm');
        await spend(second, 6, 'm');
        await spend(second, 7, 'n');
        await store.updateKey(second, { groupId: other });
        await spend(second, 8, 'n');
        const usageOf = async (query: { readonly group?: GroupId | 'any'; readonly caller?: readonly [KeyId] }) => {
          const rows = await store.listUsage({ ...query, fromMs: clock.nowMs, untilMs: clock.nowMs + 1, per: 'hour' });
          const texts = rows.map((row) => [row.groupId, row.caller, row.model, row.requests, row.costMicro].join(' '));
          return texts.sort();
        };
        const ofOne = [`${one} ${first} m 1 5`, `${one} ${second} m 1 6`, `${one} ${second} n 1 7`].sort();
        expect(await usageOf({ group: one })).to.deep.equal(ofOne);
        expect(await usageOf({ group: 'any' })).to.deep.equal([...ofOne, `${other} ${second} n 1 8`].sort());
        expect(await usageOf({ caller: [second] })).to.deep.equal([` ${second} m 1 6`, ` ${second} n 2 15`]);
      });
    });

    describe('the rates of a group', () => {
      inOneMinute('hold for all its keys together, and those of a key within them', async () => {
        const groupId = await groupWithLimits({ requestsPerMinute: 3, tokensPerMinute: 100 });
        const [free, limited] = [await makeKey(groupId), await makeKey(groupId, requests(1))];
        expect(await ask(limited, 10)).to.equal('accepted');
        expect(await ask(limited, 10)).to.equal('rate_limit_exceeded');
        expect(await ask(free, 10)).to.equal('accepted');
        expect(await ask(free, 81)).to.equal('rate_limit_exceeded of the group');
        expect(await ask(free, 80)).to.equal('accepted');
        expect(await ask(free, 0)).to.equal('rate_limit_exceeded of the group');
        expect(await store.takeRate(free, 0)).to.deep.include({ refused: 'rate_limit_exceeded', ofGroup: groupId });
        expect(await store.findRate(groupId)).to.include({ requests: 3, tokens: 100 });
      });

      inOneMinute('are told of where they leave less room', async () => {
        const groupId = await groupWithLimits({ requestsPerMinute: 9, tokensPerMinute: 100 });
        const key = { limits: { ...NO_LIMITS, requestsPerMinute: 5, tokensPerMinute: 500 } };
        const acceptance = await store.accept(draftOf(await makeKey(groupId, key), 0, 40));
        const { rates } = acceptance.kind === 'accepted' ? acceptance : {};
        expect(rates).to.include({ requestsPerMinute: 5, requests: 1, tokensPerMinute: 100, tokens: 40 });
        expect(rates?.group).to.deep.equal({ id: groupId, limits: ['tokens'] });
      });

      inOneMinute('get tokens back', async () => {
        const groupId = await groupWithLimits({ tokensPerMinute: 100 });
        const keyId = await makeKey(groupId);
        const draft = draftOf(keyId, 0, 90);
        await store.accept(draft);
        const minute = (await store.findRate(groupId))?.minute ?? 0;
        await store.updateKey(keyId, { groupId: await groupWithLimits({ tokensPerMinute: 100 }) });
        await store.finish(draft.requestId, newOutcome(), { minute, tokens: -50 });
        expect(await store.findRate(groupId)).to.include({ requests: 1, tokens: 40 });
      });
    });

    describe('the group of all keys', () => {
      const capOf = (limits: Partial<KeyLimits>) =>
        store.createGroup(newGroupDraft({ groupId: WHOLE_GATEWAY, limits: { ...NO_LIMITS, ...limits } }));

      it('holds what any key may spend, whether it is in another group or not, until it is gone', async () => {
        const [alone, member] = [await makeKey(null), await makeKey(await groupWith(null))];
        expect(await store.findKey(alone)).to.include({ gateway: null });
        await capOf({ spendPerWeekMicro: 100 });
        const [first] = [await accepted(alone, 60), await accepted(member, 30)];
        const refused = { kind: 'refused', code: 'spend_limit_exceeded', ofGroup: WHOLE_GATEWAY };
        for (const keyId of [alone, member]) {
          expect(await store.accept(draftOf(keyId, 11))).to.deep.equal(refused);
          expect((await store.findKey(keyId))?.gateway).to.deep.equal(await store.findGroup(WHOLE_GATEWAY));
        }
        await store.finish(first.requestId, ended(5));
        expect(await store.findGroup(WHOLE_GATEWAY)).to.include({ heldMicro: 30, weekSpentMicro: 5 });
        expect(await store.accept(draftOf(member, 66))).to.deep.equal(refused);
        await accepted(member, 65);
        expect(await store.deleteGroup(WHOLE_GATEWAY)).to.equal('deleted');
        await accepted(member, 100);
      });

      it('begins with what is held, and with what was spent before it', async () => {
        const keyId = await makeKey(null);
        await spend(keyId, 4, 'm');
        clock.nowMs += 86_400_000;
        await spend(keyId, 7, 'm', clock.nowMs);
        const running = await accepted(keyId, 20);
        await capOf({ spendPerDayMicro: 100 });
        const spent = { daySpentMicro: 7, weekSpentMicro: 11, monthSpentMicro: 11 };
        expect(await store.findGroup(WHOLE_GATEWAY)).to.include({ heldMicro: 20, ...spent });
        expect(tell(await store.accept(draftOf(keyId, 74)))).to.equal('spend_limit_exceeded of the group');
        await store.finish(running.requestId, newOutcome({ completedAtMs: clock.nowMs, costMicro: 3 }));
        expect(await store.findGroup(WHOLE_GATEWAY)).to.include({ heldMicro: 0, daySpentMicro: 10 });
      });

      it('holds nothing more of a key that was deleted, and is charged what it has cost', async () => {
        await capOf({ spendPerDayMicro: 100 });
        const keyId = await makeKey(null);
        const [ends, goes] = [await accepted(keyId, 30), await accepted(keyId, 30)];
        await store.deleteKey(keyId);
        await store.finish(ends.requestId, ended(9));
        await store.discard(goes.requestId);
        expect(await store.findGroup(WHOLE_GATEWAY)).to.include({ heldMicro: 0, daySpentMicro: 9 });
      });

      it('refuses every key while it is disabled', async () => {
        await capOf({});
        const keyId = await makeKey(await groupWith(null));
        await store.updateGroup(WHOLE_GATEWAY, { isDisabled: true });
        expect(await store.takeRate(keyId, 0)).to.deep.equal({ refused: 'invalid_api_key', ofGroup: WHOLE_GATEWAY });
      });

      if (engine.isShared) {
        it('lets two processes have the last of it once', async () => {
          const other = await open();
          try {
            await capOf({ spendPerMonthMicro: 100 });
            const keys = await Promise.all(Array.from({ length: 8 }, () => makeKey(null)));
            const answers = await Promise.all(
              Array.from({ length: 80 }, (_, at) => (at % 2 === 0 ? store : other).accept(draftOf(pick(keys, at), 7))),
            );
            expect(answers.filter(({ kind }) => kind === 'accepted')).to.have.length(14);
            expect(await other.findGroup(WHOLE_GATEWAY)).to.include({ heldMicro: 98 });
          } finally {
            await other.close();
          }
        });

        it('counts each request once that two processes begin and end while it is made', async () => {
          const other = await open();
          try {
            const keys = await Promise.all(Array.from({ length: 8 }, () => makeKey(null)));
            const runOne = async (at: number): Promise<void> => {
              const one = at % 2 === 0 ? store : other;
              const draft = draftOf(pick(keys, at), 7);
              await one.accept(draft);
              await one.finish(draft.requestId, ended(2));
            };
            const running = Array.from({ length: 200 }, (_, at) => runOne(at));
            await running[60];
            await capOf({ spendPerDayMicro: 1e6 });
            await Promise.all(running);
            expect(await store.findGroup(WHOLE_GATEWAY)).to.include({ heldMicro: 0, daySpentMicro: 400 });
          } finally {
            await other.close();
          }
        });
      }
    });

    if (engine.isShared) {
      it('are found and charged by every process', async () => {
        const other = await open();
        try {
          const groupId = await groupWith(100);
          const keyId = await makeKey(groupId);
          const answers = await Promise.all(
            Array.from({ length: 40 }, (_, at) => (at % 2 === 0 ? store : other).accept(draftOf(keyId, 7))),
          );
          expect(answers.filter(({ kind }) => kind === 'accepted')).to.have.length(14);
          expect(await other.findGroup(groupId)).to.include({ balanceMicro: 2, heldMicro: 98 });
        } finally {
          await other.close();
        }
      });
    }

    /** The store may go by a clock of its own. */
    function inOneMinute(sentence: string, test: () => Promise<void>): void {
      const runningMinute = async () => {
        return (await store.findRate(await groupWithLimits({ requestsPerMinute: 1 })))?.minute;
      };
      it(sentence, () => withinOneMinute(test, runningMinute));
    }

    async function groupWith(creditsMicro: number | null): Promise<GroupId> {
      return (await store.createGroup(newGroupDraft({ creditsMicro }))).groupId;
    }

    async function groupWithLimits(limits: Partial<KeyLimits>): Promise<GroupId> {
      return (await store.createGroup(newGroupDraft({ limits: { ...NO_LIMITS, ...limits } }))).groupId;
    }

    async function makeKey(groupId: GroupId | null, overrides: Partial<KeyDraft> = {}): Promise<KeyId> {
      return (await store.createKey(newKeyDraft({ groupId, ...overrides }))).keyId;
    }

    function draftOf(keyId: KeyId, heldMicro: number, tokens = 0, model = 'm'): RecordDraft {
      return newDraft({
        caller: [keyId],
        model,
        createdAtMs: clock.nowMs,
        hold: { ...newHold(keyId, heldMicro), tokens },
      });
    }

    async function accepted(keyId: KeyId, heldMicro: number, model = 'm'): Promise<RecordDraft> {
      const draft = draftOf(keyId, heldMicro, 0, model);
      expect(await store.accept(draft)).to.include({ kind: 'accepted' });
      return draft;
    }

    async function spend(keyId: KeyId, costMicro: number, model: string, completedAtMs = NOON_MS): Promise<void> {
      const { requestId } = await accepted(keyId, 0, model);
      await store.finish(requestId, newOutcome({ completedAtMs, costMicro }));
    }

    async function ask(keyId: KeyId, tokens: number): Promise<string> {
      const acceptance = await store.accept(draftOf(keyId, 0, tokens));
      return tell(acceptance);
    }

    /** The newest entry first. */
    async function ledgerOf(groupId: GroupId): Promise<readonly string[]> {
      const entries: readonly LedgerEntry[] = (await store.listGroupLedger(groupId, { limit: 100 }))?.entries ?? [];
      return entries.map(({ kind, amountMicro }) => `${kind} ${amountMicro}`);
    }
  });
}

function requests(requestsPerMinute: number): Partial<KeyDraft> {
  return { limits: { ...NO_LIMITS, requestsPerMinute } };
}

function ended(costMicro: number) {
  return newOutcome({ completedAtMs: NOON_MS, costMicro });
}

function pick<Value>(values: readonly Value[], at: number): Value {
  const value = values[at % values.length];
  if (value === undefined) throw new Error('there is nothing to pick from');
  return value;
}

function tell(acceptance: Acceptance): string {
  if (acceptance.kind !== 'refused') return acceptance.kind;
  return acceptance.ofGroup !== undefined ? `${acceptance.code} of the group` : acceptance.code;
}

async function codeThrown(call: Promise<unknown>): Promise<string | undefined> {
  const thrown = await call.catch((error: unknown) => error);
  return thrown instanceof ApiError ? thrown.code : undefined;
}

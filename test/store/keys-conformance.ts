/** What every engine promises about keys and their credits; called by the tests of each. */
import { UTC } from '../../src/core/time.ts';
import { createCalendar } from '../../src/store/calendar.ts';
import { expect } from 'chai';
import { loadAcceptedCallers } from '../../src/accounts/accepted-callers.ts';
import { ApiError } from '../../src/core/errors.ts';
import type { KeyId } from '../../src/contract/ids.ts';
import type { KeyChange, StoredKey } from '../../src/core/books/keys.ts';
import type { Identity } from '../../src/core/ids.ts';
import type { Store } from '../../src/core/books/store.ts';
import { newGroupDraft, newKeyDraft, newKeyId } from '../support/keys.ts';
import { until } from '../support/time.ts';
import { useStoreAt, type EngineUnderTest } from './conformance.ts';

const NOW_MS = Date.UTC(2026, 8, 21, 15, 30);

/** Describes the keys of a store by its promises. */
export function describeKeys(name: string, engine: EngineUnderTest): void {
  describe(`the keys of the store ${name}`, () => {
    let store: Store;
    const { clock } = useStoreAt(engine, NOW_MS, (opened) => {
      store = opened;
    });

    describe('rememberAccepted', () => {
      it('keeps each caller once, the latest last', async () => {
        for (const [caller, atMs] of [
          ['accepted 1', NOW_MS],
          ['accepted 2', NOW_MS + 1],
          ['accepted 1', NOW_MS + 2],
        ] as const)
          await store.rememberAccepted(caller, atMs);
        expect((await store.listAccepted(0)).slice(-2)).to.deep.equal(['accepted 2', 'accepted 1']);
      });

      it('lists those since a time', async () => {
        await store.rememberAccepted('long ago', NOW_MS + 5000);
        await store.rememberAccepted('just now', NOW_MS + 6000);
        expect(await store.listAccepted(NOW_MS + 6000)).to.deep.equal(['just now']);
      });

      it('tells another process whom the backend has accepted', async () => {
        const open = () => loadAcceptedCallers({ accounts: store, nowMs: () => NOW_MS });
        const [here, there] = [await open(), await open()];
        here.add(['accepted here']);
        await until(async () => (await store.listAccepted(0)).includes('accepted here'));
        await there.look();
        expect([there.has(['accepted here']), there.has(['stranger'])]).to.deep.equal([true, false]);
      });
    });

    describe('createKey', () => {
      it('makes a key that holds what the draft says', async () => {
        const limits = {
          requestsPerMinute: 1,
          tokensPerMinute: 2,
          spendPerDayMicro: 3,
          spendPerWeekMicro: 5,
          spendPerMonthMicro: 4,
        };
        const draft = newKeyDraft({ expiresAtMs: 9, models: ['a', 'b-*'], limits, creditsMicro: 70 });
        const made: StoredKey = {
          keyId: draft.keyId,
          prefix: 'sk-abc',
          name: draft.name,
          createdAtMs: 5,
          expiresAtMs: 9,
          isDisabled: false,
          models: ['a', 'b-*'],
          limits,
          balanceMicro: 70,
          heldMicro: 0,
          daySpentMicro: 0,
          weekSpentMicro: 0,
          monthSpentMicro: 0,
          today: createCalendar(UTC).at(clock.nowMs),
          formerUntilMs: null,
          lastUsedAtMs: null,
          isOfPreviousSecret: false,
          group: null,
          gateway: null,
        };
        expect(await store.createKey(draft)).to.deep.equal(made);
        expect(await store.findKey(draft.keyId)).to.deep.equal(made);
      });

      it('enters its first credits into its ledger', async () => {
        const { keyId } = await store.createKey(newKeyDraft({ creditsMicro: 70 }));
        const ledger = await store.listLedger(keyId, { limit: 5 });
        expect(ledger?.entries).to.have.lengthOf(1);
        expect(ledger?.entries[0]).to.include({ kind: 'grant', amountMicro: 70, requestId: null, createdAtMs: 5 });
      });

      const beginnings = [
        { what: 'without credits is not prepaid', creditsMicro: null },
        { what: 'with no credits yet is prepaid', creditsMicro: 0 },
      ];
      for (const { what, creditsMicro } of beginnings) {
        it(`${what}, with nothing in its ledger`, async () => {
          const { keyId, balanceMicro } = await store.createKey(newKeyDraft({ creditsMicro }));
          expect(balanceMicro).to.equal(creditsMicro);
          expect(await store.listLedger(keyId, { limit: 5 })).to.deep.equal({ entries: [], hasMore: false });
        });
      }

      for (const creditsMicro of [-1, 0.5, 2 ** 53]) {
        it(`takes no ${creditsMicro} credits`, async () => {
          const draft = newKeyDraft({ creditsMicro });
          expect(await store.createKey(draft).catch((error: unknown) => error)).to.be.instanceOf(RangeError);
          expect(await store.findKey(draft.keyId)).to.equal(undefined);
        });
      }
    });

    describe('createKeys', () => {
      it('makes all keys, in the order of the drafts, each with its first credits in its ledger', async () => {
        const { groupId } = await store.createGroup(newGroupDraft());
        const drafts = [{ creditsMicro: 70 }, { groupId }, { creditsMicro: 0 }].map((draft) => newKeyDraft(draft));
        const made = await store.createKeys(drafts);
        expect(made.map(({ keyId }) => keyId)).to.deep.equal(drafts.map(({ keyId }) => keyId));
        expect(made.map(({ balanceMicro }) => balanceMicro)).to.deep.equal([70, null, 0]);
        expect(made.map(({ group }) => group?.groupId)).to.deep.equal([undefined, groupId, undefined]);
        const ledgers = await Promise.all(drafts.map(({ keyId }) => store.listLedger(keyId, { limit: 5 })));
        expect(ledgers.map((ledger) => ledger?.entries.map(({ amountMicro }) => amountMicro))).to.deep.equal([
          [70],
          [],
          [],
        ]);
        const { keys = [] } = (await store.listKeys({ limit: 3 })) ?? {};
        expect(keys.map(({ keyId }) => keyId).toReversed()).to.deep.equal(made.map(({ keyId }) => keyId));
      });

      it('makes none where one cannot be made', async () => {
        const other = await store.createKey(newKeyDraft());
        const good = newKeyDraft({ creditsMicro: 5 });
        for (const { draft, code } of [
          { draft: newKeyDraft({ name: other.name }), code: 'duplicate_request' },
          { draft: newKeyDraft({ groupId: newGroupDraft().groupId }), code: 'not_found' },
        ]) {
          expect(await store.createKeys([good, draft]).catch(codeOf)).to.equal(code);
          expect(await store.findKey(good.keyId)).to.equal(undefined);
        }
        expect((await store.createKeys([good])).map(({ keyId }) => keyId)).to.deep.equal([good.keyId]);
      });
    });

    describe('findKeyByHash', () => {
      it('finds the key of a secret, and none for another one', async () => {
        const [one] = [await store.createKey(withHash('h1')), await store.createKey(withHash('h2'))];
        expect(await store.findKeyByHash(['h1'])).to.deep.equal(one);
        expect(await store.findKeyByHash(['h3'])).to.equal(undefined);
      });

      it('returns also a key that is disabled or expired', async () => {
        const { keyId } = await store.createKey(newKeyDraft({ ...withHash('h1'), expiresAtMs: 1 }));
        const key = await store.updateKey(keyId, { isDisabled: true });
        expect(key).to.include({ isDisabled: true, expiresAtMs: 1 });
        expect(await store.findKeyByHash(['h1'])).to.deep.equal(key);
      });

      it('knows a key by the present GATEWAY_SECRET once it was found by the previous one', async () => {
        const { keyId } = await store.createKey(withHash('by the old secret'));
        expect(await store.findKeyByHash(['by the new secret'])).to.equal(undefined);
        expect(await store.findKeyByHash(['by the new secret', 'by the old secret'])).to.have.property('keyId', keyId);
        expect(await store.findKeyByHash(['by the new secret'])).to.have.property('keyId', keyId);
        expect(await store.findKeyByHash(['by the old secret'])).to.equal(undefined);
      });

      it('knows a former secret too by the present GATEWAY_SECRET, and for no longer', async () => {
        const { keyId } = await store.createKey(withHash('first, old'));
        await store.rotateKey(keyId, secretOf('second, old'), clock.nowMs + 10);
        await store.findKeyByHash(['first, new', 'first, old']);
        expect(await find('first, new')).to.equal(keyId);
        expect(await find('second, old'), 'the secret that was not asked for').to.equal(keyId);
        clock.nowMs += 10;
        expect(await find('first, new')).to.equal(undefined);
      });
    });

    describe('rotateKey', () => {
      it('changes the secret and its prefix, and nothing else', async () => {
        const before = await store.createKey(newKeyDraft({ creditsMicro: 5, models: ['m'] }));
        const after = await store.rotateKey(before.keyId, { hash: ['h2'], prefix: 'sk-new' }, clock.nowMs + 10);
        expect(after).to.deep.equal({ ...before, prefix: 'sk-new', formerUntilMs: clock.nowMs + 10 });
        expect(await store.findKeyByHash(['h2'])).to.deep.equal(after);
      });

      it('leaves the former secret good until its grace ends, to the millisecond', async () => {
        const { keyId } = await store.createKey(withHash('h1'));
        await store.rotateKey(keyId, secretOf('h2'), clock.nowMs + 1000);
        clock.nowMs += 999;
        expect([await find('h1'), await find('h2')]).to.deep.equal([keyId, keyId]);
        clock.nowMs += 1;
        expect([await find('h1'), await find('h2')]).to.deep.equal([undefined, keyId]);
      });

      it('leaves only the last of many secrets beside the present one', async () => {
        const { keyId } = await store.createKey(withHash('h1'));
        await store.rotateKey(keyId, secretOf('h2'), clock.nowMs + 1000);
        await store.rotateKey(keyId, secretOf('h3'), clock.nowMs + 1000);
        expect([await find('h1'), await find('h2'), await find('h3')]).to.deep.equal([undefined, keyId, keyId]);
      });
    });

    describe('updateKey', () => {
      const limits = {
        requestsPerMinute: 1,
        tokensPerMinute: 2,
        spendPerDayMicro: 3,
        spendPerWeekMicro: 5,
        spendPerMonthMicro: 4,
      };
      const changes: readonly { what: string; change: KeyChange; result: Partial<StoredKey> }[] = [
        { what: 'nothing', change: {}, result: {} },
        { what: 'the name', change: { name: 'other' }, result: { name: 'other' } },
        { what: 'whether it is disabled', change: { isDisabled: true }, result: { isDisabled: true } },
        { what: 'when it expires', change: { expiresAtMs: 9 }, result: { expiresAtMs: 9 } },
        { what: 'that it does not expire', change: { expiresAtMs: null }, result: { expiresAtMs: null } },
        { what: 'its models', change: { models: ['x'] }, result: { models: ['x'] } },
        { what: 'its models to none', change: { models: [] }, result: { models: [] } },
        { what: 'its models to all', change: { models: null }, result: { models: null } },
        ...Object.keys(limits).flatMap((name) => [
          { what: name, change: { limits: { [name]: 77 } }, result: { limits: { ...limits, [name]: 77 } } },
          {
            what: `${name} to none`,
            change: { limits: { [name]: null } },
            result: { limits: { ...limits, [name]: null } },
          },
        ]),
      ];
      for (const { what, change, result } of changes) {
        it(`changes ${what} alone`, async () => {
          const draft = newKeyDraft({ expiresAtMs: 5, models: ['m'], limits, creditsMicro: 6 });
          const key = await store.createKey(draft);
          const other = await store.createKey(newKeyDraft());
          expect(await store.updateKey(key.keyId, change)).to.deep.equal({ ...key, ...result });
          expect(await store.findKey(key.keyId)).to.deep.equal({ ...key, ...result });
          expect(await store.findKey(other.keyId)).to.deep.equal(other);
        });
      }

      it('enables a key again', async () => {
        const key = await store.createKey(newKeyDraft());
        await store.updateKey(key.keyId, { isDisabled: true });
        expect(await store.updateKey(key.keyId, { isDisabled: false })).to.deep.equal(key);
      });
    });

    describe('listKeys', () => {
      it('shows the newest first, page by page', async () => {
        const made: KeyId[] = [];
        for (let count = 0; count < 5; count += 1) made.unshift((await store.createKey(newKeyDraft())).keyId);
        const pages = [await page(2), await page(2, made[1]), await page(2, made[3])];
        expect(pages).to.deep.equal([
          { keyIds: made.slice(0, 2), hasMore: true },
          { keyIds: made.slice(2, 4), hasMore: true },
          { keyIds: made.slice(4), hasMore: false },
        ]);
        expect(await page(5)).to.deep.equal({ keyIds: made, hasMore: false });
      });

      it('knows no page after a key that does not exist', async () => {
        expect(await store.listKeys({ limit: 1, after: newKeyId() })).to.equal(undefined);
      });

      async function page(limit: number, after?: KeyId): Promise<unknown> {
        const found = await store.listKeys({ limit, ...(after !== undefined && { after }) });
        return { keyIds: found?.keys.map(({ keyId }) => keyId), hasMore: found?.hasMore };
      }
    });

    describe('deleteKey', () => {
      it('takes the key and its ledger away, and leaves others', async () => {
        const [one, other] = [withHash('h1'), withHash('h2')];
        await store.createKey({ ...one, creditsMicro: 5 });
        const left = await store.createKey({ ...other, creditsMicro: 5 });
        expect(await store.deleteKey(one.keyId)).to.equal(true);
        expect(await store.findKey(one.keyId)).to.equal(undefined);
        expect(await find('h1')).to.equal(undefined);
        expect(await store.listLedger(one.keyId, { limit: 5 })).to.equal(undefined);
        expect(await store.findKeyByHash(['h2'])).to.deep.equal(left);
      });
    });

    describe('credit', () => {
      it('adds to the balance and to the ledger', async () => {
        const { keyId } = await store.createKey(newKeyDraft({ creditsMicro: 5 }));
        const entry = { kind: 'grant', amountMicro: 10, note: 'paid', createdAtMs: 6 } as const;
        expect(await store.credit(keyId, entry)).to.have.property('balanceMicro', 15);
        const correction = { kind: 'adjust', amountMicro: -20, note: 'a mistake', createdAtMs: 7 } as const;
        expect(await store.credit(keyId, correction)).to.have.property('balanceMicro', -5);
        expect(await store.findKey(keyId)).to.have.property('balanceMicro', -5);
        const ledger = await store.listLedger(keyId, { limit: 2 });
        expect(ledger?.entries[0]).to.include({ ...correction, requestId: null });
        expect(ledger?.entries[1]).to.include({ ...entry, requestId: null });
        expect(ledger?.hasMore).to.equal(true);
      });

      it('adds an entry with a reference once, however often it is tried, and for each key by itself', async () => {
        const one = await store.createKey(newKeyDraft({ creditsMicro: 5 }));
        const other = await store.createKey(newKeyDraft({ creditsMicro: 5 }));
        const entry = { ...grant(10), reference: 'invoice 1' };
        const tries = Array.from({ length: 20 }, () => store.credit(one.keyId, entry).catch(codeOf));
        const refused = (await Promise.all(tries)).filter((outcome) => outcome === 'duplicate_request');
        expect(refused).to.have.lengthOf(19);
        expect(await store.findKey(one.keyId)).to.have.property('balanceMicro', 15);
        expect(await store.credit(other.keyId, entry)).to.have.property('balanceMicro', 15);
        expect(await store.credit(one.keyId, { ...entry, reference: 'invoice 2' })).to.have.property(
          'balanceMicro',
          25,
        );
        const ledger = await store.listLedger(one.keyId, { limit: 5 });
        expect(ledger?.entries.map(({ reference }) => reference)).to.deep.equal(['invoice 2', 'invoice 1', null]);
      });

      it('makes a key prepaid', async () => {
        const { keyId } = await store.createKey(newKeyDraft());
        expect(await store.credit(keyId, grant(10))).to.have.property('balanceMicro', 10);
      });

      it('refuses what would leave the safe integers, and changes nothing', async () => {
        const { keyId } = await store.createKey(newKeyDraft({ creditsMicro: Number.MAX_SAFE_INTEGER - 5 }));
        expect(await store.credit(keyId, grant(6)).catch((error: unknown) => error)).to.be.instanceOf(RangeError);
        expect(await store.findKey(keyId)).to.have.property('balanceMicro', Number.MAX_SAFE_INTEGER - 5);
        expect((await store.listLedger(keyId, { limit: 5 }))?.entries).to.have.lengthOf(1);
        expect(await store.credit(keyId, grant(5))).to.have.property('balanceMicro', Number.MAX_SAFE_INTEGER);
      });

      for (const entry of [grant(0), grant(-1), grant(0.5), { ...grant(0), kind: 'adjust' as const }]) {
        it(`takes no ${entry.kind} of ${entry.amountMicro}`, async () => {
          const { keyId } = await store.createKey(newKeyDraft({ creditsMicro: 5 }));
          expect(await store.credit(keyId, entry).catch((error: unknown) => error)).to.be.instanceOf(RangeError);
        });
      }
    });

    it('lists a ledger page by page, the newest first, and of this key alone', async () => {
      const { keyId } = await store.createKey(newKeyDraft({ creditsMicro: 1 }));
      const other = await store.createKey(newKeyDraft({ creditsMicro: 100 }));
      for (const amountMicro of [2, 3, 4]) {
        await store.credit(keyId, grant(amountMicro));
        await store.credit(other.keyId, grant(100));
      }
      const first = await store.listLedger(keyId, { limit: 3 });
      expect(first?.entries.map(({ amountMicro }) => amountMicro)).to.deep.equal([4, 3, 2]);
      expect(first?.hasMore).to.equal(true);
      const rest = await store.listLedger(keyId, { limit: 3, beforeSeq: first?.entries[2]?.seq ?? 0 });
      expect(rest?.entries.map(({ amountMicro }) => amountMicro)).to.deep.equal([1]);
      expect(rest?.hasMore).to.equal(false);
    });

    const unknowns: readonly { call: string; ask: (keyId: KeyId) => Promise<unknown>; answer?: unknown }[] = [
      { call: 'findKey', ask: (keyId) => store.findKey(keyId) },
      { call: 'updateKey', ask: (keyId) => store.updateKey(keyId, { name: 'x' }) },
      { call: 'rotateKey', ask: (keyId) => store.rotateKey(keyId, secretOf('h'), 9) },
      { call: 'credit', ask: (keyId) => store.credit(keyId, grant(1)) },
      { call: 'listLedger', ask: (keyId) => store.listLedger(keyId, { limit: 1 }) },
      { call: 'deleteKey', ask: (keyId) => store.deleteKey(keyId), answer: false },
    ];
    for (const { call, ask, answer } of unknowns) {
      it(`knows no key that was never made in ${call}`, async () => {
        await store.createKey(newKeyDraft());
        expect(await ask(newKeyId())).to.equal(answer);
      });
    }

    async function find(...hash: Identity): Promise<KeyId | undefined> {
      return (await store.findKeyByHash(hash))?.keyId;
    }
  });
}

function withHash(hash: string) {
  return newKeyDraft({ secret: secretOf(hash) });
}

function secretOf(hash: string): { hash: Identity; prefix: string } {
  return { hash: [hash], prefix: 'sk-abc' };
}

function grant(amountMicro: number) {
  return { kind: 'grant', amountMicro, note: '', createdAtMs: 6 } as const;
}

function codeOf(error: unknown): unknown {
  return error instanceof ApiError ? error.code : error;
}

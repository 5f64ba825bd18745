/** What every engine promises about requests and tokens per minute; called by the tests of each. */
import type { KeyLimits } from '../../src/core/money/limits.ts';
import { expect } from 'chai';
import type { KeyId } from '../../src/contract/ids.ts';
import type { RateCorrection } from '../../src/core/money/rates.ts';
import type { KeyDraft } from '../../src/core/books/keys.ts';
import type { RecordDraft, Store } from '../../src/core/books/store.ts';
import { NO_LIMITS, newKeyDraft, newKeyId } from '../support/keys.ts';
import { newDraft, newKeyedDraft, newOutcome } from '../support/records.ts';
import { inOneMinute as withinOneMinute } from '../support/one-minute.ts';
import { useStoreAt, type EngineUnderTest } from './conformance.ts';

/** The beginning of a minute. */
const MINUTE_MS = 1_790_000_040_000;

/** Describes how keys are held to their rates by the promises of the store. */
export function describeRates(name: string, engine: EngineUnderTest): void {
  const { isShared } = engine;
  describe(`the rates of the store ${name}`, () => {
    let store: Store;
    const { clock, open } = useStoreAt(engine, MINUTE_MS, (opened) => {
      store = opened;
    });

    /** The store may go by a clock of its own. */
    function inOneMinute(sentence: string, test: () => Promise<void>): void {
      it(sentence, () => withinOneMinute(test, runningMinute));
    }

    async function runningMinute(): Promise<number | undefined> {
      return (await store.findRate(await makeKey({ requestsPerMinute: 1 })))?.minute;
    }

    async function nextMinute(): Promise<void> {
      clock.nowMs += 60_000;
      await engine.nextMinute?.();
    }

    async function makeKey(limits: Partial<KeyLimits>, draft: Partial<KeyDraft> = {}): Promise<KeyId> {
      return (await store.createKey(newKeyDraft({ limits: { ...NO_LIMITS, ...limits }, ...draft }))).keyId;
    }

    function draftOf(keyId: KeyId, tokens = 0, heldMicro = 0): RecordDraft {
      const hold = { keyId, heldMicro, interruptedCostMicro: heldMicro === 0 ? null : 1, tokens };
      return newDraft({ createdAtMs: clock.nowMs, hold });
    }

    /** What came of it, and the requests and the tokens which were used then. */
    async function ask(keyId: KeyId, tokens = 0, by = store): Promise<readonly unknown[]> {
      const acceptance = await by.accept(draftOf(keyId, tokens));
      if (acceptance.kind === 'duplicate') return [acceptance.kind];
      const { kind, rates } = acceptance;
      return [kind === 'refused' ? acceptance.code : kind, rates?.requests, rates?.tokens];
    }

    async function used(keyId: KeyId): Promise<readonly unknown[]> {
      const rates = await store.findRate(keyId);
      return [rates?.requests, rates?.tokens];
    }

    inOneMinute('count a request and its tokens with the record, and say how the key stands', async () => {
      const keyId = await makeKey({ requestsPerMinute: 3, tokensPerMinute: 100 });
      await store.accept(draftOf(keyId, 10));
      const acceptance = await store.accept(draftOf(keyId, 20));
      const rates = 'rates' in acceptance ? acceptance.rates : undefined;
      expect(rates).to.include({ requests: 2, tokens: 30, requestsPerMinute: 3, tokensPerMinute: 100 });
      expect(rates?.resetMs).to.be.within(1, 120_000);
      const { resetMs, ...standing } = (await store.findRate(keyId)) ?? {};
      expect(resetMs).to.be.within(1, 120_000);
      expect(rates).to.deep.include(standing);
    });

    it('say nothing of a key without limits per minute, and nothing of one that is not there', async () => {
      const keyId = await makeKey({ spendPerDayMicro: 100 });
      expect(await store.accept(draftOf(keyId, 1e9))).to.deep.equal({ kind: 'accepted' });
      expect(await store.takeRate(keyId, 5)).to.deep.equal({});
      expect(await store.findRate(keyId)).to.equal(undefined);
      expect(await store.findRate(newKeyId())).to.equal(undefined);
      expect(await store.takeRate(newKeyId(), 0)).to.deep.equal({ refused: 'invalid_api_key' });
    });

    inOneMinute('refuse what is too much, with how the key stands, and leave nothing of it', async () => {
      const keyId = await makeKey({ requestsPerMinute: 2, tokensPerMinute: 100 });
      expect(await ask(keyId, 101)).to.deep.equal(['rate_limit_exceeded', 0, 0]);
      expect(await ask(keyId, 60)).to.deep.equal(['accepted', 1, 60]);
      const refused = draftOf(keyId, 41);
      expect(await store.accept(refused)).to.include({ kind: 'refused', code: 'rate_limit_exceeded' });
      expect(await store.find(refused.caller, refused.requestId)).to.equal(undefined);
      expect(await used(keyId)).to.deep.equal([1, 60]);
      expect(await ask(keyId, 40)).to.deep.equal(['accepted', 2, 100]);
      expect(await ask(keyId, 0)).to.deep.equal(['rate_limit_exceeded', 2, 100]);
    });

    inOneMinute('let ten of a hundred at once through when there are ten', async () => {
      const keyId = await makeKey({ requestsPerMinute: 10, tokensPerMinute: 1000 });
      const answers = await Promise.all(Array.from({ length: 100 }, () => ask(keyId, 7)));
      expect(answers.filter(([kind]) => kind === 'accepted')).to.have.lengthOf(10);
      expect(answers.filter(([kind]) => kind === 'rate_limit_exceeded')).to.have.lengthOf(90);
      expect(await used(keyId)).to.deep.equal([10, 70]);
    });

    inOneMinute('refuse a rate before funds, and count nothing of what the funds refuse', async () => {
      const keyId = await makeKey({ requestsPerMinute: 1 }, { creditsMicro: 10 });
      expect(await store.accept(draftOf(keyId, 5, 11))).to.deep.equal({
        kind: 'refused',
        code: 'insufficient_credits',
      });
      expect(await used(keyId)).to.deep.equal([0, 0]);
      await store.accept(draftOf(keyId, 5, 10));
      expect(await store.accept(draftOf(keyId, 5, 11))).to.include({ code: 'rate_limit_exceeded' });
      expect(await store.findKey(keyId)).to.include({ balanceMicro: 0, heldMicro: 10 });
    });

    inOneMinute('count a duplicate not at all, and answer it also when the minute is full', async () => {
      const keyId = await makeKey({ requestsPerMinute: 1 });
      const { hold } = draftOf(keyId, 5);
      const keyed = () => newKeyedDraft('name', { caller: [keyId], createdAtMs: clock.nowMs, ...(hold && { hold }) });
      const answers = await Promise.all(Array.from({ length: 5 }, () => store.accept(keyed())));
      expect(answers.map(({ kind }) => kind)).to.have.members(['accepted', ...Array(4).fill('duplicate')]);
      expect(await store.accept(keyed())).to.include({ kind: 'duplicate' });
      expect(await used(keyId)).to.deep.equal([1, 5]);
    });

    it('refuse a key that may do nothing before its rate is looked at', async () => {
      const keyId = await makeKey({ requestsPerMinute: 0 }, { expiresAtMs: MINUTE_MS });
      expect(await ask(keyId)).to.deep.equal(['invalid_api_key', undefined, undefined]);
      expect(await store.takeRate(keyId, 0)).to.deep.equal({ refused: 'invalid_api_key' });
    });

    inOneMinute('count requests without a record with the others', async () => {
      const keyId = await makeKey({ requestsPerMinute: 2, tokensPerMinute: 10 });
      await ask(keyId, 10);
      expect((await store.takeRate(keyId, 0)).rates).to.include({ requests: 2, tokens: 10 });
      expect(await store.takeRate(keyId, 0)).to.include({ refused: 'rate_limit_exceeded' });
      expect(await used(keyId)).to.deep.equal([2, 10]);
    });

    inOneMinute('follow a changed limit at once', async () => {
      const keyId = await makeKey({ requestsPerMinute: 1 });
      await ask(keyId);
      await store.updateKey(keyId, { limits: { requestsPerMinute: 2 } });
      expect(await ask(keyId)).to.deep.equal(['accepted', 2, 0]);
      await store.updateKey(keyId, { limits: { requestsPerMinute: 1 } });
      expect(await ask(keyId)).to.deep.equal(['rate_limit_exceeded', 2, 0]);
    });

    inOneMinute('put what was used in the place of what was expected', async () => {
      const keyId = await makeKey({ tokensPerMinute: 100 });
      const [first, second, ...others] = [draftOf(keyId, 40), draftOf(keyId), draftOf(keyId), draftOf(keyId)];
      for (const draft of [first, second, ...others]) await store.accept(draft);
      const minute = (await store.findRate(keyId))?.minute ?? 0;
      await store.finish(first.requestId, newOutcome(), { minute, tokens: 90 });
      expect(await used(keyId)).to.deep.equal([4, 130]);
      expect(await ask(keyId, 1)).to.deep.equal(['rate_limit_exceeded', 4, 130]);
      expect(await ask(keyId, 0)).to.deep.equal(['accepted', 5, 130]);
      await store.finish(second.requestId, newOutcome(), { minute, tokens: -1000 });
      expect(await used(keyId)).to.deep.equal([5, 0]);
      for (const { requestId } of others) {
        await store.finish(requestId, newOutcome(), { minute, tokens: Number.MAX_SAFE_INTEGER });
      }
      expect(await used(keyId)).to.deep.equal([5, Number.MAX_SAFE_INTEGER]);
      const half = store.finish(first.requestId, newOutcome(), { minute, tokens: 0.5 });
      expect(await half.catch((error: unknown) => error)).to.be.instanceOf(RangeError);
    });

    for (const { how, end, balanceMicro } of [
      {
        how: 'the end of a record',
        end: ({ requestId }: RecordDraft, correction: RateCorrection) =>
          store.finish(requestId, newOutcome({ costMicro: 12 }), correction),
        balanceMicro: 88,
      },
      {
        how: 'the removal of a record',
        end: ({ requestId }: RecordDraft, correction: RateCorrection) => store.discard(requestId, correction),
        balanceMicro: 100,
      },
      {
        how: 'the removal of a record that was to be cancelled',
        end: async ({ requestId, caller }: RecordDraft, correction: RateCorrection) => {
          await store.requestCancel(caller, requestId);
          await store.discard(requestId, correction);
        },
        balanceMicro: 100,
      },
    ]) {
      inOneMinute(`correct a rate once, with ${how}`, async () => {
        const keyId = await makeKey({ tokensPerMinute: 100 }, { creditsMicro: 100 });
        const draft = draftOf(keyId, 40, 30);
        await store.accept(draft);
        const minute = (await store.findRate(keyId))?.minute ?? 0;
        for (let times = 0; times < 2; times += 1) await end(draft, { minute, tokens: -15 });
        expect(await used(keyId)).to.deep.equal([1, 25]);
        expect(await store.findKey(keyId)).to.include({ balanceMicro, heldMicro: 0 });
      });
    }

    inOneMinute('correct nothing for a key that was deleted meanwhile', async () => {
      const keyId = await makeKey({ tokensPerMinute: 100 });
      const draft = draftOf(keyId, 40);
      await store.accept(draft);
      const minute = (await store.findRate(keyId))?.minute ?? 0;
      await store.deleteKey(keyId);
      expect(await store.finish(draft.requestId, newOutcome(), { minute, tokens: 1 })).to.equal('succeeded');
      expect(await store.findRate(keyId)).to.equal(undefined);
    });

    inOneMinute('begin anew in the next minute, in which nothing of the last one is corrected', async () => {
      const keyId = await makeKey({ requestsPerMinute: 1, tokensPerMinute: 100 });
      const draft = draftOf(keyId, 100);
      await store.accept(draft);
      const minute = (await store.findRate(keyId))?.minute ?? 0;
      await nextMinute();
      await nextMinute();
      expect(await used(keyId)).to.deep.equal([0, 0]);
      expect(await ask(keyId, 10)).to.deep.equal(['accepted', 1, 10]);
      await store.finish(draft.requestId, newOutcome(), { minute: minute - 1, tokens: -5 });
      expect(await used(keyId)).to.deep.equal([1, 10]);
    });

    if (!isShared) return;

    inOneMinute('hold across all stores on one database, and through their end', async () => {
      const keyId = await makeKey({ requestsPerMinute: 10, tokensPerMinute: 1000 });
      const [second, third] = [await open(), await open()];
      const stores = [store, second, third];
      const answers = await Promise.all(
        Array.from({ length: 99 }, (_, index) => ask(keyId, 7, stores[index % 3] ?? store)),
      );
      await Promise.all([second.close(), third.close()]);
      expect(answers.filter(([kind]) => kind === 'accepted')).to.have.lengthOf(10);
      expect(await used(keyId)).to.deep.equal([10, 70]);
      const later = await open();
      const answer = await ask(keyId, 7, later);
      await later.close();
      expect(answer).to.deep.equal(['rate_limit_exceeded', 10, 70]);
    });
  });
}

/** What every engine that processes can share promises when one of them dies; called by the tests of each. */
import { expect } from 'chai';
import type { KeyId, RequestId } from '../../src/contract/ids.ts';
import type { RecordDraft, Store } from '../../src/core/books/store.ts';
import { newKeyDraft } from '../support/keys.ts';
import { startStoreProcess, type OtherProcess } from '../support/other-process.ts';
import { CALLER, newDraft, newKeyedDraft, newOutcome, newRequestId } from '../support/records.ts';
import { useStore, type EngineUnderTest } from './conformance.ts';

const NOW_MS = Date.UTC(2026, 8, 21, 12);

/** Describes by the promises of the store what becomes of the requests of a process that is killed. */
export function describeRecovery(name: string, engine: EngineUnderTest): void {
  describe(`the recovery of the store ${name}`, () => {
    let databaseUrl: string;
    let store: Store;
    let others: OtherProcess[];

    const open = useStore(
      engine,
      () => NOW_MS,
      (opened, url) => {
        [store, databaseUrl] = [opened, url];
      },
    );

    beforeEach(() => {
      others = [];
    });
    afterEach(() => Promise.all(others.map((other) => other.kill())));

    async function abandon(drafts: readonly RecordDraft[], cancels: readonly RequestId[] = []): Promise<OtherProcess> {
      const other = await startStoreProcess({ databaseUrl, drafts, cancels });
      others.push(other);
      return other;
    }

    async function abandonAndDie(...job: Parameters<typeof abandon>): Promise<void> {
      await (await abandon(...job)).kill();
      await engine.passTime?.();
    }

    it('closes what a killed process left unfinished, with an estimate as its usage and the key kept', async () => {
      const draft = newKeyedDraft('key', { estimatedInputTokens: 123, createdAtMs: 5 });
      await abandonAndDie([draft]);
      // How many it was is not looked at here or below: the upkeep of the store may have been quicker.
      await store.recover();
      expect(await store.find(CALLER, draft.requestId)).to.deep.include({
        status: 'failed',
        errorCode: 'gateway_interrupted',
        completedAtMs: NOW_MS,
        usageEstimated: true,
        usage: {
          input_tokens: 123,
          input_tokens_details: { cached_tokens: 0, cache_write_tokens: 0 },
          output_tokens: 0,
          output_tokens_details: { reasoning_tokens: 0 },
          total_tokens: 123,
        },
      });
      expect(await store.accept(newKeyedDraft())).to.have.property('kind', 'duplicate');
      expect(await store.recover(), 'the second time').to.equal(0);
    });

    it('ends a record as cancelled when that was promised', async () => {
      const draft = newDraft();
      await abandonAndDie([draft], [draft.requestId]);
      await store.recover();
      const record = await store.find(CALLER, draft.requestId);
      expect(record).to.include({ status: 'cancelled', errorCode: 'request_cancelled' });
    });

    it('happens when the store is opened', async () => {
      const draft = newDraft();
      await abandonAndDie([draft]);
      const next = await open();
      expect(await next.find(CALLER, draft.requestId)).to.have.property('status', 'failed');
      await next.close();
    });

    it('leaves what a live process has', async () => {
      const [theirs, mine] = [newDraft(), newDraft()];
      await abandon([theirs]);
      await store.accept(mine);
      const third = await open();
      expect([await store.recover(), await third.recover()]).to.deep.equal([0, 0]);
      await third.close();
      expect([await status(theirs.requestId), await status(mine.requestId)]).to.deep.equal([
        'processing',
        'processing',
      ]);
    });

    it('is final for whoever comes back late', async () => {
      const draft = newDraft();
      await abandonAndDie([draft]);
      await store.recover();
      expect(await store.finish(draft.requestId, newOutcome())).to.equal('failed');
      const record = await store.find(CALLER, draft.requestId);
      expect(record).to.include({ status: 'failed', errorCode: 'gateway_interrupted' });
    });

    it('settles each hold of a killed process once, at the cost of an interruption', async () => {
      const { keyId } = await store.createKey(newKeyDraft({ creditsMicro: 1000 }));
      const unpriced = { keyId, heldMicro: 0, interruptedCostMicro: null, tokens: 0 };
      const drafts = [
        newDraft({ hold: { keyId, heldMicro: 100, interruptedCostMicro: 7, tokens: 0 } }),
        newDraft({ hold: { keyId, heldMicro: 200, interruptedCostMicro: 11, tokens: 0 } }),
        newDraft({ hold: unpriced }),
      ];
      const cancelled = drafts[1]?.requestId ?? newRequestId();
      const other = await abandon(drafts, [cancelled]);
      // While the process lives, no upkeep of a store takes its holds for abandoned.
      expect(await store.findKey(keyId)).to.include({ balanceMicro: 700, heldMicro: 300 });
      await other.kill();
      await engine.passTime?.();
      const next = await open();
      await Promise.all([store.recover(), next.recover()]);
      await next.close();
      expect(await store.findKey(keyId)).to.include({ balanceMicro: 982, heldMicro: 0, daySpentMicro: 18 });
      await expectToAddUp(keyId);
      const records = await Promise.all(drafts.map(({ requestId }) => store.find(CALLER, requestId)));
      expect(records.map((record) => [record?.status, record?.costMicro])).to.deep.equal([
        ['failed', 7],
        ['cancelled', 11],
        ['failed', null],
      ]);
      const late = drafts[0]?.requestId ?? newRequestId();
      await store.finish(late, newOutcome({ completedAtMs: NOW_MS, costMicro: 50 }));
      expect(await store.findKey(keyId)).to.include({ balanceMicro: 982, heldMicro: 0 });
    });

    async function status(requestId: RequestId): Promise<string | undefined> {
      return (await store.find(CALLER, requestId))?.status;
    }

    async function expectToAddUp(keyId: KeyId): Promise<void> {
      const entries = (await store.listLedger(keyId, { limit: 1000 }))?.entries ?? [];
      const sum = entries.reduce((sum, { amountMicro }) => sum + amountMicro, 0);
      expect(await store.findKey(keyId)).to.have.property('balanceMicro', sum);
    }
  });
}

/** What every engine promises of an accept without an answer whose process is taken for dead; called by the tests of each. */
import { expect } from 'chai';
import type { KeyId } from '../../src/contract/ids.ts';
import { WHOLE_GATEWAY } from '../../src/core/ids.ts';
import { createEngineStore } from '../../src/store/calls/engine-store.ts';
import type { Operation, RemoteEngine } from '../../src/store/queue/operations.ts';
import type { RecordDraft, Store } from '../../src/core/books/store.ts';
import { newGroupDraft, newHold, newKeyDraft, NO_LIMITS } from '../support/keys.ts';
import { inOneMinute } from '../support/one-minute.ts';
import { CALLER, newDraft, newKeyedDraft, newOutcome, USAGE } from '../support/records.ts';
import { failureCode } from '../support/sqlite.ts';

export interface Opened {
  /** The engine of the process that is paused. */
  readonly engine: RemoteEngine;
  readonly alone?: ReadonlySet<Operation[0]>;
  /** Of another process on the same database. */
  readonly other: Store;
  /** Lets the other process take the paused one for dead. */
  readonly silence: () => void | Promise<void>;
}

const UNANSWERED: ReadonlySet<Operation[0]> = new Set(['acceptPaid', 'record', 'createGroup']);
const LOG = { info: () => undefined, warn: () => undefined };

/** Describes what becomes of a request whose process is paused between the commit of its accept and the answer. */
export function describeUndo(name: string, open: () => Promise<Opened>): void {
  describe(`an accept that a recovery has closed before it is undone, ${name}`, () => {
    let opened: Opened;
    let other: Opened['other'];
    let keyId: KeyId;

    beforeEach(async () => {
      opened = await open();
      ({ other } = opened);
      ({ keyId } = await other.createKey(newKeyDraft({ creditsMicro: 1000 })));
    });
    afterEach(() => other.close());

    /** Accepts the draft without an answer while all this happens, and resolves when it is undone. */
    async function acceptLate(draft: RecordDraft, meanwhile: () => Promise<unknown>): Promise<void> {
      await callLate((paused) => paused.accept(draft), meanwhile);
    }

    async function callLate(
      call: (paused: Store) => Promise<unknown>,
      meanwhile: () => Promise<unknown>,
    ): Promise<void> {
      const { alone } = opened;
      const engine: RemoteEngine = {
        ...opened.engine,
        async run(mode, batch) {
          const reply = await opened.engine.run(mode, batch);
          if (!batch.some(([name]) => UNANSWERED.has(name))) return reply;
          await meanwhile();
          return { failure: { reason: 'lost', message: 'the process was paused' } };
        },
      };
      const own = alone === undefined ? {} : { alone };
      const { store: paused } = createEngineStore({ engine, ...own, clock: Date.now, log: LOG });
      expect(await failureCode(call(paused))).to.equal('store_unavailable');
      await paused.close();
    }

    async function recover(): Promise<void> {
      await opened.silence();
      expect(await other.recover()).to.equal(1);
    }

    const newPaidDraft = () => newKeyedDraft('key', { hold: { ...newHold(keyId, 100), interruptedCostMicro: 7 } });
    const usage = () => other.listUsage({ fromMs: 0, untilMs: Date.now() + 3_600_000, per: 'hour' });

    it('leaves neither the record nor its charge, and frees the key', async () => {
      const draft = newPaidDraft();
      await acceptLate(draft, async () => {
        await recover();
        expect(await other.findKey(keyId)).to.include({ balanceMicro: 993, heldMicro: 0, daySpentMicro: 7 });
      });
      expect(await other.find(CALLER, draft.requestId)).to.equal(undefined);
      const unused = { balanceMicro: 1000, heldMicro: 0, daySpentMicro: 0, monthSpentMicro: 0 };
      expect(await other.findKey(keyId)).to.include(unused);
      expect(
        (await usage()).map(({ requests, failed, inputTokens, costMicro }) => [
          requests,
          failed,
          inputTokens,
          costMicro,
        ]),
      ).to.deep.equal([[0, 0, 0, 0]]);
      const { entries = [] } = (await other.listLedger(keyId, { limit: 10 })) ?? {};
      expect(entries.map(({ kind, amountMicro }) => `${kind} ${amountMicro}`).sort()).to.deep.equal([
        'grant 1000',
        'release 100',
        'reserve -100',
        'settle -7',
        'settle 7',
      ]);
      expect(await other.accept(newPaidDraft())).to.have.property('kind', 'accepted');
    });

    for (const { when, meanwhile } of [
      { when: 'as it was', meanwhile: async () => undefined },
      { when: 'after a recovery has closed it', meanwhile: () => recover() },
    ]) {
      it(`gives the tokens of its minute back, ${when}`, () =>
        inOneMinute(async () => {
          const limits = { ...NO_LIMITS, tokensPerMinute: 100 };
          const limited = await other.createKey(newKeyDraft({ limits }));
          await acceptLate(newDraft({ hold: { ...newHold(limited.keyId, 0), tokens: 60 } }), meanwhile);
          expect(await other.findRate(limited.keyId)).to.include({ tokens: 0 });
        }));
    }

    it('leaves the limit of the whole gateway, which may have been made before', async () => {
      const limit = newGroupDraft({ groupId: WHOLE_GATEWAY });
      await other.createGroup(limit);
      await callLate(
        (paused) => paused.createGroup(limit),
        async () => undefined,
      );
      expect(await other.findGroup(WHOLE_GATEWAY)).to.include({ groupId: WHOLE_GATEWAY });
    });

    it('leaves nothing of what was recorded at once with its end', async () => {
      const draft = newDraft();
      await callLate(
        (paused) => paused.record(draft, newOutcome({ usage: USAGE, costMicro: 7 })),
        async () => expect(await other.find(CALLER, draft.requestId)).to.include({ status: 'succeeded' }),
      );
      expect(await other.find(CALLER, draft.requestId)).to.equal(undefined);
      expect((await usage()).map(({ requests, costMicro }) => [requests, costMicro])).to.deep.equal([[0, 0]]);
    });

    it('stays as another process has shown it to a duplicate', async () => {
      const draft = newPaidDraft();
      await acceptLate(draft, async () => {
        await recover();
        const { kind } = await other.accept(newPaidDraft());
        expect(kind).to.equal('duplicate');
      });
      expect(await other.find(CALLER, draft.requestId)).to.include({ errorCode: 'gateway_interrupted', costMicro: 7 });
      expect(await other.findKey(keyId)).to.include({ balanceMicro: 993, daySpentMicro: 7 });
    });

    it('stays cancelled when that was promised', async () => {
      const draft = newPaidDraft();
      await acceptLate(draft, async () => {
        expect(await other.requestCancel(CALLER, draft.requestId)).to.have.property('kind', 'asked');
        await recover();
      });
      expect(await other.find(CALLER, draft.requestId)).to.have.property('status', 'cancelled');
      expect(await other.findKey(keyId)).to.include({ balanceMicro: 993 });
    });
  });
}

/** What every engine promises its operator; called by the tests of each. */
import { expect } from 'chai';
import type { RequestId } from '../../src/contract/ids.ts';
import { firstRequestIdAt } from '../../src/core/ids.ts';
import { connectStore } from '../../src/store/open.ts';
import { MOST_CALLERS, type OperatorQuery, type RecordDraft, type Store } from '../../src/core/books/store.ts';
import { newDraft, newOutcome, newRequestId } from '../support/records.ts';

const NOW_MS = 1_790_000_000_000;

/** Describes the operator's view of a store. `makeDatabase` returns the URL of a database without records. */
export function describeOperatorStore(name: string, makeDatabase: () => string): void {
  describe(`the operator's view of the store ${name}`, () => {
    let store: Store;

    beforeEach(async () => {
      store = await connectStore({ databaseUrl: makeDatabase(), clock: () => NOW_MS });
    });
    afterEach(() => store.close());

    async function accept(overrides: Partial<RecordDraft>): Promise<RecordDraft> {
      const draft = newDraft(overrides);
      await store.accept(draft);
      return draft;
    }

    async function idsOf(query: Partial<OperatorQuery>): Promise<readonly string[] | undefined> {
      const page = await store.listAll({ limit: 10, ...query });
      return page?.records.map(({ requestId }) => requestId);
    }

    it('lists the records of all callers with their callers, newest first', async () => {
      const first = await accept({ caller: ['one'] });
      const second = await accept({ caller: ['two'] });
      const page = await store.listAll({ limit: 10 });
      expect(page?.records.map(({ requestId, caller }) => [requestId, caller])).to.deep.equal([
        [second.requestId, 'two'],
        [first.requestId, 'one'],
      ]);
      expect(page?.hasMore).to.equal(false);
    });

    it('shows a page at a time', async () => {
      const drafts = [await accept({}), await accept({ caller: ['two'] }), await accept({})];
      const [first, second, third] = drafts.map(({ requestId }) => requestId);
      const page = await store.listAll({ limit: 2 });
      expect(page?.records.map(({ requestId }) => requestId)).to.deep.equal([third, second]);
      expect(page?.hasMore).to.equal(true);
      expect(await idsOf({ after: second as RecordDraft['requestId'] })).to.deep.equal([first]);
    });

    it('filters by status, model and the beginning of the caller', async () => {
      const running = await accept({ caller: ['caller-1'], model: 'm' });
      const ended = await accept({ caller: ['caller-22'], model: 'm' });
      const other = await accept({ caller: ['aller-1'], model: 'n' });
      await store.finish(ended.requestId, newOutcome());
      expect(await idsOf({ status: 'succeeded' })).to.deep.equal([ended.requestId]);
      expect(await idsOf({ model: 'm' })).to.deep.equal([ended.requestId, running.requestId]);
      expect(await idsOf({ callerPrefix: 'caller-1' })).to.deep.equal([running.requestId]);
      expect(await idsOf({ callerPrefix: 'caller-' })).to.deep.equal([ended.requestId, running.requestId]);
      expect(await idsOf({ callerPrefix: 'aller-1', model: 'n' })).to.deep.equal([other.requestId]);
      expect(await idsOf({ callerPrefix: '%' })).to.deep.equal([]);
      expect(await idsOf({ callerPrefix: 'caller-1', status: 'succeeded' })).to.deep.equal([]);
    });

    it('filters by error and time of arrival', async () => {
      const early = await accept({ requestId: `${firstRequestIdAt(5)}${'0'.repeat(20)}` as RequestId });
      const late = await accept({ requestId: `${firstRequestIdAt(9)}${'0'.repeat(20)}` as RequestId });
      for (const { requestId } of [early, late]) {
        await store.finish(requestId, newOutcome({ status: 'failed', errorCode: 'upstream_timeout' }));
      }
      expect(await idsOf({ errorCode: 'upstream_timeout' })).to.deep.equal([late.requestId, early.requestId]);
      expect(await idsOf({ errorCode: 'upstream_timeout', untilMs: 9 })).to.deep.equal([early.requestId]);
      expect(await idsOf({ errorCode: 'upstream_error' })).to.deep.equal([]);
      expect(await idsOf({ fromMs: 6 })).to.deep.equal([late.requestId]);
    });

    it('lists callers with a common beginning together, and asks for more of it when they are many', async () => {
      const mixed = await Promise.all(['aB1', 'ab2', 'AB3', 'aB0'].map((caller) => accept({ caller: [caller] })));
      expect(await idsOf({ callerPrefix: 'aB' })).to.have.members(
        [mixed[0], mixed[3]].map((draft) => draft?.requestId),
      );
      for (let number = 0; number < MOST_CALLERS; number += 1) await accept({ caller: [`many ${number}`] });
      expect(await idsOf({ callerPrefix: 'many' })).to.have.lengthOf(10);
      await accept({ caller: ['many more'] });
      expect(await idsOf({ callerPrefix: 'many' })).to.equal(undefined);
    });

    it('finds a record, whose ever it is', async () => {
      const { requestId } = await accept({ caller: ['one'], model: 'm' });
      expect(await store.findAny(requestId)).to.include({ requestId, caller: 'one', model: 'm', status: 'processing' });
      expect(await store.findAny(newRequestId())).to.equal(undefined);
    });

    it('asks for the cancel of a request, whose ever it is, so that it ends cancelled', async () => {
      const { requestId } = await accept({ caller: ['one'] });
      const asked = await store.requestCancelOfAny(requestId);
      expect(asked?.kind).to.equal('asked');
      expect(asked?.record).to.include({ requestId, status: 'processing', cancelRequestedAtMs: NOW_MS });
      await store.finish(requestId, newOutcome());
      const final = await store.requestCancelOfAny(requestId);
      expect(final?.kind).to.equal('final');
      expect(final?.record).to.include({ requestId, status: 'cancelled' });
    });

    it('leaves a record that is final as it is, and knows when there is none', async () => {
      const { requestId } = await accept({});
      await store.finish(requestId, newOutcome());
      expect(await store.requestCancelOfAny(requestId)).to.have.property('kind', 'final');
      expect(await store.findAny(requestId)).to.include({ status: 'succeeded', cancelRequestedAtMs: null });
      expect(await store.requestCancelOfAny(newRequestId())).to.equal(undefined);
    });
  });
}

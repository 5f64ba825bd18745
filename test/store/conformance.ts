/** What every engine promises; called by the tests of each. */
import { expect } from 'chai';
import { setTimeout as delay } from 'node:timers/promises';
import type { RequestId } from '../../src/contract/ids.ts';
import { firstRequestIdAt, type Identity, toRequestId, toUniquePart } from '../../src/core/ids.ts';
import { openStore, type StoreOptions } from '../../src/store/open.ts';
import type { Outcome, PromptTurn, RecordQuery, Store, StoredRecord } from '../../src/core/books/store.ts';
import { CALLER, newDraft, newKeyedDraft, newOutcome, newRequestId, USAGE } from '../support/records.ts';

export interface EngineUnderTest {
  /** Returns the URL of a database without records. */
  readonly makeDatabase: () => string;
  /** Whether several processes can open one database. */
  readonly isShared: boolean;
  /** Removes the records of the database that was made last. */
  readonly empty?: () => void | Promise<void>;
  /** Opens a store on it, in another way than by its URL alone. */
  readonly open?: typeof openStore;
  /** Lets the time pass after which a process that has died is known to be dead; absent where that is known at once. */
  readonly passTime?: () => Promise<void>;
  /** Lets the next minute of the clock begin, where the store does not go by the clock of its process. */
  readonly nextMinute?: () => Promise<void>;
}

const STRANGER: Identity = ['stranger'];
const NOW_MS = 1_790_000_000_000;

/**
 * Opens the store of a suite and gives it to `take`: one for all tests where its database can be emptied, since each opening
 * costs a thread, or a schema. Returns what opens another one on the same database.
 */
export function useStore(
  { makeDatabase, open = openStore, empty }: EngineUnderTest,
  clock: () => number,
  take: (store: Store, databaseUrl: string) => void,
  more: Partial<StoreOptions> = {},
): () => Promise<Store> {
  let databaseUrl: string;
  let store: Store;
  const openAnother = (): Promise<Store> => open({ databaseUrl, recordRetentionDays: 30, clock, ...more });
  const [opening, closing] = empty === undefined ? [beforeEach, afterEach] : [before, after];
  opening(async () => {
    databaseUrl = makeDatabase();
    store = await openAnother();
    take(store, databaseUrl);
  });
  closing(() => store.close());
  afterEach(() => empty?.());
  return openAnother;
}

/** As `useStore`, with a clock that stands still and shows this time before each test. */
export function useStoreAt(
  engine: EngineUnderTest,
  startMs: number,
  take: (store: Store) => void,
  more?: Partial<StoreOptions>,
) {
  const clock = { nowMs: startMs };
  const open = useStore(engine, () => clock.nowMs, take, more);
  beforeEach(() => {
    clock.nowMs = startMs;
  });
  return { clock, open };
}

/** Describes a store by its promises. */
export function describeStore(name: string, engine: EngineUnderTest): void {
  const { isShared } = engine;
  describe(`the store ${name}`, () => {
    let store: Store;
    const { clock, open } = useStoreAt(engine, NOW_MS, (opened) => {
      store = opened;
    });

    async function status(requestId: RequestId): Promise<string | undefined> {
      return (await store.find(CALLER, requestId))?.status;
    }

    describe('accept', () => {
      it('makes a record that is processing and holds what the draft says', async () => {
        const draft = newDraft({ stream: true, model: 'm', createdAtMs: 5, endpoint: 'chat.completions' });
        expect(await store.accept(draft)).to.deep.equal({ kind: 'accepted' });
        expect(await store.find(CALLER, draft.requestId)).to.deep.equal({
          requestId: draft.requestId,
          endpoint: 'chat.completions',
          model: 'm',
          stream: true,
          status: 'processing',
          createdAtMs: 5,
          completedAtMs: null,
          cancelRequestedAtMs: null,
          usage: null,
          usageEstimated: false,
          costMicro: null,
          incompleteReason: null,
          errorCode: null,
          upstream: null,
          promptTurn: null,
          savedMicro: null,
        } satisfies StoredRecord);
      });

      const turns: readonly PromptTurn[] = [
        { turn: 'first' },
        { turn: 'extended' },
        { turn: 'broken', at: 'message 3 of 12', by: 'client' },
        { turn: 'broken', at: 'tools', by: 'settings' },
      ];
      for (const promptTurn of turns) {
        it(`keeps how a turn went on, and what its cached tokens saved: ${Object.values(promptTurn).join(' ')}`, async () => {
          const draft = newDraft();
          await store.accept(draft);
          await store.finish(draft.requestId, newOutcome({ promptTurn, savedMicro: 7 }));
          expect(await store.find(CALLER, draft.requestId)).to.deep.include({ promptTurn, savedMicro: 7 });
        });
      }

      it('keeps the name of the backend at the end, also of a request that was cancelled', async () => {
        const draft = newDraft();
        await store.accept(draft);
        await store.requestCancel(CALLER, draft.requestId);
        await store.finish(draft.requestId, newOutcome({ upstream: 'gpu-a' }));
        expect(await store.find(CALLER, draft.requestId)).to.include({ status: 'cancelled', upstream: 'gpu-a' });
      });

      it('accepts one of a hundred equal drafts and shows its record to the others', async () => {
        const drafts = Array.from({ length: 100 }, () => newKeyedDraft());
        const answers = await Promise.all(drafts.map((draft) => store.accept(draft)));
        const accepted = drafts.filter((_, index) => answers[index]?.kind === 'accepted');
        const originals = answers.flatMap((answer) => (answer.kind === 'duplicate' ? [answer.record.requestId] : []));
        expect(accepted).to.have.lengthOf(1);
        expect(originals).to.deep.equal(Array.from({ length: 99 }, () => accepted[0]?.requestId));
      });

      const different = [
        { what: 'another key', draft: newKeyedDraft('other key') },
        { what: 'another body', draft: newDraft({ idempotency: { key: ['key'], body: ['other body'] } }) },
        { what: 'another caller', draft: newKeyedDraft('key', { caller: STRANGER }) },
        { what: 'no key', draft: newDraft() },
      ];
      for (const { what, draft } of different) {
        it(`takes a draft with ${what} for another request`, async () => {
          await store.accept(newKeyedDraft());
          expect(await store.accept({ ...draft, requestId: newRequestId() })).to.deep.equal({ kind: 'accepted' });
        });
      }

      it('takes two drafts without a key for two requests', async () => {
        await store.accept(newDraft());
        expect(await store.accept(newDraft())).to.deep.equal({ kind: 'accepted' });
      });

      it('leaves the original as it is', async () => {
        const original = newKeyedDraft();
        await store.accept(original);
        await store.accept(newKeyedDraft('key', { model: 'other', stream: true }));
        expect(await store.find(CALLER, original.requestId)).to.include({ model: original.model, stream: false });
      });

      const ends: readonly { what: string; outcome: Outcome }[] = [
        { what: 'succeeded', outcome: newOutcome() },
        { what: 'failed after output', outcome: newOutcome({ status: 'failed', errorCode: 'upstream_error' }) },
        { what: 'was cancelled', outcome: newOutcome({ status: 'cancelled', errorCode: 'client_disconnected' }) },
      ];
      for (const { what, outcome } of ends) {
        it(`shows the original also after it ${what}`, async () => {
          const original = newKeyedDraft();
          await store.accept(original);
          await store.finish(original.requestId, outcome);
          const again = await store.accept(newKeyedDraft());
          expect(again).to.have.nested.property('record.requestId', original.requestId);
          expect(again).to.have.nested.property('record.status', outcome.status);
        });
      }

      it('lets one of many retries use a freed key', async () => {
        const refused = newKeyedDraft();
        await store.accept(refused);
        const outcome = newOutcome({ status: 'failed', errorCode: 'rate_limit_exceeded', freesIdempotencyKey: true });
        await store.finish(refused.requestId, outcome);
        const answers = await Promise.all(Array.from({ length: 50 }, () => store.accept(newKeyedDraft())));
        expect(answers.filter(({ kind }) => kind === 'accepted')).to.have.lengthOf(1);
        expect(await status(refused.requestId)).to.equal('failed');
      });
    });

    describe('finish', () => {
      it('writes the final state and returns its status', async () => {
        const { requestId } = await accepted();
        const outcome = newOutcome({ completedAtMs: 9, usageEstimated: true, incompleteReason: 'max_output_tokens' });
        expect(await store.finish(requestId, outcome)).to.equal('succeeded');
        const record = await store.find(CALLER, requestId);
        expect(record).to.deep.include({ status: 'succeeded', completedAtMs: 9, usage: USAGE, usageEstimated: true });
        expect(record).to.include({ incompleteReason: 'max_output_tokens', errorCode: null });
      });

      it('changes nothing the second time', async () => {
        const { requestId } = await accepted();
        await store.finish(requestId, newOutcome());
        const first = await store.find(CALLER, requestId);
        const failed = newOutcome({ status: 'failed', errorCode: 'internal_error', freesIdempotencyKey: true });
        expect(await store.finish(requestId, failed)).to.equal('succeeded');
        expect(await store.find(CALLER, requestId)).to.deep.equal(first);
      });

      it('is seen by what is asked after it, although nobody waited for it', async () => {
        const { requestId } = await accepted();
        const finished = store.finish(requestId, newOutcome());
        expect(await status(requestId)).to.equal('succeeded');
        await finished;
      });

      it('writes a record at once with its end as after accept and finish', async () => {
        const [once, twice] = [newDraft({ createdAtMs: NOW_MS }), newDraft({ createdAtMs: NOW_MS })];
        const outcome = newOutcome({
          usage: USAGE,
          costMicro: 7,
          upstream: 'main',
          incompleteReason: 'max_output_tokens',
        });
        await store.record(once, outcome);
        await store.accept(twice);
        await store.finish(twice.requestId, outcome);
        const expected = await store.find(CALLER, twice.requestId);
        expect(await store.find(CALLER, once.requestId)).to.deep.equal({ ...expected, requestId: once.requestId });
        expect(await store.finish(once.requestId, newOutcome({ status: 'failed' }))).to.equal('succeeded');
        const [sum] = await store.listUsage({ fromMs: 0, untilMs: 2 * NOW_MS, per: 'day' });
        expect(sum).to.include({ requests: 2, costMicro: 14 });
      });

      it('knows no record that was never accepted', async () => {
        expect(await store.finish(newRequestId(), newOutcome())).to.equal(undefined);
      });
    });

    describe('requestCancel', () => {
      it('notes the time, once, and leaves the record unfinished', async () => {
        const { requestId } = await accepted();
        const asked = await store.requestCancel(CALLER, requestId);
        expect(asked).to.have.property('kind', 'asked');
        expect(asked?.record).to.include({ status: 'processing', cancelRequestedAtMs: NOW_MS });
        clock.nowMs += 1000;
        expect(await store.requestCancel(CALLER, requestId)).to.deep.equal(asked);
      });

      it('makes the record end cancelled, whatever the outcome, with its key kept', async () => {
        const draft = newKeyedDraft();
        await store.accept(draft);
        await store.requestCancel(CALLER, draft.requestId);
        const refused = newOutcome({ status: 'failed', errorCode: 'upstream_error', freesIdempotencyKey: true });
        const outcome: Outcome = { ...refused, incompleteReason: 'content_filter' };
        expect(await store.finish(draft.requestId, outcome)).to.equal('cancelled');
        const record = await store.find(CALLER, draft.requestId);
        expect(record).to.include({ status: 'cancelled', errorCode: 'request_cancelled', incompleteReason: null });
        expect(record?.usage).to.deep.equal(USAGE);
        expect(await store.accept(newKeyedDraft())).to.have.property('kind', 'duplicate');
      });

      it('shows a final record as it is', async () => {
        const { requestId } = await accepted();
        await store.finish(requestId, newOutcome());
        const record = await store.find(CALLER, requestId);
        expect(await store.requestCancel(CALLER, requestId)).to.deep.equal({ kind: 'final', record });
      });

      it('never leads to two final states in a thousand races with finish', async () => {
        const seen = new Set<string>();
        const races = Array.from({ length: 1000 }, async () => {
          const { requestId } = await accepted();
          const [finished, asked] = await Promise.all([
            sometime(() => store.finish(requestId, newOutcome())),
            sometime(() => store.requestCancel(CALLER, requestId)),
          ]);
          const expected = asked?.kind === 'asked' ? 'cancelled' : 'succeeded';
          seen.add(expected);
          expect(finished).to.equal(expected);
          const record = await store.find(CALLER, requestId);
          const late = newOutcome({ status: 'failed', errorCode: 'internal_error' });
          expect(await store.finish(requestId, late)).to.equal(expected);
          expect(await store.find(CALLER, requestId)).to.deep.equal(record);
        });
        await Promise.all(races);
        expect(seen.size, 'both sides have won some races').to.equal(2);
      });
    });

    describe('listCancelRequested', () => {
      it('names what still runs and is to be cancelled', async () => {
        const [asked, ended, quiet] = [await accepted(), await accepted(), await accepted()];
        for (const { requestId } of [asked, ended]) await store.requestCancel(CALLER, requestId);
        await store.finish(ended.requestId, newOutcome());
        expect(await store.listCancelRequested()).to.deep.equal([asked.requestId]);
        expect(await status(quiet.requestId)).to.equal('processing');
      });
    });

    describe('discard', () => {
      it('takes the record back and frees its key', async () => {
        const draft = newKeyedDraft();
        await store.accept(draft);
        await store.discard(draft.requestId);
        expect(await status(draft.requestId)).to.equal(undefined);
        expect(await store.accept(newKeyedDraft())).to.deep.equal({ kind: 'accepted' });
      });

      it('leaves a final record alone', async () => {
        const { requestId } = await accepted();
        await store.finish(requestId, newOutcome());
        const record = await store.find(CALLER, requestId);
        await store.discard(requestId);
        expect(await store.find(CALLER, requestId)).to.deep.equal(record);
      });

      it('cancels a record instead when a cancel was promised', async () => {
        const { requestId } = await accepted({ createdAtMs: 5 });
        await store.requestCancel(CALLER, requestId);
        await store.discard(requestId);
        const record = await store.find(CALLER, requestId);
        expect(record).to.include({ status: 'cancelled', errorCode: 'request_cancelled', completedAtMs: NOW_MS });
      });

      it('ends a record not before it began when the clock was set back', async () => {
        const { requestId } = await accepted({ createdAtMs: NOW_MS + 5 });
        await store.requestCancel(CALLER, requestId);
        await store.discard(requestId);
        expect(await store.find(CALLER, requestId)).to.include({ completedAtMs: NOW_MS + 5 });
      });
    });

    describe('another caller', () => {
      const key: Identity = ['key'];
      const questions: readonly { what: string; ask: (id: RequestId) => Promise<unknown>; answer?: unknown }[] = [
        { what: 'finds no record', ask: (id) => store.find(STRANGER, id) },
        { what: 'finds nothing by the key', ask: () => store.findByIdempotencyKey(STRANGER, key) },
        { what: 'finds no duplicate', ask: () => store.findDuplicate(STRANGER, { key, body: ['body'] }) },
        { what: 'cannot cancel it', ask: (id) => store.requestCancel(STRANGER, id) },
        {
          what: 'lists nothing after it',
          ask: (id) => store.list(STRANGER, { limit: 5, after: id }),
          answer: { records: [], hasMore: false, lastId: null },
        },
        {
          what: 'lists nothing',
          ask: () => store.list(STRANGER, { limit: 5 }),
          answer: { records: [], hasMore: false, lastId: null },
        },
      ];
      for (const { what, ask, answer } of questions) {
        it(what, async () => {
          const draft = newKeyedDraft();
          await store.accept(draft);
          expect(await ask(draft.requestId)).to.deep.equal(answer);
          expect(await store.find(CALLER, draft.requestId)).to.include({ cancelRequestedAtMs: null });
        });
      }
    });

    describe('findDuplicate', () => {
      it('finds what accept would call the original', async () => {
        const draft = newKeyedDraft();
        await store.accept(draft);
        const found = await store.findDuplicate(CALLER, { key: ['key'], body: ['body'] });
        expect(found?.requestId).to.equal(draft.requestId);
      });

      const others = [
        { what: 'another key', idempotency: { key: ['other'], body: ['body'] } },
        { what: 'another body', idempotency: { key: ['key'], body: ['other'] } },
      ] as const;
      for (const { what, idempotency } of others) {
        it(`finds nothing for ${what}`, async () => {
          await store.accept(newKeyedDraft());
          expect(await store.findDuplicate(CALLER, idempotency)).to.equal(undefined);
        });
      }
    });

    describe('findByIdempotencyKey', () => {
      it('finds the newest record of the key', async () => {
        const drafts = ['a', 'b', 'c'].map((body) => newDraft({ idempotency: { key: ['key'], body: [body] } }));
        for (const draft of drafts) await store.accept(draft);
        await store.accept(newKeyedDraft('other key'));
        expect(await store.findByIdempotencyKey(CALLER, ['key'])).to.have.property('requestId', drafts[2]?.requestId);
      });

      it('finds nothing once the key was freed', async () => {
        const draft = newKeyedDraft();
        await store.accept(draft);
        await store.finish(draft.requestId, newOutcome({ status: 'failed', freesIdempotencyKey: true }));
        expect(await store.findByIdempotencyKey(CALLER, ['key'])).to.equal(undefined);
      });
    });

    describe('list', () => {
      /** Number 1 is the oldest. */
      async function fill(count: number): Promise<RequestId[]> {
        const drafts = Array.from({ length: count }, (_, index) =>
          newDraft({ requestId: numbered(index + 1), model: index % 2 === 0 ? 'odd' : 'even' }),
        );
        for (const draft of drafts) void store.accept(draft);
        await store.accept(newDraft({ caller: STRANGER }));
        return drafts.map(({ requestId }) => requestId);
      }

      async function numbers(query: RecordQuery): Promise<number[]> {
        const page = await store.list(CALLER, query);
        return page.records.map(toNumber);
      }

      /** Each page until there is no more. */
      async function pages(query: RecordQuery): Promise<number[][]> {
        const found: number[][] = [];
        let page = await store.list(CALLER, query);
        for (found.push(page.records.map(toNumber)); page.hasMore; found.push(page.records.map(toNumber))) {
          if (page.lastId === null) throw new Error('there is more, and no place to continue from');
          page = await store.list(CALLER, { ...query, after: page.lastId });
        }
        return found;
      }

      it('shows the newest first, page by page', async () => {
        await fill(25);
        expect(await pages({ limit: 10 })).to.deep.equal([range(25, 16), range(15, 6), range(5, 1)]);
      });

      it('says that there is no more when the page ends with the oldest', async () => {
        await fill(10);
        expect(await store.list(CALLER, { limit: 10 })).to.have.property('hasMore', false);
        expect(await store.list(CALLER, { limit: 9 })).to.have.property('hasMore', true);
      });

      it('keeps to a model', async () => {
        await fill(10);
        expect(await numbers({ limit: 3, model: 'even' })).to.deep.equal([10, 8, 6]);
        expect(await numbers({ limit: 3, model: 'none' })).to.deep.equal([]);
      });

      it('keeps to a status', async () => {
        const ids = await fill(10);
        for (const id of [ids[1], ids[6]]) if (id !== undefined) await store.finish(id, newOutcome());
        expect(await numbers({ limit: 10, status: 'succeeded' })).to.deep.equal([7, 2]);
        expect(await numbers({ limit: 10, status: 'processing', model: 'even' })).to.deep.equal([10, 8, 6, 4]);
      });

      it('keeps to an error', async () => {
        const ids = await fill(10);
        const failed = newOutcome({ status: 'failed', errorCode: 'upstream_error' });
        for (const id of [ids[1], ids[6], ids[8]]) if (id !== undefined) await store.finish(id, failed);
        if (ids[3] !== undefined) await store.finish(ids[3], newOutcome({ status: 'failed', errorCode: 'forbidden' }));
        expect(await numbers({ limit: 10, errorCode: 'upstream_error' })).to.deep.equal([9, 7, 2]);
        expect(await numbers({ limit: 10, errorCode: 'upstream_error', model: 'even' })).to.deep.equal([2]);
        expect(await numbers({ limit: 10, status: 'failed', model: 'even' })).to.deep.equal([4, 2]);
        expect(await numbers({ limit: 10, status: 'failed', errorCode: 'internal_error' })).to.deep.equal([]);
        expect(await pages({ limit: 2, status: 'failed' })).to.deep.equal([
          [9, 7],
          [4, 2],
        ]);
      });

      it('keeps to a time of arrival, which the ids have', async () => {
        const at = (ms: number, number: number) =>
          newDraft({ requestId: `${firstRequestIdAt(ms)}${String(number).padStart(20, '0')}` as RequestId });
        for (const draft of [at(5, 1), at(6, 2), at(6, 3), at(8, 4)]) await store.accept(draft);
        const span = async (query: Partial<RecordQuery>) =>
          (await store.list(CALLER, { limit: 10, ...query })).records.map(({ requestId }) => Number(requestId.at(-1)));
        expect(await span({ fromMs: 6 })).to.deep.equal([4, 3, 2]);
        expect(await span({ untilMs: 8 })).to.deep.equal([3, 2, 1]);
        expect(await span({ fromMs: 6, untilMs: 7, status: 'processing' })).to.deep.equal([3, 2]);
        expect(await span({ fromMs: 6, untilMs: 8, model: 'some-model', after: at(6, 3).requestId })).to.deep.equal([
          2,
        ]);
        expect(await span({ fromMs: 8, untilMs: 6 })).to.deep.equal([]);
      });

      it('reads a bounded number of records for a page, and comes to what fits them', async () => {
        const ids = await fill(4500);
        if (ids[0] !== undefined) await store.finish(ids[0], newOutcome());
        expect(await pages({ limit: 10, status: 'succeeded' })).to.deep.equal([[], [], [1]]);
      });

      it('shows what is unfinished page by page, whatever of it others have', async () => {
        const ids = await fill(6);
        if (ids[3] !== undefined) await store.finish(ids[3], newOutcome());
        expect(await numbers({ limit: 2, status: 'processing' })).to.deep.equal([6, 5]);
        const after = ids[4];
        expect(await numbers({ limit: 10, status: 'processing', ...(after && { after }) })).to.deep.equal([3, 2, 1]);
        expect(await store.list(CALLER, { limit: 5, status: 'processing' })).to.have.property('hasMore', false);
        expect(await store.list(CALLER, { limit: 4, status: 'processing' })).to.have.property('hasMore', true);
      });

      it('ends with the reason of a signal that has aborted', async () => {
        await fill(1);
        const reason = new Error('nobody waits any more');
        const signal = AbortSignal.abort(reason);
        expect(await store.list(CALLER, { limit: 1 }, signal).catch((error: unknown) => error)).to.equal(reason);
      });

      it('goes on after a record that is gone', async () => {
        const ids = await fill(5);
        const page = await store.list(CALLER, { limit: 2 });
        expect(page.lastId).to.equal(ids[3]);
        for (const id of [ids[3], ids[2]]) if (id !== undefined) await store.discard(id);
        expect(await numbers({ limit: 5, ...(page.lastId !== null && { after: page.lastId }) })).to.deep.equal([2, 1]);
      });
    });

    describe('the previous secret', () => {
      const past: Identity = ['caller by the old secret'];
      const now: Identity = ['caller by the new secret', ...past];
      const keyed = (version: 'old' | 'both') => ({
        key: version === 'old' ? (['old key'] as const) : (['new key', 'old key'] as const),
        body: version === 'old' ? (['old body'] as const) : (['new body', 'old body'] as const),
      });

      it('still finds what was written with it', async () => {
        const draft = newDraft({ caller: past, idempotency: keyed('old') });
        await store.accept(draft);
        expect(await store.find(now, draft.requestId)).to.have.property('requestId', draft.requestId);
        expect(await store.findByIdempotencyKey(now, keyed('both').key)).to.have.property('requestId', draft.requestId);
        expect(await store.findDuplicate(now, keyed('both'))).to.have.property('requestId', draft.requestId);
        expect(await store.requestCancel(now, draft.requestId)).to.have.property('kind', 'asked');
      });

      it('still knows a duplicate of what was written with it', async () => {
        const draft = newDraft({ caller: past, idempotency: keyed('old') });
        await store.accept(draft);
        const again = await store.accept(newDraft({ caller: now, idempotency: keyed('both') }));
        expect(again).to.have.nested.property('record.requestId', draft.requestId);
      });

      it('finds the newest record of a key, whichever it was written with', async () => {
        const [old, both] = [keyed('old'), keyed('both')];
        const drafts = [
          newDraft({ caller: past, idempotency: old }),
          newDraft({ caller: now, idempotency: { ...both, body: ['a second body'] } }),
          newDraft({ caller: past, idempotency: { ...old, body: ['a third body'] } }),
        ];
        for (const draft of drafts) {
          await store.accept(draft);
          expect(await store.findByIdempotencyKey(now, both.key)).to.have.property('requestId', draft.requestId);
        }
      });

      it('lists what was written with either, in the order of time', async () => {
        const drafts = [past, now, past, now].map((caller) => newDraft({ caller }));
        for (const draft of drafts) await store.accept(draft);
        const ids = drafts.map(({ requestId }) => requestId);
        const first = await store.list(now, { limit: 3 });
        expect(first.records.map(({ requestId }) => requestId)).to.deep.equal([ids[3], ids[2], ids[1]]);
        const rest = await store.list(now, { limit: 3, after: ids[2] ?? newRequestId() });
        expect(rest.records.map(({ requestId }) => requestId)).to.deep.equal([ids[1], ids[0]]);
      });

      it('goes on below what neither secret has been searched for yet', async () => {
        const drafts = Array.from({ length: 2200 }, (_, index) => newDraft({ caller: index === 50 ? past : now }));
        for (const draft of drafts.slice(1)) void store.accept(draft);
        await store.accept(drafts[0] ?? newDraft());
        for (const draft of [drafts[0], drafts[50]]) if (draft) await store.finish(draft.requestId, newOutcome());
        const first = await store.list(now, { limit: 3, status: 'succeeded' });
        expect(first.hasMore).to.equal(true);
        const rest = await store.list(now, {
          limit: 3,
          status: 'succeeded',
          ...(first.lastId && { after: first.lastId }),
        });
        const found = [...first.records, ...rest.records].map(({ requestId }) => requestId);
        expect(found).to.deep.equal([drafts[50]?.requestId, drafts[0]?.requestId]);
      });

      it('hides what was written with the new one from whoever has the old one only', async () => {
        const draft = newDraft({ caller: now });
        await store.accept(draft);
        expect(await store.find(past, draft.requestId)).to.equal(undefined);
      });
    });

    describe('prune', () => {
      it('deletes what ended before, and nothing else', async () => {
        const old = await Promise.all(Array.from({ length: 250 }, () => accepted()));
        const [young, running] = [await accepted(), await accepted({ createdAtMs: 1 })];
        for (const { requestId } of old) void store.finish(requestId, newOutcome({ completedAtMs: 99 }));
        await store.finish(young.requestId, newOutcome({ completedAtMs: 100 }));
        expect(await store.prune(100)).to.equal(250);
        const left = await store.list(CALLER, { limit: 100 });
        expect(left?.records.map(({ requestId }) => requestId)).to.deep.equal([running.requestId, young.requestId]);
      });
    });

    it('can be written, and says so', async () => {
      await store.checkWritable();
    });

    it('refuses every call once it is closed', async () => {
      const closed = await open();
      await closed.close();
      for (const call of [() => closed.accept(newDraft()), () => closed.find(CALLER, newRequestId())]) {
        expect(await call().catch((error: unknown) => error)).to.have.property('code', 'store_unavailable');
      }
    });

    async function accepted(overrides: { createdAtMs?: number } = {}): Promise<{ requestId: RequestId }> {
      const draft = newDraft(overrides);
      await store.accept(draft);
      return draft;
    }

    if (!isShared) return;

    describe('recover', () => {
      it('tells of a cancel which another process was asked for, and that one of none', async () => {
        const draft = newDraft();
        await store.accept(draft);
        const other = await open();
        await other.requestCancel(CALLER, draft.requestId);
        expect(await other.listCancelRequested()).to.deep.equal([]);
        expect(await store.listCancelRequested()).to.deep.equal([draft.requestId]);
        await other.close();
      });

      it('closes what a closed store left unfinished', async () => {
        const draft = newDraft();
        const other = await open();
        await other.accept(draft);
        await other.close();
        await store.recover();
        expect(await status(draft.requestId)).to.equal('failed');
      });

      it('closes any number', async () => {
        const other = await open();
        await Promise.all(Array.from({ length: 1100 }, () => other.accept(newDraft())));
        await other.close();
        await store.recover();
        expect(await store.list(CALLER, { status: 'processing', limit: 1 })).to.have.property('records').that.is.empty;
        expect(await store.list(CALLER, { status: 'failed', limit: 1 })).to.have.property('records').that.is.not.empty;
      });
    });
  });
}

function numbered(number: number): RequestId {
  return toRequestId(toUniquePart(number.toString(16).padStart(32, '0')));
}

function toNumber({ requestId }: StoredRecord): number {
  return Number.parseInt(requestId.slice('req_'.length), 16);
}

function range(from: number, downTo: number): number[] {
  return Array.from({ length: from - downTo + 1 }, (_, index) => from - index);
}

async function sometime<Result>(act: () => Promise<Result>): Promise<Result> {
  const ms = Math.random() * 4;
  // A third of them in the same turn of the loop, and thus often in the same transaction.
  if (ms > 1.3) await delay(ms);
  return act();
}

import { DEFAULT_POLICY } from '../../src/config/backends-file.ts';
import { expect } from 'chai';
import { ADMIT_ALL } from '../../src/accounts/admission.ts';
import { ApiError } from '../../src/core/errors.ts';
import { toRequestId } from '../../src/core/ids.ts';
import { NOTHING_REPORTED } from '../../src/core/reply/usage.ts';
import { createTokenEstimator } from '../../src/core/tokens/estimate.ts';
import { createIdentities } from '../../src/identity/identities.ts';
import { accept, type Accepted } from '../../src/requests/accept.ts';
import type { Incoming } from '../../src/requests/incoming.ts';
import type { Ending } from '../../src/requests/outcome.ts';
import type { Ended, OpenRecord, RecordState } from '../../src/requests/record.ts';
import type { Plan } from '../../src/requests/plan.ts';
import { createRunningRequests, type RunningRequest, type RunningRequests } from '../../src/requests/running.ts';
import { openTelling, tellEvents, type EventTelling, type Telling } from '../../src/requests/telling.ts';
import type { Translator } from '../../src/core/reply/translator.ts';
import type { ResponseEvent } from '../../src/contract/types.ts';
import type { Store } from '../../src/core/books/store.ts';
import { useHeldTime } from '../support/held-time.ts';
import { chunkOf, openMachine, PLAIN_REQUEST, TEST_UNIQUE } from '../support/machine.ts';
import { beginFacts } from '../support/observe.ts';
import { openOnlyBackend } from '../support/only-backend.ts';
import { makeWorkshop, type Workshop } from '../support/sqlite.ts';
import { createPromptTurns } from '../../src/requests/prompt-turns.ts';

const DAY_MS = 86_400_000;
const AT_MS = 20_000 * DAY_MS;

describe('a request that was accepted', () => {
  let workshop: Workshop;

  beforeEach(() => {
    workshop = makeWorkshop();
  });

  afterEach(async () => {
    await workshop.clear();
  });

  async function acceptOne(
    store: Store,
    {
      nowMs = Date.now,
      headers = new Map(),
      running = createRunningRequests(),
      mayWait = false,
      ...overrides
    }: {
      nowMs?: () => number;
      headers?: Map<string, string>;
      running?: RunningRequests;
      mayWait?: boolean;
    } & Partial<Incoming> = {},
  ): Promise<Accepted & Telling> {
    const incoming: Incoming = {
      facts: beginFacts(),
      caller: { identity: ['me'], backendHeaders: {}, holder: () => ({ name: 'me', isStranger: false }) },
      idempotencyKey: 'key',
      body: { bytes: Buffer.from('{}') },
      baseUrl: () => 'http://gateway.test',
      hasReplyBegun: () => false,
      isServed: () => false,
      onceServed: () => undefined,
      setHeader: (name, value) => void headers.set(name, value),
      sendDuplicate: () => expect.fail('it is no duplicate'),
      ...overrides,
    };
    const plan: Plan = {
      endpoint: 'responses',
      model: 'm',
      backendModel: 'm',
      route: openOnlyBackend().routes.choose('m', () => ''),
      stream: false,
      conversation: new Uint8Array(),
      inputSize: { textBytes: 2, mediaTokens: 0 },
      maxOutputTokens: null,
      choices: 1,
    };
    const services = {
      store,
      admission: ADMIT_ALL,
      running,
      identities: createIdentities('a secret of ours', null),
      promptTurns: createPromptTurns({ secret: 'a secret of ours', nowMs }),
      estimator: createTokenEstimator(),
      keyOwner: 'gateway' as const,
      duplicateStatus: 409 as const,
      policy: () => DEFAULT_POLICY,
      nowMs,
      steadyMs: () => performance.now(),
    };
    const accepted = await accept(incoming, plan, services, { mayWait });
    if (accepted.kind !== 'accepted') throw new Error('it is no duplicate');
    return { ...accepted, ...openTelling(incoming, accepted) };
  }

  it('is settled when it throws before it has settled itself', async () => {
    const store = await workshop.open({ file: undefined });
    const headers = new Map<string, string>();
    const accepted = await acceptOne(store, { headers });
    await accepted.endThrown(new Error('a mistake of ours'));

    // The record keeps the idempotency key, so that trying again would only find the record.
    expect(headers.get('x-should-retry')).to.equal('false');
    const page = await store.list(['me'], { limit: 10 });
    expect(page?.records).to.have.lengthOf(1);
    expect(page?.records[0]).to.include({ status: 'failed', errorCode: 'internal_error', usage: null });
  });

  for (const jumpMs of [-2 * DAY_MS, DAY_MS]) {
    it(`takes as long as it took when the clock is set ${jumpMs < 0 ? 'back' : 'forward'} meanwhile`, async () => {
      const store = await workshop.open({ file: undefined });
      let nowMs = AT_MS;
      const accepted = await acceptOne(store, { nowMs: () => nowMs });
      nowMs += jumpMs;
      await accepted.endThrown(new Error('a mistake of ours'));
      const { records } = await store.list(['me'], { limit: 1 });
      expect(records[0]?.completedAtMs).to.be.within(AT_MS, AT_MS + 600_000);
      const [usage] = await store.listUsage({ fromMs: AT_MS, untilMs: AT_MS + DAY_MS, per: 'day' });
      expect(usage?.durationMs).to.be.within(0, 600_000);
    });
  }

  describe('that may be held', () => {
    const passTime = useHeldTime();
    const ENDING = {
      failure: null,
      incompleteReason: null,
      reported: NOTHING_REPORTED,
      outputLength: 3,
      hasOutput: true,
    };
    const NO_KEY = { idempotencyKey: undefined, mayWait: true };
    const STRANGER = {
      ...NO_KEY,
      caller: { identity: ['me'], backendHeaders: {}, holder: () => ({ name: 'me', isStranger: true }) } as const,
    };

    let calls: string[];
    let store: Store;

    beforeEach(async () => {
      calls = [];
      const below = await workshop.open({ file: undefined });
      store = {
        ...below,
        accept: (draft) => (calls.push('accept'), below.accept(draft)),
        finish: (...end) => (calls.push('finish'), below.finish(...end)),
        record: (draft, outcome) => (calls.push('record'), below.record(draft, outcome)),
        discard: (...end) => (calls.push('discard'), below.discard(...end)),
      };
    });

    const list = async () => (await store.list(['me'], { limit: 10 })).records;

    it('is recorded once, with its end, when that comes soon', async () => {
      const accepted = await acceptOne(store, NO_KEY);
      await passTime(4);
      expect(await accepted.end(ENDING)).to.equal(null);
      expect((await list()).map(({ status }) => status)).to.deep.equal(['succeeded']);
      await passTime(100);
      expect(calls).to.deep.equal(['record']);
    });

    it('is recorded twice when its end takes longer', async () => {
      const accepted = await acceptOne(store, NO_KEY);
      await passTime(5);
      expect((await list()).map(({ status }) => status)).to.deep.equal(['processing']);
      expect(await accepted.end(ENDING)).to.equal(null);
      expect(calls).to.deep.equal(['accept', 'finish']);
    });

    for (const { name, overrides } of [
      { name: 'it may not be held', overrides: { idempotencyKey: undefined } },
      { name: 'it has an idempotency key', overrides: { mayWait: true } },
    ]) {
      it(`is recorded twice where ${name}`, async () => {
        const accepted = await acceptOne(store, overrides);
        expect(await accepted.end(ENDING)).to.equal(null);
        expect(calls).to.deep.equal(['accept', 'finish']);
      });
    }

    it('is recorded twice when its client is told something before', async () => {
      const accepted = await acceptOne(store, NO_KEY);
      expect(accepted.whenReady(true), 'nothing is told before the end').to.equal(undefined);
      expect(accepted.isAllowed()).to.equal(false);
      const decided = accepted.whenReady();
      expect(accepted.record.state().is).to.equal('beginning');
      await decided;
      expect((await list()).map(({ status }) => status)).to.deep.equal(['processing']);
      expect(accepted.whenReady()).to.equal(undefined);
      expect(await accepted.end(ENDING)).to.equal(null);
      await passTime(100);
      expect(calls).to.deep.equal(['accept', 'finish']);
    });

    it('is told nothing of before its end if it cannot be recorded', async () => {
      const refusal = new ApiError('store_unavailable');
      const accepted = await acceptOne({ ...store, accept: () => Promise.reject(refusal) }, NO_KEY);
      const thrown = await accepted.whenReady()?.catch((error: unknown) => error);
      expect(thrown).to.equal(refusal);
      expect(accepted.isAllowed()).to.equal(false);
      expect(await accepted.end(ENDING)).to.equal(refusal);
    });

    it('is recorded twice when a cancel is being decided as it ends', async () => {
      const running = createRunningRequests();
      const facts = beginFacts();
      const accepted = await acceptOne(store, { ...NO_KEY, running, facts });
      const asking = Promise.withResolvers<boolean>();
      const cancelling = running.cancelIf(toRequestId(facts.unique), asking.promise);
      const decided = accepted.whenReady(true);
      expect(accepted.record.state().is).to.equal('beginning');
      asking.resolve(false);
      await Promise.all([decided, cancelling]);
      expect(await accepted.end(ENDING)).to.equal(null);
      expect(calls).to.deep.equal(['accept', 'finish']);
    });

    it('is recorded twice while the store fails', async () => {
      const accepted = await acceptOne({ ...store, isFailing: () => true }, NO_KEY);
      expect(await accepted.end(ENDING)).to.equal(null);
      expect(calls).to.deep.equal(['accept', 'finish']);
    });

    it('needs no store where nothing is to be recorded', async () => {
      const accepted = await acceptOne(store, STRANGER);
      const failure = new ApiError('invalid_api_key');
      expect(await accepted.end({ ...ENDING, failure, outputLength: 0, hasOutput: false })).to.equal(failure);
      await passTime(100);
      expect(calls).to.deep.equal([]);
    });

    it('is refused, and may be tried again, when it cannot be recorded', async () => {
      const headers = new Map<string, string>();
      const unavailable = new ApiError('store_unavailable');
      const failing = { ...store, record: () => Promise.reject(unavailable) };
      const accepted = await acceptOne(failing, { ...NO_KEY, headers });
      expect(await accepted.end(ENDING)).to.equal(unavailable);
      expect(await accepted.end(ENDING), 'only the first call counts').to.equal(unavailable);
      expect(headers.has('x-should-retry')).to.equal(false);
      expect(await list()).to.deep.equal([]);
    });

    for (const { name, failure, isTold } of [
      { name: 'an answer that came first', failure: null, isTold: false },
      { name: 'a failure of the backend that came first', failure: new ApiError('upstream_error'), isTold: false },
      { name: 'the end of a drain', failure: new ApiError('gateway_interrupted'), isTold: false },
      // The record stays of which somebody was told.
      { name: 'a cancel', failure: new ApiError('request_cancelled'), isTold: true },
      { name: 'a client that has left', failure: new ApiError('client_disconnected'), isTold: true },
    ]) {
      it(`is refused when it cannot be recorded, ${isTold ? 'except after' : 'also after'} ${name}`, async () => {
        const accepting = Promise.withResolvers<never>();
        const accepted = await acceptOne({ ...store, accept: () => accepting.promise }, NO_KEY);
        await passTime(5);
        const settling = accepted.end({ ...ENDING, failure });
        const unavailable = new ApiError('store_unavailable');
        accepting.reject(unavailable);
        expect(await settling).to.equal(isTold ? failure : unavailable);
      });
    }

    it('is refused when it cannot be recorded and a drain has ended it before', async () => {
      const accepting = Promise.withResolvers<never>();
      const running = createRunningRequests();
      const accepted = await acceptOne({ ...store, accept: () => accepting.promise }, { ...NO_KEY, running });
      await passTime(5);
      running.interrupt();
      const failing = accepted.failureOf(accepted.signal.reason);
      const unavailable = new ApiError('store_unavailable');
      accepting.reject(unavailable);
      expect(await failing).to.equal(unavailable);
    });
  });
});

describe('telling the events of a response', () => {
  const text = (content: string) => chunkOf({ content });
  const ENDING: Ending = {
    failure: null,
    incompleteReason: null,
    reported: NOTHING_REPORTED,
    outputLength: 2,
    hasOutput: true,
  };

  let state: RecordState;
  let ended: PromiseWithResolvers<Ended>;
  let written: string[];
  let run: RunningRequest;
  let translator: Translator;
  let telling: EventTelling;

  beforeEach(() => {
    state = { is: 'waiting', timer: { now: () => undefined, cancel: () => true } };
    ended = Promise.withResolvers();
    written = [];
    run = createRunningRequests().begin(toRequestId(TEST_UNIQUE));
    translator = openMachine({ ...PLAIN_REQUEST, stream: true });
    const record: OpenRecord = {
      state: () => state,
      begin: () => undefined,
      end: () => ended.promise,
    };
    const incoming = { facts: beginFacts(), hasReplyBegun: () => false, setHeader: () => undefined };
    const bill = { reroute: () => true, settle: () => expect.fail('the record asks for it') };
    const note = (events: readonly ResponseEvent[]): undefined => void written.push(...events.map(({ type }) => type));
    telling = tellEvents(openTelling(incoming, { run, record, bill }), translator, {
      reply: { headerHoldMs: 60_000, open: () => ({ write: note, end: note }) },
      incoming: { onceServed: (listener) => run.signal.addEventListener('abort', () => listener(false)) },
    });
    telling.answered({});
  });

  afterEach(() => {
    run.abort(new ApiError('client_disconnected'));
  });

  const unrecorded: readonly RecordState[] = [
    { is: 'waiting', timer: { now: () => undefined, cancel: () => true } },
    { is: 'beginning', written: new Promise(() => undefined) },
    { is: 'skipped' },
    { is: 'refused', why: new ApiError('store_unavailable') },
  ];
  for (const now of unrecorded) {
    it(`says nothing while the record is ${now.is}, whatever it is asked to say`, () => {
      state = now;
      void telling.send(translator.feed([text('Hi')]));
      void telling.send(translator.feed([chunkOf({ content: '!' }, 'stop')]), true);
      void telling.send(translator.end(true));
      void telling.endRecord(ENDING);
      expect(written).to.deep.equal([]);
    });
  }

  it('says what it has kept once the record has begun, and the end once that is recorded', async () => {
    void telling.send(translator.feed([text('Hi')]));
    state = { is: 'begun' };
    void telling.send(translator.feed([chunkOf({ content: '!' }, 'stop')]));
    expect(written.at(-1)).to.equal('response.output_text.delta');
    void telling.send(translator.end(true));
    const recording = telling.endRecord(ENDING);
    expect(written).not.to.include('response.completed');
    ended.resolve({ kind: 'recorded', status: 'succeeded', keepsKey: false });
    await telling.sendEnd(await recording);
    expect(written.at(-1)).to.equal('response.completed');
  });

  it('has no way to say an end that is not recorded', () => {
    const tooEarly = (): Promise<void> => {
      // @ts-expect-error: only `endRecord` makes an end that may be said.
      return telling.sendEnd({ failure: null, isRevoked: false });
    };
    expect(tooEarly).to.be.a('function');
  });

  it('says nothing of a record that is refused with its end, but why', async () => {
    const why = new ApiError('store_unavailable');
    void telling.send(translator.feed([chunkOf({ content: 'Hi' }, 'stop')]), true);
    void telling.send(translator.end(true));
    const recording = telling.endRecord(ENDING);
    state = { is: 'refused', why };
    ended.resolve({ kind: 'refused', why });
    const thrown = await telling.sendEnd(await recording).catch((error: unknown) => error);
    expect(thrown).to.equal(why);
    expect(written).to.deep.equal([]);
  });
});

import { expect } from 'chai';
import { createStopController, type StopController } from '../../../src/core/stop-signal.ts';
import { createEngineStore } from '../../../src/store/calls/engine-store.ts';
import type { Operation, RemoteEngine } from '../../../src/store/queue/operations.ts';
import type { Store } from '../../../src/core/books/store.ts';
import { newDraft, newOutcome } from '../../support/records.ts';

const DAY_MS = 86_400_000;

describe('a list of the store, once nobody waits for it any more', () => {
  let store: Store;
  let stop: StopController;
  let steps: string[];
  const reason = new Error('the client has gone');

  beforeEach(() => {
    steps = [];
    stop = createStopController();
    const engine: RemoteEngine = {
      run: async (_mode, batch) => ({ results: batch.map(answer) }),
      close: async () => {},
    };
    const log = { info: () => undefined, warn: () => undefined };
    ({ store } = createEngineStore({ engine, clock: Date.now, log }));
  });
  afterEach(() => store.close());

  function answer([name]: Operation): unknown {
    if (name === 'findUsageSpan') return { from: 0, until: 24 * 400 };
    steps.push(name);
    if (steps.length === 3) stop.abort(reason);
    return [];
  }

  it('takes no further step: one of usage', async () => {
    const call = store.listUsage({ fromMs: 0, untilMs: 400 * DAY_MS, per: 'day' }, stop.signal);
    expect(await call.catch((error: unknown) => error)).to.equal(reason);
    expect(steps).to.deep.equal(['sumUsage', 'sumUsage', 'sumUsage']);
  });
});

describe('the recovery of own records, after the database could not be written', () => {
  it('leaves those whose end is still to be written', async () => {
    const draft = newDraft();
    const ended: unknown[] = [];
    let isWritable = true;
    const engine: RemoteEngine = {
      run: async (_mode, batch) =>
        isWritable || batch.every(([name]) => name !== 'finish')
          ? { results: batch.map(answer) }
          : { failure: { reason: 'io_error', message: 'the server does not answer' } },
      close: async () => {},
    };
    const log = { info: () => undefined, warn: () => undefined };
    const limits = { keptWithinMs: 0 };
    const { store } = createEngineStore({ engine, lookupSlots: 1, limits, clock: Date.now, log });

    function answer([name, ...parameters]: Operation): unknown {
      if (name === 'listUnfinished') return [draft.requestId];
      if (name !== 'recoverSome') return name === 'finish' ? 'succeeded' : null;
      ended.push(parameters[1]);
      return 0;
    }

    await store.accept(draft);
    isWritable = false;
    const failed = await store.finish(draft.requestId, newOutcome()).catch((error: unknown) => error);
    expect(failed).to.have.property('code', 'store_unavailable');
    await store.recover();
    expect(ended).to.deep.equal([[]]);
    isWritable = true;
    await store.close();
  });
});

import { expect } from 'chai';
import { ApiError } from '../../src/core/errors.ts';
import { readSummary } from '../../src/core/compaction/summary.ts';
import { thinkTagsFor } from '../../src/core/reply/think-tags.ts';
import { createStopController } from '../../src/core/stop-signal.ts';
import { beginCompaction } from '../../src/requests/compact.ts';
import { converse, type Conversation } from '../../src/requests/converse.ts';
import type { IncomingCreate } from '../../src/requests/incoming.ts';
import type { ResponsePlan } from '../../src/requests/plan.ts';
import { chunkOf, openMachine, TEST_UNIQUE } from '../support/machine.ts';
import { beginFacts } from '../support/observe.ts';
import { openOnlyBackend } from '../support/only-backend.ts';
import { allArrived } from '../support/time.ts';

describe('a conversation that is compacted on its way', () => {
  /** They would end the process of the gateway. */
  let unhandled: unknown[];
  const note = (thrown: unknown): void => void unhandled.push(thrown);

  beforeEach(() => {
    unhandled = [];
    process.on('unhandledRejection', note);
  });

  afterEach(() => {
    process.off('unhandledRejection', note);
  });

  it('fails as the request behind the summary does, though the client does not read meanwhile', async () => {
    const translator = openMachine();
    const { chat } = translator;
    const route = openOnlyBackend().routes.choose('m', () => '');
    const thinkTags = thinkTagsFor(false, { model: 'm' });
    const summary = readSummary({ model: 'm', unique: TEST_UNIQUE, thinkTags, nowS: () => 0 });
    const resume = () => Promise.reject(new ApiError('server_overloaded'));
    const compaction = beginCompaction({ chat, route, resume }, { summary, seal: (text) => text });
    const read = Promise.withResolvers<void>();
    const failures: unknown[] = [];
    const conversation: Partial<Conversation> = {
      compaction,
      translator,
      incoming: {
        facts: beginFacts(),
        caller: { identity: ['me'], backendHeaders: {}, holder: () => ({ name: 'me', isStranger: false }) },
      } as Partial<IncomingCreate> as IncomingCreate,
      backend: {
        async ask(_chat, _asking, listener) {
          await listener.take({ chunks: [chunkOf({ content: 'A cat.' }, 'stop')], done: true });
        },
      },
      telling: {
        signal: createStopController().signal,
        whenReady: () => undefined,
        send: () => (translator.ended ? undefined : read.promise),
        async failureOf(thrown: unknown) {
          failures.push(thrown);
          return thrown as ApiError;
        },
      } as Partial<Conversation['telling']> as Conversation['telling'],
    };
    const over = converse({ translation: { chat }, route } as ResponsePlan, conversation as Conversation);
    await allArrived();
    read.resolve();
    await over;
    expect(unhandled).to.deep.equal([]);
    expect(failures.map((failure) => (failure as ApiError).code)).to.deep.equal(['server_overloaded']);
    expect(translator.failure).to.have.property('code', 'server_overloaded');
  });
});

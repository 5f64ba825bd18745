import { expect } from 'chai';
import type { ChatBackend } from '../../src/backend/chat.ts';
import type { RequestRecord } from '../../src/contract/types.ts';
import type { ChatBatch } from '../../src/core/chat.ts';
import { ApiError } from '../../src/core/errors.ts';
import type { StopSignal } from '../../src/core/stop-signal.ts';
import { openGateway, type TestGateway } from '../support/gateway.ts';
import { useRealSockets } from '../support/real-sockets.ts';
import { makeWorkshop, type Workshop } from '../support/sqlite.ts';
import { turn } from '../support/time.ts';
import { allRecords, callerOf, readRecord, readTold, type Caller } from './caller.ts';
import { finish, text, usageChunk } from './chunks.ts';

const AT_ONCE = 50;

/** Describes cancels that meet the ends of their requests, at least this many times. */
export function describeCancelRaces(atLeast: number): void {
  describe('a cancel in a race with the end', () => {
    useRealSockets();

    let workshop: Workshop;
    let gateway: TestGateway;
    let caller: Caller;
    /** By model, who waits for the id of its request. */
    const waiting = new Map<string, (requestId: string) => void>();

    beforeEach(async () => {
      workshop = makeWorkshop();
      const store = await workshop.open();
      gateway = await openGateway(
        { UPSTREAM_BASE_URL: 'http://127.0.0.1:1/v1' },
        {
          backend: randomBackend,
          store: {
            ...store,
            async accept(draft) {
              const acceptance = await store.accept(draft);
              waiting.get(draft.model)?.(draft.requestId);
              return acceptance;
            },
          },
        },
      );
      caller = callerOf(gateway.url);
    });
    afterEach(async () => {
      await gateway.close();
      await workshop.clear();
    });

    it(`leaves one final state, which never changes, ${atLeast} times`, async () => {
      const finals = new Map<string, RequestRecord>();
      const tally = { cancelled: 0, succeeded: 0, failed: 0 };
      async function race(index: number): Promise<void> {
        const model = `m-${index}`;
        const known = new Promise<string>((resolve) => waiting.set(model, resolve));
        // With a key, the record of a JSON request is written before its end.
        const headers = { 'idempotency-key': model };
        const asking = caller.create({ model, input: 'Hello', stream: index % 2 === 0 }, { headers });
        const requestId = await known;
        await randomTurns();
        const reply = await caller.cancel(requestId);
        const answered = await readRecord(reply);
        const told = await readTold(await asking);
        const record = await caller.final(requestId);
        finals.set(requestId, record);

        // The client is told what the record says, however close it was.
        if (reply.status === 202) {
          expect(record.status).to.equal('cancelled');
          expect(told.code).to.equal('request_cancelled');
          tally.cancelled += 1;
        } else {
          expect(reply.status).to.equal(200);
          expect(record).to.deep.equal(answered);
          expect(told.code).to.equal(record.error?.code);
          expect(record.status).to.equal(told.code === undefined ? 'succeeded' : 'failed');
          tally[told.code === undefined ? 'succeeded' : 'failed'] += 1;
        }
      }

      // A race that one side always wins is none.
      for (let first = 0; first < atLeast || Math.min(...Object.values(tally)) < 3; first += AT_ONCE) {
        await Promise.all(Array.from({ length: AT_ONCE }, (_, index) => race(first + index)));
      }
      console.log(`\n  Of ${finals.size} races ${JSON.stringify(tally)}`);
      expect(await allRecords(caller)).to.deep.equal(finals);
    });
  });
}

/** Answers within some turns of the event loop, in pieces, or fails on the way, and stops as soon as it is told to. */
const randomBackend: ChatBackend = {
  async ask(_request, { signal }, listener) {
    await randomTurns(signal);
    listener.begin({ headers: {}, leftOut: [], limitTotal: () => undefined });
    await listener.take(batchOf(text('Hel')));
    await randomTurns(signal);
    if (Math.random() < 0.3) throw new ApiError('upstream_error');
    await listener.take(batchOf(text('lo'), finish('stop')));
    await randomTurns(signal);
    await listener.take({ ...batchOf(usageChunk), done: true });
  },
  close: () => Promise.resolve(),
};

function batchOf(...chunks: readonly object[]): ChatBatch {
  return { chunks: chunks as ChatBatch['chunks'], done: false };
}

/** Lets up to eight turns of the event loop pass, and often none. Throws the reason of the signal when it aborts. */
async function randomTurns(signal?: StopSignal): Promise<void> {
  for (let left = Math.random() * 12 - 4; left > 0; left -= 1) {
    signal?.throwIfAborted();
    await turn(1);
  }
  signal?.throwIfAborted();
}

import { expect } from 'chai';
import type { FailureReason } from '../../../src/store/queue/failures.ts';
import { createBatchQueue, type BatchQueue, type BatchQueueLimits } from '../../../src/store/queue/batch-queue.ts';
import type { Mode, Operation, Reply } from '../../../src/store/queue/operations.ts';
import { newKeyId } from '../../support/keys.ts';
import { PATIENT } from '../../support/patient.ts';
import { newRequestId } from '../../support/records.ts';
import { failureCode } from '../../support/sqlite.ts';
import { standStill, useHeldTime } from '../../support/held-time.ts';
import { allArrived, until } from '../../support/time.ts';

describe('the queue', () => {
  let batches: { mode: Mode; names: string[] }[];
  let answer: (batch: readonly Operation[], mode: Mode) => Promise<Reply> | Reply;
  let failures: FailureReason[];
  let queues: BatchQueue[];

  beforeEach(() => {
    batches = [];
    failures = [];
    queues = [];
    answer = succeed;
  });
  afterEach(() => Promise.all(queues.map((queue) => queue.close())));

  function makeLane(
    limits: Partial<BatchQueueLimits> = {},
    alone: ReadonlySet<Operation[0]> = new Set(),
    lookupSlots = 0,
  ): BatchQueue {
    const queue = createBatchQueue({
      engine: {
        run: async (mode, batch) => {
          batches.push({ mode, names: batch.map(([name]) => name) });
          return answer(batch, mode);
        },
        close: () => Promise.resolve(),
      },
      alone,
      lookupSlots,
      onFailure: ({ reason }) => failures.push(reason),
      limits: { closeWithinMs: 50, ...limits },
    });
    queues.push(queue);
    return queue;
  }

  const id = newRequestId();
  const accept = (queue: BatchQueue) => queue.call(PROBE, { undo: ['discard', id, 0, null] });
  const finish = (queue: BatchQueue) => queue.call(DISCARD, { isKept: true });
  const create = (queue: BatchQueue) => queue.call(PROBE, { undo: ['deleteKeys', [newKeyId()]] });
  const find = (queue: BatchQueue) => queue.call(['find', ['c'], id], { isLookup: true });
  const sum = (queue: BatchQueue) =>
    queue.call(['sumUsage', null, 'day', { from: 0, until: 1 }, 1], { isLookup: true, isList: true });
  const PROBE = ['probeWrite'] as const;
  const DISCARD = ['discard', id, 0, null] as const;

  function succeed(batch: readonly Operation[]): Reply {
    return { results: batch.map(() => null) };
  }

  function failWith(reason: FailureReason): () => Reply {
    return () => ({ failure: { reason, message: 'on purpose' } });
  }

  it('takes one list at most into a batch', async () => {
    const queue = makeLane();
    await Promise.all([sum(queue), find(queue), sum(queue), accept(queue), sum(queue), find(queue)]);
    expect(batches.map(({ names }) => names)).to.deep.equal([
      ['sumUsage', 'find'],
      ['sumUsage', 'probeWrite'],
      ['sumUsage', 'find'],
    ]);
  });

  it('gives an operation a batch of its own where the engine asks for that', async () => {
    const queue = makeLane({}, new Set(['discard']));
    await Promise.all([accept(queue), find(queue), finish(queue), finish(queue), find(queue), accept(queue)]);
    expect(batches.map(({ names }) => names)).to.deep.equal([
      ['probeWrite', 'find'],
      ['discard'],
      ['discard'],
      ['find', 'probeWrite'],
    ]);
  });

  for (const { name, calls, expected } of [
    { name: 'before the others', calls: [create, finish, finish], expected: ['deleteKeys', 'discard discard'] },
    { name: 'between others', calls: [finish, create, finish], expected: ['discard', 'deleteKeys', 'discard'] },
    { name: 'after the others', calls: [finish, finish, create], expected: ['discard discard', 'deleteKeys'] },
  ]) {
    it(`gives it one also when it is kept ${name}`, async () => {
      const queue = makeLane({}, new Set(['deleteKeys']));
      answer = () => {
        answer = succeed;
        return failWith('lost')();
      };
      await Promise.allSettled(calls.map((call) => call(queue)));
      await until(() => batches.length === expected.length + 1);
      expect(batches.slice(1).map(({ names }) => names.join(' '))).to.deep.equal(expected);
    });
  }

  it('sends what was called for in one turn as one batch, in order', async () => {
    const queue = makeLane();
    await Promise.all([accept(queue), find(queue), finish(queue)]);
    expect(batches).to.deep.equal([{ mode: 'write', names: ['probeWrite', 'find', 'discard'] }]);
  });

  it('sends what came during a batch as the next one', async () => {
    const queue = makeLane();
    const { promise: disk, resolve: goOn } = Promise.withResolvers<void>();
    answer = async (batch) => {
      await disk;
      return succeed(batch);
    };
    const first = accept(queue);
    await until(() => batches.length === 1);
    const others = [accept(queue), accept(queue), accept(queue)];
    goOn();
    await Promise.all([first, ...others]);
    expect(batches.map(({ names }) => names.length)).to.deep.equal([1, 3]);
  });

  /** Calls so often in each of these turns of the event loop, before the queue has its own turn. */
  async function acceptInTurns(queue: BatchQueue, counts: readonly number[]): Promise<void> {
    const calls: Promise<unknown>[] = [];
    for (const count of counts) {
      const turn = new Promise((resolve) => setImmediate(resolve));
      calls.push(...Array.from({ length: count }, () => accept(queue)));
      await turn;
    }
    await Promise.all(calls);
  }

  it('waits for what the next turns of the event loop bring, as long as each brings something', async () => {
    await acceptInTurns(makeLane(), [1, 2, 1, 0, 2]);
    expect(batches.map(({ names }) => names.length)).to.deep.equal([4, 2]);
  });

  it('does not wait for more than some turns', async () => {
    await acceptInTurns(makeLane(), [1, 1, 1, 1, 1, 1]);
    expect(batches.map(({ names }) => names.length)).to.deep.equal([5, 1]);
  });

  it('needs no transaction for lookups alone', async () => {
    await find(makeLane());
    expect(batches).to.deep.equal([{ mode: 'read', names: ['find'] }]);
  });

  it('keeps batches to their limits', async () => {
    const queue = makeLane({ batch: 4, lookups: 2 });
    await Promise.all([
      ...Array.from({ length: 6 }, () => accept(queue)),
      ...Array.from({ length: 3 }, () => find(queue)),
    ]);
    expect(batches.map(({ names }) => names.join(' '))).to.deep.equal([
      'probeWrite probeWrite probeWrite probeWrite',
      'probeWrite probeWrite find find',
      'find',
    ]);
  });

  it('refuses calls when too many wait, but takes what must be kept', async () => {
    const queue = makeLane({ waiting: 2 });
    const codes = await Promise.all(
      [accept(queue), accept(queue), accept(queue), finish(queue), finish(queue)].map(failureCode),
    );
    expect(codes).to.deep.equal([undefined, undefined, 'store_unavailable', undefined, undefined]);
  });

  it('answers lookups however much must be kept, and refuses new changes', async () => {
    const queue = makeLane({ waiting: 2, keptWithinMs: 50 });
    answer = (batch, mode) => (mode === 'write' ? failWith('full')() : succeed(batch));
    await Promise.all([finish(queue), finish(queue), finish(queue)].map(failureCode));
    expect(await Promise.all([find(queue), accept(queue)].map(failureCode))).to.deep.equal([
      undefined,
      'store_unavailable',
    ]);
    answer = succeed;
  });

  it('tries again what found the database busy', async () => {
    const queue = makeLane();
    let tries = 0;
    answer = (batch) => ((tries += 1) < 4 ? failWith('busy')() : succeed(batch));
    await accept(queue);
    expect(batches).to.have.lengthOf(4);
    expect(failures).to.deep.equal([]);
  });

  it('answers lookups while the database is busy with changes', async () => {
    const queue = makeLane();
    let isLocked = true;
    answer = (batch, mode) => (mode === 'write' && isLocked ? failWith('busy')() : succeed(batch));
    const accepted = accept(queue);
    expect(await find(queue)).to.equal(null);
    expect(batches.some(({ mode }) => mode === 'write')).to.equal(true);
    isLocked = false;
    await accepted;
  });

  it('answers lookups that were in a batch whose changes failed', async () => {
    const queue = makeLane();
    answer = (batch, mode) => (mode === 'write' ? failWith('full')() : succeed(batch));
    const [accepted, found] = await Promise.allSettled([accept(queue), find(queue)]);
    expect([accepted.status, found.status]).to.deep.equal(['rejected', 'fulfilled']);
  });

  it('tells whoever waits too long, whatever becomes of the call', async () => {
    const queue = makeLane({ answerWithinMs: 50, keptWithinMs: 50 });
    answer = () => new Promise(() => undefined);
    const codes = await Promise.all([accept(queue), finish(queue), find(queue)].map(failureCode));
    expect(codes).to.deep.equal(['store_unavailable', 'store_unavailable', 'store_unavailable']);
  });

  it('takes back what is committed after its caller was told that it failed', async () => {
    const queue = makeLane({ answerWithinMs: 50 });
    const { promise: disk, resolve: goOn } = Promise.withResolvers<void>();
    answer = async (batch) => {
      await disk;
      return succeed(batch);
    };
    await failureCode(accept(queue));
    goOn();
    await until(() => batches.length === 2);
    expect(batches[1]).to.deep.equal({ mode: 'write', names: ['discard'] });
  });

  it('takes back what may have been committed by a thread that died', async () => {
    const queue = makeLane();
    let tries = 0;
    answer = (batch) => ((tries += 1) === 1 ? failWith('lost')() : succeed(batch));
    expect(await failureCode(accept(queue))).to.equal('store_unavailable');
    await until(() => batches.length === 2);
    expect(batches[1]?.names).to.deep.equal(['discard']);
  });

  for (const { name, wrong } of [
    { name: 'fewer results than calls', wrong: (batch: readonly Operation[]) => batch.slice(1) },
    { name: 'no result', wrong: () => [] },
    { name: 'more results than calls', wrong: (batch: readonly Operation[]) => [...batch, ...batch] },
  ]) {
    it(`takes a batch with ${name} for lost: nothing of it is taken for written`, async () => {
      const queue = makeLane();
      answer = (batch) => {
        answer = succeed;
        return succeed(wrong(batch));
      };
      const [accepted, finished, found] = await Promise.all(
        [accept(queue), finish(queue), find(queue)].map(failureCode),
      );
      expect([accepted, finished, found]).to.deep.equal(['store_unavailable', undefined, undefined]);
      const tried = batches.slice(1).flatMap(({ names }) => names);
      expect(tried, 'the undo and the end of a request').to.include.members(['discard', 'discard', 'find']);
      expect(failures).to.deep.equal(['lost']);
    });
  }

  it('takes nothing back of what certainly had no effect', async () => {
    const queue = makeLane();
    answer = failWith('full');
    await failureCode(accept(queue));
    await allArrived();
    expect(batches).to.have.lengthOf(1);
  });

  it('tries on with what must be kept, by itself, after its caller was told', async () => {
    const queue = makeLane({ keptWithinMs: 50 });
    answer = failWith('full');
    const codes = await Promise.all([accept(queue), finish(queue)].map(failureCode));
    expect(codes).to.deep.equal(['store_unavailable', 'store_unavailable']);
    answer = succeed;
    const before = batches.length;
    await until(() => batches.length > before);
    expect(batches.slice(1).map(({ names }) => names)).to.deep.equal(Array.from({ length: before }, () => ['discard']));
    await allArrived();
    expect(batches, 'and then no more').to.have.lengthOf(before + 1);
  });

  it('tells the caller of what must be kept that it is written, however often that failed before', async () => {
    const queue = makeLane();
    answer = failWith('full');
    const finished = finish(queue);
    await until(() => batches.length === 4);
    answer = succeed;
    await finished;
  });

  it('gives the result of what failed only because of the others of its batch', async () => {
    const queue = makeLane();
    answer = (batch) => (batch.length > 1 ? failWith('full')() : succeed(batch));
    const [accepted, finished] = await Promise.allSettled([accept(queue), finish(queue)]);
    expect([accepted.status, finished.status]).to.deep.equal(['rejected', 'fulfilled']);
  });

  it('lets a mistake of one call fail that call alone', async () => {
    const queue = makeLane();
    answer = () => ({ results: [new Error('a broken constraint'), null] });
    const [broken, sound] = await Promise.allSettled([accept(queue), accept(queue)]);
    expect(broken).to.have.nested.property('reason.message', 'a broken constraint');
    expect(sound.status).to.equal('fulfilled');
  });

  it('waits for what runs when it is closed, and refuses newcomers', async () => {
    const queue = makeLane({ closeWithinMs: PATIENT.answerWithinMs });
    const { promise: disk, resolve: goOn } = Promise.withResolvers<void>();
    answer = async (batch) => {
      await disk;
      return succeed(batch);
    };
    const last = accept(queue);
    const closed = queue.close();
    expect(await failureCode(accept(queue))).to.equal('store_unavailable');
    goOn();
    expect(await closed).to.equal(0);
    await last;
  });

  it('counts what it had to give up when it is closed', async () => {
    const queue = makeLane({ keptWithinMs: 50 });
    answer = failWith('read_only');
    await failureCode(finish(queue));
    expect(await queue.close()).to.equal(1);
  });

  describe('to an engine that runs lookups beside the changes', () => {
    let letGo: PromiseWithResolvers<void>;

    beforeEach(() => {
      letGo = Promise.withResolvers();
      answer = async (batch, mode) => {
        if (mode === 'read') await letGo.promise;
        return succeed(batch);
      };
    });
    const makeOpen = (lookupSlots: number, limits: Partial<BatchQueueLimits> = {}) =>
      makeLane(limits, new Set(), lookupSlots);

    it('lets no change wait for a lookup, each of which is asked for by itself after the changes before it', async () => {
      const queue = makeOpen(2);
      const finds = [find(queue), find(queue)];
      await Promise.all([accept(queue), finish(queue)]);
      await accept(queue);
      expect(batches.map(({ mode, names }) => [mode, ...names])).to.deep.equal([
        ['write', 'probeWrite', 'discard'],
        ['read', 'find'],
        ['read', 'find'],
        ['write', 'probeWrite'],
      ]);
      letGo.resolve();
      await Promise.all(finds);
    });

    it('lets no lookup wait for a list, of which one runs at a time', async () => {
      const held = Promise.withResolvers<void>();
      answer = async (batch) => {
        if (batch[0]?.[0] === 'sumUsage') await held.promise;
        return succeed(batch);
      };
      const queue = makeOpen(1);
      const lists = [sum(queue), sum(queue)];
      await find(queue);
      await Promise.all([find(queue), accept(queue)]);
      expect(batches.filter(({ names }) => names[0] === 'sumUsage')).to.have.lengthOf(1);
      held.resolve();
      await Promise.all(lists);
      expect(batches.filter(({ names }) => names[0] === 'sumUsage')).to.have.lengthOf(2);
    });

    it('runs so many lookups at once, and the others as soon as there is a place', async () => {
      const queue = makeOpen(3);
      const finds = Array.from({ length: 7 }, () => find(queue));
      await accept(queue);
      await accept(queue);
      expect(batches.filter(({ mode }) => mode === 'read')).to.have.lengthOf(3);
      letGo.resolve();
      await Promise.all(finds);
      expect(batches.filter(({ mode }) => mode === 'read')).to.have.lengthOf(7);
    });

    it('answers lookups also when the changes before them could not be written', async () => {
      const queue = makeOpen(1);
      letGo.resolve();
      answer = (batch, mode) => (mode === 'read' ? succeed(batch) : failWith('full')());
      const [accepted, found] = await Promise.allSettled([accept(queue), find(queue)]);
      expect([accepted.status, found.status]).to.deep.equal(['rejected', 'fulfilled']);
    });

    it('tries a lookup again after what passes, and refuses it after anything else', async () => {
      const queue = makeOpen(1);
      let times = 0;
      answer = () => failWith(++times < 3 ? 'busy' : 'io_error')();
      expect(await failureCode(find(queue))).to.equal('store_unavailable');
      expect(times).to.equal(3);
      expect(failures).to.deep.equal(['io_error']);
    });

    it('refuses a lookup that got no result', async () => {
      const queue = makeOpen(1);
      answer = () => succeed([]);
      expect(await failureCode(find(queue))).to.equal('store_unavailable');
    });

    it('refuses within its time a lookup that is not answered, and one that has no place, and asks for that no more', async () => {
      const queue = makeOpen(1, { answerWithinMs: 50 });
      const codes = await Promise.all([failureCode(find(queue)), failureCode(find(queue))]);
      expect(codes).to.deep.equal(['store_unavailable', 'store_unavailable']);
      letGo.resolve();
      await queue.close();
      expect(batches).to.have.lengthOf(1);
    });

    it('waits at its end for the lookups that run', async () => {
      const queue = makeOpen(1, { closeWithinMs: PATIENT.answerWithinMs });
      const found = find(queue);
      await until(() => batches.length === 1);
      const closed = queue.close();
      letGo.resolve();
      expect(await closed).to.equal(0);
      await found;
    });

    it('takes no more lookups than may wait', async () => {
      const queue = makeOpen(1, { waiting: 3 });
      const finds = Array.from({ length: 3 }, () => find(queue));
      await until(() => batches.length === 1);
      expect(await failureCode(find(queue))).to.equal('store_unavailable');
      letGo.resolve();
      await Promise.all(finds);
    });
  });

  describe('after an answer that was lost', () => {
    const passTime = useHeldTime();

    it('takes back a second time what may be committed after it was taken back', async () => {
      let tries = 0;
      answer = (batch) => ((tries += 1) === 1 ? failWith('lost')() : succeed(batch));
      await failureCode(accept(makeLane()));
      await passTime(9000);
      expect(batches.map(({ names }) => names)).to.deep.equal([['probeWrite'], ['discard']]);
      await passTime(2000);
      expect(batches.slice(2).map(({ names }) => names)).to.deep.equal([['discard']]);
    });

    it('counts that time from the first undo that the server has answered, which may have stood still', async () => {
      answer = failWith('lost');
      await failureCode(accept(makeLane()));
      await passTime(30_000);
      answer = succeed;
      batches = [];
      await passTime(2000);
      expect(batches.map(({ names }) => names)).to.deep.equal([['discard']]);
      await passTime(10_000);
      expect(batches.map(({ names }) => names)).to.deep.equal([['discard'], ['discard']]);
    });
  });

  describe('that was closed', () => {
    const passTime = useHeldTime();

    it('asks the engine no more', async () => {
      const queue = makeLane();
      const disk = Promise.withResolvers<void>();
      answer = async () => {
        await disk.promise;
        return failWith('starting')();
      };
      const finished = failureCode(finish(queue));
      const closed = queue.close();
      await passTime(50);
      expect(await closed).to.equal(1);
      expect(await finished).to.equal('store_unavailable');
      disk.resolve();
      await passTime(1000);
      expect(batches).to.have.lengthOf(1);
    });
  });

  describe('of a process that stood still', () => {
    const passTime = useHeldTime();

    it('takes what the store has answered meanwhile, and gives it the rest of its time', async () => {
      const disk = Promise.withResolvers<void>();
      answer = async (batch) => {
        await disk.promise;
        return succeed(batch);
      };
      const queue = makeLane({ answerWithinMs: 2000 });
      const [first, second] = [accept(queue), find(queue)];
      await passTime(1500);
      await standStill(10_000);
      await passTime(300);
      disk.resolve();
      expect(await first).to.equal(null);
      expect(await second).to.equal(null);
    });

    it('refuses what the store does not answer in its time all the same', async () => {
      answer = () => new Promise(() => undefined);
      const refused = failureCode(accept(makeLane({ answerWithinMs: 2000 })));
      await passTime(1500);
      await standStill(10_000);
      await passTime(600);
      expect(await refused).to.equal('store_unavailable');
    });

    /** A process that runs for a quarter of the time. */
    async function starve(ms: number): Promise<void> {
      for (let passedMs = 0; passedMs < ms; passedMs += 400) await standStill(400);
    }

    it('counts only the time in which it ran, where it gets too little of its core', async () => {
      const disk = Promise.withResolvers<void>();
      answer = async (batch) => {
        await disk.promise;
        return succeed(batch);
      };
      const accepted = accept(makeLane({ answerWithinMs: 2000 }));
      await starve(6000);
      disk.resolve();
      expect(await accepted).to.equal(null);
    });

    it('refuses what the store does not answer in that time, however often it stood still', async () => {
      answer = () => new Promise(() => undefined);
      const refused = failureCode(accept(makeLane({ answerWithinMs: 2000 })));
      await starve(8400);
      expect(await refused).to.equal('store_unavailable');
    });
  });
});

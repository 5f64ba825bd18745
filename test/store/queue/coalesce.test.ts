import { expect } from 'chai';
import type { FailureReason } from '../../../src/store/queue/failures.ts';
import type { Mode, Operation, RemoteEngine, Reply } from '../../../src/store/queue/operations.ts';
import { coalesceCalls } from '../../../src/store/queue/coalesce.ts';

describe('a shared engine', () => {
  let batches: { readonly mode: Mode; readonly names: readonly unknown[] }[];
  /** Each batch is answered when it is let go. */
  let waiting: (() => void)[];
  let reply: (batch: readonly Operation[]) => Reply;
  let engine: RemoteEngine;

  beforeEach(() => {
    batches = [];
    waiting = [];
    reply = (batch) => ({ results: batch.map(([, name]) => `${String(name)} is done`) });
    engine = coalesceCalls({
      run(mode, batch) {
        batches.push({ mode, names: batch.map(([, name]) => name) });
        return new Promise((resolve) => waiting.push(() => resolve(reply(batch))));
      },
      close: () => Promise.resolve(),
    });
  });

  const named = (...names: string[]): Operation[] => names.map((name) => ['pragma', name]);
  const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
  const done = (...names: string[]): Reply => ({ results: names.map((name) => `${name} is done`) });

  async function letGo(): Promise<void> {
    waiting.shift()?.();
    await turn();
  }

  it('runs what waits as one batch, and gives each queue the results of its own', async () => {
    const replies = [
      engine.run('read', named('a')),
      engine.run('read', named('b', 'c')),
      engine.run('write', named('d')),
      engine.run('read', named()),
    ];
    await letGo();
    await letGo();
    expect(batches).to.deep.equal([
      { mode: 'read', names: ['a'] },
      { mode: 'write', names: ['b', 'c', 'd'] },
    ]);
    expect(await Promise.all(replies)).to.deep.equal([done('a'), done('b', 'c'), done('d'), done()]);
  });

  it('needs no transaction for lookups alone', async () => {
    const replies = [engine.run('read', named('a')), engine.run('read', named('b')), engine.run('read', named('c'))];
    await letGo();
    await letGo();
    expect(batches.map(({ mode }) => mode)).to.deep.equal(['read', 'read']);
    await Promise.all(replies);
  });

  it('does not let a batch grow without end', async () => {
    const many = Array.from({ length: 300 }, (_, index) => `${index}`);
    const replies = ['first', 'second', 'third'].map(() => engine.run('write', named(...many)));
    for (const _ of replies) await letGo();
    expect(batches.map(({ names }) => names.length)).to.deep.equal([300, 300, 300]);
    await Promise.all(replies);
  });

  for (const reason of ['full', 'read_only', 'io_error', 'corrupt'] satisfies FailureReason[]) {
    it(`lets each queue fail or succeed by itself after ${reason}`, async () => {
      reply = (batch) =>
        batch.some(([, name]) => name === 'bad') ? failure(reason) : { results: batch.map(([, name]) => name) };
      const replies = [
        engine.run('read', named('first')),
        engine.run('write', named('bad')),
        engine.run('read', named('a lookup')),
      ];
      for (let batch = 0; batch < 4; batch += 1) await letGo();
      expect(await Promise.all(replies)).to.deep.equal([
        { results: ['first'] },
        failure(reason),
        { results: ['a lookup'] },
      ]);
      expect(batches.at(-1)).to.deep.equal({ mode: 'read', names: ['a lookup'] });
    });
  }

  for (const reason of ['lost', 'busy', 'starting'] satisfies FailureReason[]) {
    it(`tries nothing again after ${reason}, and says so to every queue`, async () => {
      reply = () => failure(reason);
      const replies = [
        engine.run('write', named('first')),
        engine.run('write', named('a')),
        engine.run('write', named('b')),
      ];
      await letGo();
      await letGo();
      expect(await Promise.all(replies)).to.deep.equal([failure(reason), failure(reason), failure(reason)]);
      expect(batches).to.have.lengthOf(2);
    });
  }

  it('tells every queue that its calls are lost when results are missing, since nobody knows whose they are', async () => {
    reply = (batch) => ({ results: batch.slice(1).map(([, name]) => name) });
    const replies = [
      engine.run('write', named('first')),
      engine.run('write', named('a')),
      engine.run('write', named('b')),
    ];
    await letGo();
    await letGo();
    const reasons = (await Promise.all(replies)).map((each) => ('failure' in each ? each.failure.reason : each));
    expect(reasons).to.deep.equal(['lost', 'lost', 'lost']);
  });

  function failure(reason: FailureReason): Reply {
    return { failure: { reason, message: 'on purpose' } };
  }
});

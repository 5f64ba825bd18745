import { expect } from 'chai';
import { limitConcurrency, limitFairly } from '../../src/core/limit-concurrency.ts';

describe('createTurns', () => {
  let takeTurn: ReturnType<typeof limitConcurrency>;
  let running: { readonly name: string; readonly end: (error?: Error) => void }[];

  beforeEach(() => {
    takeTurn = limitConcurrency(2);
    running = [];
  });

  it('lets so many run at once, and the others in their order', async () => {
    const turns = ['a', 'b', 'c', 'd'].map(take);
    expect(await namesRunning()).to.deep.equal(['a', 'b']);
    running[1]?.end();
    expect(await namesRunning()).to.deep.equal(['a', 'b', 'c']);
    running[0]?.end();
    running[2]?.end();
    expect(await namesRunning()).to.deep.equal(['a', 'b', 'c', 'd']);
    running[3]?.end();
    expect(await Promise.all(turns)).to.deep.equal(['a', 'b', 'c', 'd']);
  });

  it('gives the turn of work that fails to the next', async () => {
    const turns = ['a', 'b', 'c'].map(take);
    const failed = turns[0]?.catch((error: unknown) => error);
    await namesRunning();
    running[0]?.end(new Error('no'));
    expect(await failed).to.be.an('error');
    expect(await namesRunning()).to.deep.equal(['a', 'b', 'c']);
  });

  it('never lets one more run who comes while a turn changes hands', async () => {
    for (const name of ['a', 'b', 'c']) void take(name);
    await namesRunning();
    running[0]?.end();
    void take('d');
    expect(await namesRunning()).to.deep.equal(['a', 'b', 'c']);
  });

  function take(name: string): Promise<string> {
    return takeTurn(
      () =>
        new Promise((resolve, reject) => {
          running.push({ name, end: (error) => (error === undefined ? resolve(name) : reject(error)) });
        }),
    );
  }

  /** Of all that have begun so far. */
  async function namesRunning(): Promise<string[]> {
    await new Promise(setImmediate);
    return running.map(({ name }) => name);
  }
});

describe('limitFairly', () => {
  it('takes from each owner in turn, and one piece of work at a time', async () => {
    const takeTurn = limitFairly();
    const done: string[] = [];
    let running = 0;
    const work = ['a1', 'a2', 'a3', 'b1', 'b2', 'c1'].map((name) =>
      takeTurn(name.slice(0, 1), async () => {
        running += 1;
        expect(running).to.equal(1);
        await Promise.resolve();
        running -= 1;
        done.push(name);
        if (name === 'a1') throw new Error('no');
      }),
    );
    await Promise.allSettled(work);
    expect(done.slice(0, 3)).to.deep.equal(['a1', 'b1', 'c1']);
    expect(done.toSorted()).to.deep.equal(['a1', 'a2', 'a3', 'b1', 'b2', 'c1']);
  });

  it('lets so many run at once, of one owner too, and the first of another before the rest', async () => {
    const takeTurn = limitFairly(2);
    const begun: string[] = [];
    const ends: (() => void)[] = [];
    const work = ['a1', 'a2', 'a3', 'a4', 'b1'].map((name) =>
      takeTurn(name.slice(0, 1), () => {
        begun.push(name);
        return new Promise<void>((resolve) => ends.push(resolve));
      }),
    );
    const endOne = async (): Promise<void> => {
      ends.shift()?.();
      await new Promise(setImmediate);
    };
    expect(begun).to.deep.equal(['a1', 'a2']);
    await endOne();
    expect(begun).to.deep.equal(['a1', 'a2', 'b1']);
    while (ends.length > 0) await endOne();
    await Promise.all(work);
    expect(begun).to.deep.equal(['a1', 'a2', 'b1', 'a3', 'a4']);
  });
});

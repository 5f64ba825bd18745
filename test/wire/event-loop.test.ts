import { expect } from 'chai';
import { readPiece, spreadOverIterations } from '../../src/wire/event-loop.ts';

describe('work that is spread over turns of the event loop', () => {
  let takeTurn: ReturnType<typeof spreadOverIterations>;
  let begun: string[];

  beforeEach(() => {
    takeTurn = spreadOverIterations(2);
    begun = [];
  });

  const add = (owner: string, ...names: readonly string[]): void => {
    for (const name of names) takeTurn(owner, () => begun.push(name));
  };

  /** Returns what began in each turn until one in which nothing does. */
  async function turns(): Promise<string[][]> {
    const seen: string[][] = [];
    do {
      seen.push(begun.splice(0));
      await new Promise(setImmediate);
    } while (begun.length > 0);
    return seen;
  }

  it('begins at once as long as there is little of it', async () => {
    add('a', '1', '2');
    expect(await turns()).to.deep.equal([['1', '2']]);
    add('a', '3', '4');
    expect(begun).to.deep.equal(['3', '4']);
  });

  it('asks for a turn only after half of what may begin in one', async () => {
    const immediates = (): number => process.getActiveResourcesInfo().filter((name) => name === 'Immediate').length;
    takeTurn = spreadOverIterations(4);
    add('a', '1');
    expect(immediates()).to.equal(0);
    await new Promise(setImmediate);
    add('a', '2');
    expect(immediates()).to.equal(1);
    add('a', '3', '4', '5');
    expect(await turns()).to.deep.equal([['1', '2', '3', '4'], ['5']]);
  });

  it('begins so much in each turn, in its order', async () => {
    add('a', '1', '2', '3', '4', '5');
    expect(await turns()).to.deep.equal([['1', '2'], ['3', '4'], ['5']]);
  });

  it('is taken from each owner in turn', async () => {
    add('a', 'a1', 'a2', 'a3', 'a4', 'a5', 'a6');
    add('b', 'b1', 'b2');
    add('c', 'c1');
    expect(await turns()).to.deep.equal([['a1', 'a2'], ['a3', 'b1'], ['c1', 'a4'], ['b2', 'a5'], ['a6']]);
  });

  it('does not pass what has waited', async () => {
    add('a', '1', '2', '3');
    takeTurn('a', () => add('b', '5'));
    add('a', '4');
    expect(await turns()).to.deep.equal([['1', '2'], ['3'], ['4', '5']]);
  });

  it('is one piece a turn of all that is read', async () => {
    const read = (name: string, pieces: number): void => {
      begun.push(name);
      if (pieces > 1) readPiece(() => read(name, pieces - 1));
    };
    readPiece(() => read('a', 3));
    readPiece(() => read('b', 3));
    expect(await turns()).to.deep.equal([['a'], ['a'], ['b'], ['a'], ['b'], ['b']]);
  });
});

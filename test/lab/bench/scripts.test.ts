import { expect } from 'chai';
import { BURST_DELTAS, CHUNKS, isChunkKind, type ChunkKind, type Piece } from './scripts.ts';

const toPieces = (kind: ChunkKind): Piece[] => Array.from({ length: BURST_DELTAS }, (_, index) => CHUNKS[kind](index));

describe('the chunks of the bench', () => {
  it('that are repeated differ in their words alone, and different ones in all that backends change', () => {
    expect(toPieces('repeated').every((piece) => Object.keys(piece).join() === 'delta')).to.equal(true);
    const [one, other] = toPieces('different').map(({ chunk = {} }) => Object.entries(chunk));
    expect(one?.map(([name]) => name)).to.deep.equal(['id', 'created', 'obfuscation', 'usage']);
    const same = one?.filter(([, value], index) => JSON.stringify(value) === JSON.stringify(other?.[index]?.[1]));
    expect(same).to.deep.equal([]);
  });

  it('of arguments are JSON together', () => {
    const text = toPieces('arguments')
      .map(({ delta }) => /"arguments":("(?:[^"\\]|\\.)*")/.exec(JSON.stringify(delta))?.[1] ?? '""')
      .map((piece) => JSON.parse(piece) as string)
      .join('');
    expect(JSON.parse(text))
      .to.have.property('list')
      .with.lengthOf(BURST_DELTAS - 1);
  });

  it('have a name each', () => {
    expect(['repeated', 'toString', 'other'].map(isChunkKind)).to.deep.equal([true, false, false]);
  });
});

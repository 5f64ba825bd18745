import { expect } from 'chai';
import { assert, nat, property, subarray } from 'fast-check';
import { cover, listMissing, partsOf, type Rollup } from '../../../src/store/rows/usage-rollups.ts';
import { runs } from '../../support/property.ts';

const DAY = 24;

function toRollup(start: number, hours: number): Rollup {
  return { kind: 'models', start, hours };
}

describe('the rollups of usage', () => {
  it('cover a span with the largest that are there, and the hours between them', () => {
    const found = [DAY, 2 * DAY, 3 * DAY, 4 * DAY, 9 * DAY].map((start) => toRollup(start, DAY));
    const four = toRollup(4 * DAY, 4 * DAY);
    expect(cover({ from: 20, until: 9 * DAY + 5 }, [...found.slice(0, 4), four])).to.deep.equal({
      rollups: [...found.slice(0, 3), four],
      hours: [
        { from: 20, until: DAY },
        { from: 8 * DAY, until: 9 * DAY + 5 },
      ],
    });
    expect(cover({ from: 7, until: 9 }, [])).to.deep.equal({ rollups: [], hours: [{ from: 7, until: 9 }] });
    expect(cover({ from: 9, until: 9 }, [])).to.deep.equal({ rollups: [], hours: [] });
  });

  it('cover each hour of a span once, whichever are there', () => {
    const known = { from: 0, until: 70 * DAY };
    const all: Rollup[] = [];
    for (let more = listMissing(known, 100 * DAY, all); more.length > 0; more = listMissing(known, 100 * DAY, all)) {
      all.push(...more);
    }
    const ofKind = all.filter(({ kind }) => kind === 'models');
    assert(
      property(subarray(ofKind), nat(30 * DAY), nat(40 * DAY), (some, from, length) => {
        const span = { from, until: from + length };
        const inside = some.filter(({ start, hours }) => start >= from && start + hours <= span.until);
        const { rollups, hours } = cover(span, inside);
        const parts = [...rollups.map(({ start, hours }) => ({ from: start, until: start + hours })), ...hours];
        const sorted = parts.sort((one, other) => one.from - other.from);
        const ends = [from, ...sorted.map(({ until }) => until)];
        expect([...sorted.map((part) => part.from), span.until]).to.deep.equal(ends);
      }),
      runs(100),
    );
  });

  it('are made of days that are over and known as a whole, and of four smaller ones', () => {
    const known = { from: 5, until: 9 * DAY };
    const ofKeys = (made: readonly Rollup[], nowHour: number) =>
      listMissing(known, nowHour, made).flatMap(({ kind, start, hours }) =>
        kind === 'keys' ? [[start / DAY, hours / DAY]] : [],
      );
    expect(ofKeys([], 3 * DAY + 1)).to.deep.equal([[1, 1]]);
    expect(ofKeys([], 3 * DAY + 2)).to.deep.equal([
      [1, 1],
      [2, 1],
    ]);
    const days = [1, 2, 3, 4, 5, 6, 7].map((day): Rollup => ({ kind: 'keys', start: day * DAY, hours: DAY }));
    expect(ofKeys(days, 20 * DAY)).to.deep.equal([
      [8, 1],
      [4, 4],
    ]);
    expect(partsOf({ kind: 'keys', start: 4 * DAY, hours: 4 * DAY })).to.deep.equal(days.slice(3));
  });
});

import { expect } from 'chai';
import type { CallId, ItemId } from '../../src/contract/ids.ts';
import {
  mintCallId,
  parseRequestId,
  toCallId,
  toItemId,
  toRequestId,
  toResponseId,
  toResponseIdOf,
  toUniquePart,
  uniqueOfItem,
} from '../../src/core/ids.ts';

const HEX = '0123456789abcdef0123456789abcdef';

describe('ids', () => {
  const unique = toUniquePart(HEX);

  it('of a response and of its record are made of one unique part, and of each other', () => {
    expect(toResponseId(unique)).to.equal(`resp_${HEX}`);
    expect(toRequestId(unique)).to.equal(`req_${HEX}`);
    expect(toResponseIdOf(toRequestId(unique))).to.equal(`resp_${HEX}`);
  });

  it('of items tell their type and place, and are unique in a response', () => {
    expect(toItemId('msg', unique, 0)).to.equal(`msg_${HEX}0000`);
    expect(toItemId('fc', unique, 255)).to.equal(`fc_${HEX}00ff`);
    const many = Array.from({ length: 70_000 }, (_, index) => toItemId('rs', unique, index));
    expect(new Set(many).size).to.equal(many.length);
  });

  it('of calls are those of the backend, or made', () => {
    expect(toCallId('call_x')).to.equal('call_x');
    expect(mintCallId(unique, 1)).to.equal(`call_${HEX}0001`);
  });

  for (const text of ['', HEX.slice(1), `${HEX}0`, HEX.toUpperCase(), `${HEX.slice(1)}g`, `${HEX}\n`]) {
    it(`are not made of ${JSON.stringify(text)}`, () => {
      expect(() => toUniquePart(text)).to.throw(RangeError);
    });
  }

  const cases = [
    { text: `req_${HEX}`, expected: `req_${HEX}` },
    { text: `resp_${HEX}`, expected: `req_${HEX}` },
    { text: HEX, expected: undefined },
    { text: `msg_${HEX}`, expected: undefined },
    { text: `req_${HEX}0`, expected: undefined },
    { text: ` req_${HEX}`, expected: undefined },
    { text: `req_${HEX}\n`, expected: undefined },
    { text: `req_${HEX.toUpperCase()}`, expected: undefined },
    { text: '', expected: undefined },
  ];
  for (const { text, expected } of cases) {
    it(`in a path: ${JSON.stringify(text)} is ${expected === undefined ? 'none' : 'one'}`, () => {
      expect(parseRequestId(text)).to.equal(expected);
    });
  }

  it('of items and of calls that were made here tell their reply', () => {
    expect(uniqueOfItem(toItemId('rs', unique, 0))).to.equal(HEX);
    expect(uniqueOfItem(toItemId('rs', unique, 70_000))).to.equal(HEX);
    expect(uniqueOfItem(mintCallId(unique, 1))).to.equal(HEX);
    for (const other of ['', 'rs_1', `rs_${HEX}`, `rs_${HEX.toUpperCase()}0000`, `${HEX}0000`, `rs_${HEX}0000\n`]) {
      expect(uniqueOfItem(other), other).to.equal(undefined);
    }
  });

  it('cannot be taken for each other', () => {
    const takeItem = (id: ItemId): string => id;
    const takeCall = (id: CallId): string => id;
    // @ts-expect-error a call id is no item id
    expect(takeItem(mintCallId(unique, 0))).to.be.a('string');
    // @ts-expect-error an item id is no call id
    expect(takeCall(toItemId('fc', unique, 0))).to.be.a('string');
    // @ts-expect-error nor is any text
    expect(takeCall('call_x')).to.be.a('string');
  });
});

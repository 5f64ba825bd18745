import { expect } from 'chai';
import { array, assert, constantFrom, property } from 'fast-check';
import { endOfString, excessOf, measureJson } from '../../src/core/json-size.ts';
import { runs } from '../support/property.ts';

describe('endOfString', () => {
  it('finds the quote that closes whatever string there is, and not one inside it', () => {
    const pieces = constantFrom('"', '\\', '\\"', 'a', 'é', '{', ' '.repeat(47), 'x'.repeat(48), 'y'.repeat(200));
    assert(
      property(array(pieces, { maxLength: 30 }), (parts) => {
        const literal = Buffer.from(JSON.stringify(parts.join('')));
        const bytes = Buffer.concat([literal, Buffer.from(',"next"]')]);
        expect(endOfString(bytes, 1)).to.equal(literal.length - 1);
      }),
      runs(1000),
    );
  });

  for (const open of ['"', '"a', `"${'a'.repeat(100)}`, `"${'a'.repeat(60)}\\"`, '"\\']) {
    it(`reaches the end of ${open.slice(0, 10)} (${open.length}), which nothing closes`, () => {
      expect(endOfString(Buffer.from(open), 1)).to.be.at.least(open.length);
    });
  }
});

describe('excessOf', () => {
  for (const { name, json, excess } of [
    { name: 'nests too deep', json: '['.repeat(300_000), excess: 'is nested deeper than 128 levels' },
    {
      name: 'has too many containers',
      json: `[${'[],'.repeat(100_000)}[]]`,
      excess: 'has more than 100000 arrays and objects',
    },
    { name: 'has too many numbers', json: `[${'0,'.repeat(200_001)}0]`, excess: 'has more than 200000 values' },
    { name: 'has as many numbers as it may', json: `[${'0,'.repeat(200_000)}0]`, excess: undefined },
    { name: 'has too many names', json: `{${'"a":1,'.repeat(50_000)}"a":1}`, excess: 'has more than 50000 fields' },
    { name: 'is large but plain', json: JSON.stringify(['[{"a":'.repeat(100_000)]), excess: undefined },
    { name: 'is small', json: '['.repeat(1000), excess: undefined },
  ]) {
    it(`says ${excess} of what ${name}`, () => {
      expect(excessOf(Buffer.from(json))).to.equal(excess);
    });
  }
});

describe('measureJson', () => {
  for (const { name, json, values } of [
    { name: 'elements', json: '[1,[2,3],{}]', values: 6 },
    { name: 'fields', json: '{"a":1,"b":{"c":[]}}', values: 4 },
    { name: 'no text', json: JSON.stringify(',[{"a":'), values: 0 },
  ]) {
    it(`counts ${name}`, () => {
      expect(measureJson(Buffer.from(json))).to.deep.include({ values, excess: undefined });
    });
  }
});

describe('measureJson', () => {
  it('notes where the fields of the object end, and no more of them than a request has', () => {
    const json = ' {"a": [1, {"b": "}"}] , "c":",", "d": 2 } ';
    const ends = measureJson(Buffer.from(json)).fieldEnds ?? [];
    expect(ends.map((end, at) => json.slice((ends[at - 1] ?? 1) + 1, end).trim())).to.deep.equal([
      '"a": [1, {"b": "}"}]',
      '"c":","',
      '"d": 2',
    ]);
    expect(measureJson(Buffer.from(`[${'0,'.repeat(1000)}0]`)).fieldEnds).to.have.length.lessThan(100);
  });
});

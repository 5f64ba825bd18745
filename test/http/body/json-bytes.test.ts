import { expect } from 'chai';
import { array, assert, constantFrom, property } from 'fast-check';
import { endOfString } from '../../../src/http/body/json-bytes.ts';
import { runs } from '../../support/property.ts';

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

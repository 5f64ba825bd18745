import { expect } from 'chai';
import * as fc from 'fast-check';
import { isList, isObject } from '../../../src/core/json.ts';
import { createTextMeter } from '../../../src/core/reply/text-in-json.ts';
import { runs } from '../../support/property.ts';

function textIn(value: unknown): number {
  if (typeof value === 'string') return value.length;
  const inside = isObject(value) ? Object.values(value) : isList(value) ? value : [];
  return inside.reduce<number>((sum, one) => sum + textIn(one), 0);
}

describe('the text in JSON', () => {
  it('is that of its values, however it is written and wherever its bytes are cut', () => {
    fc.assert(
      fc.property(fc.jsonValue({ stringUnit: 'grapheme' }), fc.nat(), fc.boolean(), (value, cut, isAscii) => {
        const json = JSON.stringify(value, undefined, cut % 3);
        const escaped = json.replaceAll(
          /[\u0080-\uffff]/g,
          (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`,
        );
        const bytes = Buffer.from(isAscii ? escaped : json);
        const measure = createTextMeter();
        measure(bytes.subarray(0, cut % (bytes.length + 1)));
        expect(measure(bytes.subarray(cut % (bytes.length + 1)))).to.equal(textIn(value));
      }),
      runs(1000),
    );
  });

  it('is what has come of it, where it ends early', () => {
    const json = String.raw`{"choices":[{"index":0,"logprobs":[-0.5,1],"message":{"content":"a\"\u00e4:😀`;
    expect(createTextMeter()(Buffer.from(json))).to.equal('a"ä:😀'.length);
  });
});

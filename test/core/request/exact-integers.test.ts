import { expect } from 'chai';
import { array, assert, constantFrom, letrec, oneof, property, tuple } from 'fast-check';
import { withExactIntegers } from '../../../src/core/request/exact-integers.ts';
import type { CreateResponse } from '../../../src/contract/types.ts';
import { runs } from '../../support/property.ts';

const LONG = ['9007199254740993', '-18446744073709551615', '1e20', '1E+17', '12345678901234567890.0'];
const SHORT = ['1', '-7', '1.5', '1000000000', 'null', 'true', '9007199254740991'];
const TEXTS = [
  '"9007199254740993"',
  String.raw`"\\\"1e20"`,
  '""',
  '"é9007199254740999"',
  String.raw`"\u0000integer x"`,
];

/** Returns the fields of a request with this one as they are sent on. */
function fieldAfter(json: string): string {
  const body = Buffer.from(`{"model":"m","input":"Hi","field":${json}}`);
  const {
    model: _model,
    input: _input,
    ...others
  } = withExactIntegers(JSON.parse(body.toString()) as CreateResponse, body);
  return JSON.stringify(others);
}

describe('withExactIntegers', () => {
  it('keeps long integers as they are written, and all else as it is', () => {
    const { value } = letrec<{ value: string; list: string; object: string }>((tie) => ({
      value: oneof({ maxDepth: 4 }, constantFrom(...LONG, ...SHORT, ...TEXTS), tie('list'), tie('object')),
      list: array(tie('value'), { maxLength: 4 }).map((values) => `[${values.join(',')}]`),
      object: array(tuple(constantFrom('a', 'é', '9007199254740993'), tie('value')), { maxLength: 4 }).map(
        (fields) => `{${fields.map(([name, inner], index) => `"${name}${index}x":${inner}`).join(',')}}`,
      ),
    }));
    assert(
      property(value, (json) => {
        expect(fieldAfter(json)).to.equal(`{"field":${json}}`);
      }),
      runs(1000),
    );
  });

  it('takes no key __proto__ from them', () => {
    expect(fieldAfter('{"__proto__":{"a":1},"b":9007199254740993}')).to.equal('{"field":{"b":9007199254740993}}');
  });
});

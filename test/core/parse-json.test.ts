import { expect } from 'chai';
import { array, assert, constantFrom, jsonValue, nat, oneof, option, property, record, tuple } from 'fast-check';
import { ApiError } from '../../src/core/errors.ts';
import { measureJson } from '../../src/core/json-size.ts';
import { parseJson } from '../../src/core/parse-json.ts';
import { runs } from '../support/property.ts';

const AS_A_WHOLE = { values: 0, excess: undefined, list: undefined };

describe('parseJson', () => {
  it('gives the same for a body whose items are parsed one by one, whatever is wrong with it', () => {
    const item = oneof(jsonValue({ maxDepth: 2, stringUnit: 'binary' }), constantFrom('[', '\u{feff}', '\0', '网关'));
    const list = array(item, { minLength: 8, maxLength: 12 });
    const name = constantFrom('input', 'tools', '__proto__', '\u{feff}');
    const fields = array(tuple(name, oneof(item, list)), { minLength: 1, maxLength: 4 });
    const damage = record({ at: nat(), by: constantFrom('', ']', '}', ',', '"', '\\', '\u{feff}', ' ', '\xff') });
    assert(
      property(fields, option(damage), (entries, damaged) => {
        const json = entries.map(([key, value]) => `${JSON.stringify(key)} : ${JSON.stringify(value)}`).join(' , ');
        const bytes = Buffer.from(`{ ${json} }`);
        const broken = damaged === null ? bytes : damageOf(bytes, damaged);
        expect(outcomeOf(broken, measureJson(broken))).to.deep.equal(outcomeOf(broken, AS_A_WHOLE));
      }),
      runs(2000),
    );
  });
});

function damageOf(bytes: Buffer, { at, by }: { readonly at: number; readonly by: string }): Buffer {
  const place = at % bytes.length;
  const put = by === '\xff' ? Buffer.from([0xff]) : Buffer.from(by);
  return Buffer.concat([bytes.subarray(0, place), put, bytes.subarray(place + 1)]);
}

function outcomeOf(bytes: Buffer, size: Parameters<typeof parseJson>[1]): unknown {
  try {
    return { json: JSON.stringify(parseJson(bytes, size)) };
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
    return error.toBody();
  }
}

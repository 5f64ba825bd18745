import { expect } from 'chai';
import { array, assert, constant, dictionary, jsonValue, oneof, property, string } from 'fast-check';
import { encodeJson, itemEndsIn } from '../../src/core/encode-json.ts';

describe('encodeJson', () => {
  it('writes what JSON.stringify writes, in UTF-8, with long lists at the end', () => {
    // The fields whose names are numbers come first in any object.
    const name = string().map((text) => `_${text}`);
    const value = oneof(jsonValue(), string({ unit: 'binary' }), constant(undefined)).filter((inner) => !isLong(inner));
    const list = array(jsonValue({ maxDepth: 2, stringUnit: 'binary' }), { minLength: 8, maxLength: 12 });
    assert(
      property(dictionary(name, value), dictionary(name, list), (others, lists) => {
        const fields = { ...others };
        for (const named of Object.keys(lists)) Reflect.deleteProperty(fields, named);
        Object.assign(fields, lists);
        expect(encodeJson(fields).toString()).to.equal(JSON.stringify(fields));
      }),
    );
  });

  it('knows where the items of long lists end', () => {
    const lists = {
      messages: Array.from({ length: 8 }, (_, at) => ({ role: 'user', content: `“${at}”` })),
      tools: Array.from({ length: 9 }, (_, at) => at),
    };
    for (const fields of [
      lists,
      { ...lists, model: 'm', stop: ['a', 'b'] },
      { tools: lists.tools, é: lists.messages },
    ]) {
      const bytes = encodeJson(fields);
      const items = [...(itemEndsIn(bytes) ?? [])].map(([start, ends]) =>
        ends.map((end, at) => JSON.parse(bytes.toString('utf8', (ends[at - 1] ?? start) + 1, end)) as unknown),
      );
      expect(items).to.deep.equal(Object.values(fields).filter(isLong));
    }
    expect(itemEndsIn(encodeJson({ stop: ['a', 'b'] }))).to.equal(undefined);
  });

  it('writes the replacement character for half of a surrogate pair', () => {
    const messages = ['cut: \ud83d', 'whole: 😀', '', '', '', '', '', '\udc00'];
    expect(JSON.parse(encodeJson({ messages, user: '\udc00' }).toString())).to.deep.equal({
      messages: ['cut: \ufffd', 'whole: 😀', '', '', '', '', '', '\ufffd'],
      user: '\ufffd',
    });
  });

  it('keeps the digits of exact integers', () => {
    const seed = JSON.rawJSON('9007199254740993');
    const tools = Array.from({ length: 9 }, () => seed);
    expect(encodeJson({ seed, tools }).toString()).to.equal(JSON.stringify({ seed, tools }));
  });

  it('has memory of its own where it is transferred to another thread', () => {
    const bytes = encodeJson({ a: 1 }, { inOwnMemory: true });
    expect(bytes.buffer.byteLength).to.equal(bytes.length);
  });
});

function isLong(value: unknown): boolean {
  return Array.isArray(value) && value.length >= 8;
}

import { expect } from 'chai';
import { toPlainSchema } from '../../../src/core/request/plain-schema.ts';

const text = { type: 'string' };

describe('toPlainSchema', () => {
  const cases: { name: string; given: Readonly<Record<string, unknown>>; expected: object }[] = [
    {
      name: 'leaves out what only some services know',
      given: {
        $schema: 'http://json-schema.org/draft-07/schema#',
        type: 'object',
        description: 'A place.',
        properties: { city: { type: 'string', minLength: 1, examples: ['Rome'], description: 'Its city.' } },
        required: ['city'],
        additionalProperties: false,
      },
      expected: {
        type: 'object',
        description: 'A place.',
        properties: { city: { type: 'string', description: 'Its city.' } },
        required: ['city'],
      },
    },
    {
      name: 'keeps properties that are named as keywords',
      given: { type: 'object', properties: { $schema: text, anyOf: text, __proto__x: text } },
      expected: { type: 'object', properties: { $schema: text, anyOf: text, __proto__x: text } },
    },
    {
      name: 'requires only what there is',
      given: { type: 'object', properties: { a: text }, required: ['a', 'b', 1] },
      expected: { type: 'object', properties: { a: text }, required: ['a'] },
    },
    {
      name: 'takes the first type that is not null',
      given: { type: 'object', properties: { a: { type: ['null', 'integer', 'string'] } } },
      expected: { type: 'object', properties: { a: { type: 'integer' } } },
    },
    {
      name: 'takes the first alternative that is not null',
      given: {
        type: 'object',
        properties: {
          a: { anyOf: [{ type: 'null' }, { type: 'array', items: text }, text], description: 'Some.', default: null },
          b: { type: 'string', oneOf: [{ enum: ['x', 'y'] }, { enum: ['z'] }] },
        },
      },
      expected: {
        type: 'object',
        properties: {
          a: { type: 'array', description: 'Some.', items: text },
          b: { type: 'string', enum: ['x', 'y'] },
        },
      },
    },
    {
      name: 'joins the root with its first alternative',
      given: {
        type: 'object',
        properties: { a: text },
        required: ['a'],
        anyOf: [{ properties: { b: text }, required: ['b'] }, { properties: { c: text } }],
      },
      expected: { type: 'object', properties: { a: text, b: text }, required: ['a', 'b'] },
    },
    {
      name: 'joins all parts of a whole',
      given: { allOf: [{ properties: { a: text } }, { properties: { b: { const: 'x' } } }] },
      expected: { type: 'object', properties: { a: text, b: { type: 'string', enum: ['x'] } } },
    },
    {
      name: 'puts definitions in their place',
      given: {
        type: 'object',
        properties: { a: { $ref: '#/$defs/one', description: 'One.' }, b: { $ref: '#/$defs/none' } },
        $defs: { one: { type: 'object', description: 'Any.', properties: { x: { $ref: '#/$defs/two' } } }, two: text },
      },
      expected: {
        type: 'object',
        properties: { a: { type: 'object', description: 'One.', properties: { x: text } }, b: text },
      },
    },
    {
      name: 'gives a type to what has none',
      given: { properties: { a: {}, b: true, c: { type: 'array' }, d: { items: { type: 'number', enum: [1] } } } },
      expected: {
        type: 'object',
        properties: {
          a: text,
          b: text,
          c: { type: 'array', items: text },
          d: { type: 'array', items: { type: 'number' } },
        },
      },
    },
    { name: 'ends a reference to itself', given: { $ref: '#' }, expected: { type: 'object', properties: {} } },
  ];
  for (const { name, given, expected } of cases) {
    it(name, () => expect(toPlainSchema(given)).to.deep.equal(expected));
  }

  it('is plain itself', () => {
    for (const { given } of cases) {
      const schema = toPlainSchema(given);
      expect(toPlainSchema(schema)).to.deep.equal(schema);
    }
  });

  it('stays small where definitions name each other again and again', () => {
    const all = Object.fromEntries(Array.from({ length: 30 }, (_, at) => [`p${at}`, { $ref: '#' }]));
    expect(JSON.stringify(toPlainSchema({ type: 'object', properties: all })).length).to.be.below(100_000);
  });
});

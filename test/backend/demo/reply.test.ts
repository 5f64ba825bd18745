import { expect } from 'chai';
import { composeDemoReply } from '../../../src/backend/demo/reply.ts';

const user = (content: unknown): object => ({ role: 'user', content });
const WEATHER = {
  type: 'function',
  function: {
    name: 'get_weather',
    parameters: {
      type: 'object',
      properties: { city: { type: 'string' }, unit: { type: 'string', enum: ['c', 'f'] }, note: { type: 'string' } },
      required: ['city', 'unit'],
    },
  },
};
const CLOCK = { type: 'function', function: { name: 'readClock' } };

describe('composeDemoReply', () => {
  it('echoes the prompt and says that it is the demo', () => {
    const { text, finishReason } = composeDemoReply({ messages: [user('Good morning')] });

    expect(text.join('')).to.include('You said: "Good morning".').and.include('demo backend');
    expect(text.length).to.be.above(5);
    expect(finishReason).to.equal('stop');
  });

  it('reads the text out of content parts', () => {
    const parts = [
      { type: 'text', text: 'What is' },
      { type: 'image_url', image_url: { url: 'data:' } },
      { type: 'text', text: 'this?' },
    ];

    expect(composeDemoReply({ messages: [user(parts)] }).text.join('')).to.include('What is');
  });

  it('echoes no more than 200 characters', () => {
    expect(composeDemoReply({ messages: [user('x'.repeat(5000))] }).text.join('').length).to.be.below(400);
  });

  for (const field of ['max_tokens', 'max_completion_tokens']) {
    it(`stops at ${field}`, () => {
      const reply = composeDemoReply({ messages: [user('Hi')], [field]: 3 });

      expect(reply.text).to.have.length(3);
      expect(reply).to.include({ finishReason: 'length', completionTokens: 3 });
    });
  }

  it('counts the tokens that it pretends to have', () => {
    const { promptTokens, completionTokens, text } = composeDemoReply({ messages: [user('Hi')] });

    expect(promptTokens).to.be.above(0);
    expect(completionTokens).to.equal(text.length);
  });

  const calls: readonly (readonly [name: string, request: object, call: object | undefined])[] = [
    [
      'the prompt has its name in it',
      { messages: [user('Call get_weather!')], tools: [CLOCK, WEATHER] },
      { name: 'get_weather', arguments: '{"city":"Paris","unit":"c"}' },
    ],
    [
      'the prompt has a word of its name in it',
      { messages: [user('How is the Weather in Rome?')], tools: [WEATHER] },
      { name: 'get_weather', arguments: '{"city":"Rome","unit":"c"}' },
    ],
    [
      'the name is in camel case',
      { messages: [user('look at the clock')], tools: [WEATHER, CLOCK] },
      { name: 'readClock', arguments: '{}' },
    ],
    [
      'a tool is required',
      { messages: [user('Hi')], tools: [CLOCK, WEATHER], tool_choice: 'required' },
      { name: 'readClock', arguments: '{}' },
    ],
    [
      'this tool is required',
      {
        messages: [user('Hi')],
        tools: [CLOCK, WEATHER],
        tool_choice: { type: 'function', function: { name: 'get_weather' } },
      },
      { name: 'get_weather', arguments: '{"city":"Paris","unit":"c"}' },
    ],
    ['nothing asks for it', { messages: [user('Hi')], tools: [WEATHER] }, undefined],
    ['tools are forbidden', { messages: [user('weather')], tools: [WEATHER], tool_choice: 'none' }, undefined],
    ['none is offered', { messages: [user('weather')] }, undefined],
    [
      'the tool has answered',
      {
        messages: [user('weather'), { role: 'tool', tool_call_id: 'a', content: '20 degrees' }],
        tools: [WEATHER],
        tool_choice: 'required',
      },
      undefined,
    ],
  ];
  for (const [name, request, call] of calls) {
    it(`${call === undefined ? 'calls no tool' : 'calls the tool'} when ${name}`, () => {
      const reply = composeDemoReply(request as Record<string, unknown>);

      expect(reply.call).to.deep.equal(call);
      expect(reply.finishReason).to.equal(call === undefined ? 'stop' : 'tool_calls');
    });
  }

  it('says what the tool answered', () => {
    const reply = composeDemoReply({
      messages: [user('weather'), { role: 'tool', tool_call_id: 'a', content: '20 degrees' }],
    });

    expect(reply.text.join('')).to.include('20 degrees');
  });

  const schemas: readonly (readonly [name: string, schema: unknown, value: unknown])[] = [
    [
      'required properties alone',
      { type: 'object', properties: { a: { type: 'integer' }, b: {} }, required: ['a'] },
      { a: 1 },
    ],
    [
      'every type',
      {
        type: 'object',
        properties: {
          n: { type: 'number', minimum: 3 },
          b: { type: 'boolean' },
          l: { type: 'array', items: { type: 'integer' } },
          z: { type: 'null' },
        },
        required: ['n', 'b', 'l', 'z'],
      },
      { n: 3, b: true, l: [1], z: null },
    ],
    [
      'constants, defaults and enums',
      {
        type: 'object',
        properties: { c: { const: 5 }, d: { default: 'x' }, e: { enum: ['y', 'z'] } },
        required: ['c', 'd', 'e'],
      },
      { c: 5, d: 'x', e: 'y' },
    ],
    [
      'a type that may be null',
      { type: 'object', properties: { a: { type: ['integer', 'null'] } }, required: ['a'] },
      { a: 1 },
    ],
    [
      'a choice',
      { anyOf: [{ type: 'object', properties: { a: { type: 'boolean' } }, required: ['a'] }, { type: 'null' }] },
      { a: true },
    ],
    [
      'a reference',
      {
        $ref: '#/$defs/Point',
        $defs: { Point: { type: 'object', properties: { x: { type: 'number' } }, required: ['x'] } },
      },
      { x: 1 },
    ],
    ['a property without a schema', { type: 'object', required: ['a'] }, { a: null }],
    ['no schema', undefined, {}],
  ];
  for (const [name, schema, value] of schemas) {
    it(`makes a value that fits ${name}`, () => {
      const reply = composeDemoReply({
        messages: [user('Hi')],
        response_format: { type: 'json_schema', json_schema: { name: 'x', schema } },
      });

      expect(JSON.parse(reply.text.join(''))).to.deep.equal(value);
    });
  }

  it('ends with a schema that refers to itself', () => {
    const schema = {
      $ref: '#/$defs/Node',
      $defs: { Node: { type: 'object', properties: { next: { $ref: '#/$defs/Node' } }, required: ['next'] } },
    };

    const reply = composeDemoReply({
      messages: [user('Hi')],
      response_format: { type: 'json_schema', json_schema: { schema } },
    });

    expect(JSON.parse(reply.text.join(''))).to.be.an('object');
  });

  it('answers in JSON where only that is asked for', () => {
    const reply = composeDemoReply({ messages: [user('Hi')], response_format: { type: 'json_object' } });

    expect(JSON.parse(reply.text.join(''))).to.be.an('object');
  });

  for (const request of [
    {},
    { messages: 'x' },
    { messages: [null, 1] },
    { messages: [{}], tools: [{}, null, 'x'], tool_choice: 'required' },
    { messages: [user(null)], max_tokens: 'x', response_format: 7 },
  ]) {
    it(`bears ${JSON.stringify(request)}`, () => {
      expect(composeDemoReply(request)).to.have.property('finishReason');
    });
  }
});

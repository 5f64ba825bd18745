import { expect } from 'chai';
import * as fc from 'fast-check';
import type { InputItem, ResponseEvent } from '../../src/contract/types.ts';
import { DIALECTS } from '../../src/core/dialects.ts';
import { createPairReader, toWellFormedJson } from '../../src/core/well-formed.ts';
import { toChatRequest } from '../../src/core/request/request.ts';
import { chunkOf, openMachine, PLAIN_REQUEST } from '../support/machine.ts';
import { runs } from '../support/property.ts';
import { expectWellFormed } from '../support/well-formed.ts';

describe('toWellFormedJson', () => {
  const cases = [
    { name: 'a cut pair', json: JSON.stringify({ a: 'x\ud83d' }), expected: '{"a":"x\ufffd"}' },
    { name: 'a cut pair in a name', json: JSON.stringify({ 'a\ude00': 1 }), expected: '{"a\ufffd":1}' },
    { name: 'halves in the wrong order', json: String.raw`"\uDE00\uD83D"`, expected: '"\ufffd\ufffd"' },
    {
      name: 'two first halves and a second',
      json: String.raw`"\ud83d\ud83d\ude00"`,
      expected: '"\ufffd\\ud83d\\ude00"',
    },
    { name: 'a pair in escapes', json: String.raw`"\ud83d\ude00"`, expected: String.raw`"\ud83d\ude00"` },
    { name: 'a backslash before such letters', json: String.raw`"\\ud83d"`, expected: String.raw`"\\ud83d"` },
    {
      name: 'other escapes',
      json: String.raw`"\ud7ff\n\u00e9\ud83d"`,
      expected: String.raw`"\ud7ff\n\u00e9` + '\ufffd"',
    },
  ];
  for (const { name, json, expected } of cases) {
    it(`repairs ${name}`, () => {
      expect(toWellFormedJson(json)).to.equal(expected);
    });
  }

  it('gives each text as it is, but for halves of pairs', () => {
    const text = fc
      .array(fc.constantFrom('\ud83d', '\ude00', '\\', 'u', 'd83d', '"', '\n', 'é'))
      .map((list) => list.join(''));
    fc.assert(
      fc.property(text, (given) => {
        expect(JSON.parse(toWellFormedJson(JSON.stringify(given)))).to.equal(given.toWellFormed());
      }),
      runs(500),
    );
  });
});

describe('createPairReader', () => {
  it('gives the whole text, well-formed at each moment', () => {
    const pieces = fc.array(fc.constantFrom('\ud83d', '\ude00', '😀', 'a', ''));
    fc.assert(
      fc.property(pieces, (given) => {
        const reader = createPairReader();
        const passedOn = [...given.map((piece) => reader.feed(piece)), reader.end()];
        expect(passedOn.every((piece) => piece.isWellFormed())).to.equal(true);
        expect(passedOn.join('')).to.equal(given.join('').toWellFormed());
      }),
      runs(500),
    );
  });
});

describe('a pair that a backend cuts', () => {
  const call = (given: string) =>
    chunkOf({ tool_calls: [{ index: 0, id: 'a', function: { name: 'look', arguments: given } }] });
  const patch = { type: 'custom', name: 'look' } as const;
  const kinds = [
    { name: 'text', request: {}, chunk: (content: string) => chunkOf({ content }) },
    { name: 'a refusal', request: {}, chunk: (refusal: string) => chunkOf({ refusal }) },
    { name: 'reasoning', request: {}, chunk: (reasoning: string) => chunkOf({ reasoning }) },
    { name: 'arguments', request: {}, chunk: call },
    { name: 'the input of a custom tool', request: { tools: [patch] }, chunk: call },
  ];
  for (const { name, request, chunk } of kinds) {
    for (const { end, rest } of [
      { end: 'a\ude00b', rest: 'a\ufffdb' },
      { end: '\ude00', rest: '😀' },
      { end: '', rest: '\ufffd' },
    ]) {
      it(`makes no lone half in a delta of ${name}, which goes on with ${JSON.stringify(end)}`, () => {
        const machine = openMachine({ ...PLAIN_REQUEST, ...request });
        const events: ResponseEvent[] = [...machine.start()];
        const isCustom = 'tools' in request;
        for (const piece of [isCustom ? '{"input":"x' : 'x', '\ud83d', end])
          events.push(...machine.feed([chunk(piece)]));
        events.push(...machine.feed([chunkOf({}, 'length')]), ...machine.end(true));
        const deltas = events.flatMap((event) => ('delta' in event ? [event.delta] : []));
        expect(deltas.every((delta) => delta.isWellFormed() && delta !== '')).to.equal(true);
        expect(deltas.join('')).to.equal(`x${end === 'a\ude00b' ? '\ufffd' : ''}${rest}`);
        expectWellFormed(events);
      });
    }
  }

  it('keeps the log probabilities for the delta with the whole pair', () => {
    const machine = openMachine({ ...PLAIN_REQUEST, top_logprobs: 1 });
    const events: ResponseEvent[] = [...machine.start()];
    for (const content of ['\ud83d', '\ude00']) {
      const logprobs = { content: [{ token: content, logprob: -1, bytes: [], top_logprobs: [] }] };
      events.push(...machine.feed([{ choices: [{ index: 0, delta: { content }, logprobs }] }]));
    }
    const tokens = events.flatMap((event) =>
      event.type === 'response.output_text.delta' ? [event.logprobs.map(({ token }) => token)] : [],
    );
    expect(tokens).to.deep.equal([['\ufffd']]);
  });
});

describe('arguments of earlier calls', () => {
  function argumentsOf(item: InputItem): string | undefined {
    const { messages } = toChatRequest(
      { model: 'm', input: [item] },
      { dialect: DIALECTS.generic, upstreamDialect: 'generic', modelAliases: new Map(), hostedTools: 'drop' },
    ).chat;
    const [message] = messages;
    return message?.role === 'assistant' ? message.tool_calls?.[0]?.function.arguments : undefined;
  }

  it('have no lone half in an escape, which a template would refuse', () => {
    expect(
      argumentsOf({ type: 'function_call', call_id: 'a', name: 'f', arguments: String.raw`{ "x": "\ud83d" }` }),
    ).to.equal('{ "x": "\ufffd" }');
  });

  for (const { given, expected } of [
    { given: ' ', expected: '{"unreadable_arguments":" "}' },
    { given: [0, 1], expected: '{"unreadable_arguments":"[0,1]"}' },
    { given: false, expected: '{"unreadable_arguments":"false"}' },
    { given: '{"a":1}{"b":2}', expected: String.raw`{"unreadable_arguments":"{\"a\":1}{\"b\":2}"}` },
    { given: { query: 'x' }, expected: '{"query":"x"}' },
  ]) {
    it(`are an object in JSON, also where a search of tools had ${JSON.stringify(given)}`, () => {
      expect(argumentsOf({ type: 'tool_search_call', call_id: 'a', execution: 'client', arguments: given })).to.equal(
        expected,
      );
    });
  }
});

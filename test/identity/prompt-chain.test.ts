import { expect } from 'chai';
import { assert, boolean, constantFrom, property, record } from 'fast-check';
import { serialize } from 'node:v8';
import { encodeJson, itemEndsIn } from '../../src/core/encode-json.ts';
import { measureJson } from '../../src/core/json-size.ts';
import { runs } from '../support/property.ts';
import { readClient, readPrompt, createPromptKeys, type PromptChain } from '../../src/identity/prompt-chain.ts';

const KEY = keyOf();
const MESSAGES = Array.from({ length: 400 }, (_, at) => ({
  role: at % 2 === 0 ? 'user' : 'assistant',
  content: `Canary ${at}`,
}));

function keyOf({ secret = 'a secret', caller = 'a caller', conversation = new Uint8Array([0]) } = {}) {
  return createPromptKeys(secret)(caller, conversation);
}

function read(messages: readonly object[], { key = KEY, before = [] as readonly PromptChain[], space = 0 } = {}) {
  const body = { model: 'm', messages, tools: [{ type: 'function', function: { name: 'canary' } }] };
  return readPrompt(Buffer.from(JSON.stringify(body, null, space)), { key, before });
}

describe('the chain of a prompt', () => {
  it('holds no word of the prompt, and takes less than a kilobyte however long that is', () => {
    const bytes = serialize(read(MESSAGES).chain);
    expect(bytes.toString('latin1').toLowerCase()).not.to.contain('canary');
    expect(bytes.length).to.be.lessThan(1024);
  });

  it('differs with the secret, the caller and the conversation, so that nobody can try out prompts', () => {
    const keys = [
      KEY,
      keyOf({ secret: 'another secret' }),
      keyOf({ caller: 'another caller' }),
      keyOf({ conversation: new Uint8Array([1]) }),
    ];
    const chains = keys.map((key) => read(MESSAGES, { key }).chain);
    for (const part of ['tools', 'messages', 'opening', 'tags'] as const)
      expect(new Set(chains.map((chain) => chain[part])).size, part).to.equal(keys.length);
  });

  for (const space of [0, 2]) {
    it(`is made of a chain and what is new as it is of the whole, in JSON with ${space} spaces`, () => {
      for (const known of [1, 2, 199, 200, 201, 399]) {
        const before = [read(MESSAGES.slice(0, known), { space }).chain];
        const { chain, index, difference } = read(MESSAGES, { before, space });
        expect({ chain, index, difference }).to.deep.equal({
          ...read(MESSAGES, { space }),
          index: 0,
          difference: undefined,
        });
      }
    });
  }

  it('reads anything, also what is no JSON', () => {
    for (const text of [
      '',
      '{',
      '[]',
      '{"messages":',
      '{"messages":[',
      '{"messages":[{}',
      '{"messages":"text"}',
      'null',
    ]) {
      const { index } = readPrompt(Buffer.from(text), { key: KEY, before: [read(MESSAGES).chain] });
      expect(index, text).to.equal(-1);
    }
  });

  it('is the same where it is known where the messages and the tools end', () => {
    const tools = Array.from({ length: 10 }, (_, at) => ({ type: 'function', function: { name: `canary_${at}` } }));
    for (const known of [0, 3, 8, 199, 201, 399, 400]) {
      const earlier = encodeJson({ model: 'm', messages: MESSAGES.slice(0, known), tools: tools.slice(known % 2) });
      const before = [readPrompt(earlier, { key: KEY, before: [], itemEnds: itemEndsIn(earlier) }).chain];
      const bytes = encodeJson({
        model: 'm',
        messages: MESSAGES.with(250, { role: 'user', content: 'Edited' }),
        tools,
      });
      const read = readPrompt(bytes, { key: KEY, before, itemEnds: itemEndsIn(bytes) });
      expect(read, `with ${known}`).to.deep.equal(readPrompt(bytes, { key: KEY, before }));
      expect(read.index, `with ${known}`).to.equal(0);
    }
  });
});

describe('what stands around a list', () => {
  /** Bodies that differ in few places, whatever stands before the list or behind it. */
  const BODIES = record({
    model: constantFrom('m', 'n'),
    tools: constantFrom(undefined, [], [{ type: 'function' }], [{ type: 'function' }, { type: 'custom' }]),
    areToolsFirst: boolean(),
    list: constantFrom(MESSAGES.slice(0, 2), MESSAGES.slice(0, 4), MESSAGES.slice(1, 4), [], 'no list'),
    metadata: constantFrom(undefined, {}, { turn: 'another' }),
    space: constantFrom(0, 2),
  }).map(({ model, tools, areToolsFirst, list, metadata, space }) => (name: string) => {
    const body = areToolsFirst ? { model, tools, [name]: list, metadata } : { model, [name]: list, metadata, tools };
    return Buffer.from(JSON.stringify(body, null, space));
  });

  it('spares reading what is the same, and changes nothing in what is found', () => {
    assert(
      property(BODIES, BODIES, (earlier, later) => {
        const { chain } = readPrompt(earlier('messages'), { key: KEY, before: [] });
        const readAfter = (before: PromptChain) => readPrompt(later('messages'), { key: KEY, before: [before] });
        expect(readAfter(chain)).to.deep.equal(readAfter({ ...chain, headLength: 0 }));

        const { prompt } = readClient(earlier('input'), { key: KEY, before: undefined });
        const readClientAfter = (before: typeof prompt) => readClient(later('input'), { key: KEY, before });
        expect(readClientAfter(prompt)).to.deep.equal(readClientAfter({ ...prompt, headLength: 0 }));
      }),
      runs(2000),
    );
  });
});

describe('what is known of the request of a client', () => {
  const FIRST = { model: 'm', input: MESSAGES.slice(0, 3), tools: [{ name: 'canary' }], metadata: { turn: 'one' } };
  const SECOND = { ...FIRST, input: MESSAGES.slice(0, 5), metadata: { turn: 'another' } };

  function readOf(body: object, before?: ReturnType<typeof readClient>, space = 0) {
    const bytes = Buffer.from(JSON.stringify(body, null, space));
    const read = readClient(bytes, { key: KEY, before: before?.prompt });
    const { fieldEnds } = measureJson(bytes);
    expect(readClient(bytes, { key: KEY, before: before?.prompt, fieldEnds })).to.deep.equal(read);
    return read;
  }

  for (const space of [0, 2]) {
    const first = readOf(FIRST, undefined, space);

    it(`is the same input with more behind it, in JSON with ${space} spaces`, () => {
      const second = readOf(SECOND, first, space);
      expect(second.hasSameInput).to.equal(true);
      expect(second.prompt.others).to.equal(first.prompt.others);
      expect(second.prompt).to.deep.equal(readOf(SECOND, undefined, space).prompt);
    });

    it(`is another input where an item was edited or is gone, in JSON with ${space} spaces`, () => {
      for (const input of [
        SECOND.input.with(1, { role: 'user', content: 'Edited' }),
        FIRST.input.slice(1),
        [],
        'Hello',
      ]) {
        const read = readOf({ ...SECOND, input }, first, space);
        expect(read.hasSameInput).to.equal(false);
        expect(read.prompt).to.deep.equal(readOf({ ...SECOND, input }, undefined, space).prompt);
      }
    });
  }

  it('is another request where a field has changed that the prompt may depend on', () => {
    const { others } = readOf(FIRST).prompt;
    for (const change of [{ tools: [] }, { model: 'n' }, { instructions: 'It is noon.' }])
      expect(readOf({ ...FIRST, ...change }).prompt.others).to.not.equal(others);
  });

  it('holds no word of the request', () => {
    expect(serialize(readOf(SECOND).prompt).toString('latin1').toLowerCase()).not.to.contain('canary');
  });
});

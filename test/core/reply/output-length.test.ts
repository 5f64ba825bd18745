import { expect } from 'chai';
import { createChatMeter } from '../../../src/core/reply/chat-meter.ts';
import { outputLengthOf } from '../../../src/core/reply/output-length.ts';
import { chunkOf, openMachine } from '../../support/machine.ts';

const IMAGE = 5 * 1024;
const call = (called: object) => ({ tool_calls: [{ index: 0, id: 'call_1', ...called }] });

const cases: readonly { readonly name: string; readonly delta: object; readonly length: number }[] = [
  { name: 'nothing', delta: {}, length: 0 },
  {
    name: 'nobody but who speaks',
    delta: { role: 'assistant', content: '', refusal: null, tool_calls: [] },
    length: 0,
  },
  { name: 'words', delta: { role: 'assistant', content: '12345' }, length: 5 },
  { name: 'a refusal', delta: { refusal: '123' }, length: 3 },
  { name: 'parts', delta: { content: [{ type: 'text', text: '123' }] }, length: 3 },
  {
    name: 'a part that thinks',
    delta: { content: [{ type: 'thinking', thinking: [{ type: 'text', text: '123' }] }] },
    length: 3,
  },
  { name: 'one thought in two fields', delta: { reasoning: '123', reasoning_content: '123' }, length: 3 },
  {
    name: 'one thought in a field and in details',
    delta: { reasoning: '123', reasoning_details: [{ type: 'reasoning.text', text: '123', format: 'f', index: 0 }] },
    length: 3,
  },
  {
    name: 'details of a thought alone',
    delta: { reasoning_details: [{ type: 'reasoning.text', text: '123' }] },
    length: 3,
  },
  {
    name: 'a thought in blocks, with its signature',
    delta: { thinking_blocks: [{ type: 'thinking', thinking: '123', signature: 'abcdef' }] },
    length: 3,
  },
  {
    name: 'a sealed thought of LiteLLM',
    delta: {
      content: '12',
      reasoning_items: [{ type: 'reasoning', id: 'rs_1', encrypted_content: 'abc', summary: [] }],
    },
    length: 2,
  },
  { name: 'a thought of Copilot', delta: { reasoning_text: '123', reasoning_opaque: 'abc' }, length: 3 },
  { name: 'a sealed thought', delta: { reasoning_details: [{ type: 'reasoning.encrypted', data: 'abc' }] }, length: 0 },
  { name: 'a call', delta: call({ type: 'function', function: { name: 'look', arguments: '{}' } }), length: 6 },
  {
    name: 'a call whose arguments are no string',
    delta: call({ function: { arguments: { id: 1, role: 'a' } } }),
    length: '{"id":1,"role":"a"}'.length,
  },
  { name: 'an old call', delta: { function_call: { name: 'look', arguments: '{}' } }, length: 6 },
  { name: 'the input of a custom tool', delta: call({ type: 'custom', custom: { input: '12345' } }), length: 5 },
  {
    name: 'two images',
    delta: {
      images: [1, 2].map((index) => ({ index, image_url: { url: `data:image/png;base64,${'A'.repeat(99)}` } })),
    },
    length: 2 * IMAGE,
  },
  { name: 'an image without a place', delta: { images: [{ image_url: { url: '' } }] }, length: 0 },
  { name: 'speech', delta: { audio: { id: 'audio_1', data: 'AAAA', transcript: '12345', expires_at: 1 } }, length: 5 },
  { name: 'what no one has heard of', delta: { poem: { lines: ['123', { of: '45' }] } }, length: 5 },
  {
    name: 'what the model did not write',
    delta: {
      annotations: [{ url_citation: { title: 'abc' } }],
      extra_content: { google: { thought_signature: 'abc' } },
    },
    length: 0,
  },
];

describe('the length of output', () => {
  for (const { name, delta, length } of cases) {
    it(`is ${length} for a delta with ${name}, to the translator and the meter too`, () => {
      expect(outputLengthOf({ ...delta })).to.equal(length);
      const machine = openMachine();
      machine.start();
      machine.feed([chunkOf(delta)]);
      expect(machine.outputLength).to.equal(length);
      const meter = createChatMeter(1);
      meter.feed(chunkOf(delta));
      expect(meter).to.include({ outputLength: length, hasOutput: length > 0 });
    });
  }

  it('does not fail for what is nested deeper than the stack allows', () => {
    let deep: object = {};
    for (let depth = 0; depth < 20_000; depth++) deep = { deep: [deep] };
    expect(outputLengthOf({ poem: deep, tool_calls: [{ function: { name: 'look', arguments: deep } }] })).to.equal(4);
  });
});

import { expect } from 'chai';
import { chunkFromCompletion } from '../../../src/core/reply/completion.ts';

describe('chunkFromCompletion', () => {
  it('turns the message of each choice into a delta, and keeps all else', () => {
    const completion = {
      id: 'chatcmpl-1',
      object: 'chat.completion',
      created: 5,
      choices: [
        { index: 0, message: { role: 'assistant', content: 'Hi' }, logprobs: { content: [] }, finish_reason: 'stop' },
        { index: 1, message: { role: 'assistant', content: 'Ho' }, finish_reason: 'length' },
      ],
      usage: { prompt_tokens: 1, completion_tokens: 2, total_tokens: 3 },
      citations: ['https://example.com'],
    };

    expect(chunkFromCompletion(completion)).to.deep.equal({
      ...completion,
      choices: [
        { index: 0, delta: { role: 'assistant', content: 'Hi' }, logprobs: { content: [] }, finish_reason: 'stop' },
        { index: 1, delta: { role: 'assistant', content: 'Ho' }, finish_reason: 'length' },
      ],
    });
  });

  it('gives tool calls the index of their position, except to those that have one', () => {
    const calls = [{ id: 'a' }, { id: 'b', index: null }, { id: 'c', index: 7 }, 'odd'];

    const chunk = chunkFromCompletion({ choices: [{ message: { content: null, tool_calls: calls } }] });

    expect(chunk).to.deep.equal({
      choices: [
        {
          delta: {
            content: null,
            tool_calls: [{ id: 'a', index: 0 }, { id: 'b', index: 1 }, { id: 'c', index: 7 }, 'odd'],
          },
        },
      ],
    });
  });

  for (const [name, completion] of [
    ['no choices', { id: 'x' }],
    ['choices of another type', { choices: 'none' }],
    ['a choice without a message', { choices: [{ index: 0, text: 'legacy' }, null] }],
    ['a message of another type', { choices: [{ message: 'hi' }] }],
  ] as const) {
    it(`leaves as it is what has ${name}`, () => {
      expect(chunkFromCompletion(completion)).to.deep.equal(completion);
    });
  }
});

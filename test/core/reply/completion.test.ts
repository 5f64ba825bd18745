import { expect } from 'chai';
import { array, assert, constantFrom, dictionary, jsonValue, nat, oneof, property, tuple } from 'fast-check';
import { chunkFromCompletion, chunkFromUnparsed } from '../../../src/core/reply/completion.ts';
import { runs } from '../../support/property.ts';

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

describe('chunkFromUnparsed', () => {
  const named = (names: readonly string[]) => dictionary(constantFrom(...names), jsonValue({ maxDepth: 3 }));
  const completions = tuple(
    named(['id', 'usage', 'model', 'other"', 'choices\\']),
    oneof(
      jsonValue({ maxDepth: 2 }),
      array(oneof(named(['index', 'finish_reason', 'usage', 'message', 'choices']), jsonValue({ maxDepth: 2 }))),
    ),
    constantFrom('', ' ', '\t'),
  );

  it('finds the same as a parser would', () => {
    assert(
      property(completions, ([fields, choices, indent]) => {
        const text = JSON.stringify({ ...fields, choices, last: 1 }, null, indent);
        const found = chunkFromUnparsed(Buffer.from(text));
        expect(found).to.deep.equal(expectedOf(JSON.parse(text) as Record<string, unknown>), text);
      }),
      runs(1000),
    );
  });

  it('ends with bytes that are cut off or no JSON', () => {
    assert(
      property(completions, nat(), ([fields, choices, indent], length) => {
        const text = JSON.stringify({ ...fields, choices }, null, indent);
        chunkFromUnparsed(Buffer.from(text.slice(0, length % text.length)));
        chunkFromUnparsed(Buffer.from(text.replaceAll(/[:,]/g, ' ')));
        chunkFromUnparsed(Buffer.from(text.replaceAll('"', '')));
      }),
      runs(300),
    );
  });

  it('reads the usage behind more choices than it looks at', () => {
    const choices = Array.from({ length: 2000 }, (_, index) => ({ index }));
    const found = chunkFromUnparsed(Buffer.from(JSON.stringify({ choices, usage: { prompt_tokens: 1 } })));
    expect(found).to.deep.equal({ choices: choices.slice(0, 1024), usage: { prompt_tokens: 1 } });
  });

  function expectedOf(completion: Record<string, unknown>): object {
    const { choices, usage, model } = completion;
    const items: readonly unknown[] = Array.isArray(choices) ? choices : [];
    return {
      ...('usage' in completion && { usage }),
      ...('model' in completion && { model }),
      choices: items
        .filter((choice): choice is object => typeof choice === 'object' && choice !== null && !Array.isArray(choice))
        .map((choice) =>
          Object.fromEntries(
            Object.entries(choice).filter(([name]) => ['index', 'finish_reason', 'usage'].includes(name)),
          ),
        ),
    };
  }
});

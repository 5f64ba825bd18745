import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { expect } from 'chai';
import { assert, property, string } from 'fast-check';
import { learnRepeatedChunk, type RepeatedChunk } from '../../src/backend/repeated-chunk.ts';
import type { ChatChunk } from '../../src/core/chat.ts';
import { loadFixtures } from '../support/fixtures.ts';
import { translate, type Answer } from '../support/machine.ts';
import { casesOf } from '../support/property.ts';
import { readAnswer, readAnswerAsIs } from '../support/read-answer.ts';
import { loadRecordings } from '../support/recordings.ts';

const VLLM = {
  id: 'chatcmpl-1',
  object: 'chat.completion.chunk',
  model: 'm',
  choices: [{ index: 0, delta: { content: 'Hello' }, logprobs: null, finish_reason: null }],
};

function withDelta(delta: object, chunk: object = {}): ChatChunk {
  return { ...VLLM, ...chunk, choices: [{ ...VLLM.choices[0], delta }] };
}

function learn(chunk: ChatChunk, data = JSON.stringify(chunk)): RepeatedChunk | undefined {
  return learnRepeatedChunk(data, chunk);
}

function eventOf(chunk: ChatChunk): string {
  return `data: ${JSON.stringify(chunk)}\n\n`;
}

describe('a repeated chunk', () => {
  const kinds: readonly { name: string; toDelta: (words: string) => object }[] = [
    { name: 'text', toDelta: (content) => ({ content }) },
    { name: 'text with the role in every chunk', toDelta: (content) => ({ role: 'assistant', content }) },
    { name: 'reasoning_content', toDelta: (words) => ({ content: null, reasoning_content: words }) },
    { name: 'reasoning', toDelta: (words) => ({ content: '', reasoning: words }) },
  ];
  for (const { name, toDelta } of kinds) {
    it(`is known by all but its words: ${name}`, () => {
      const repeated = learn(withDelta(toDelta('Hello')));
      assert(
        property(string({ unit: 'binary' }), string(), string(), (words, before, after) => {
          const event = eventOf(withDelta(toDelta(words)));
          const end = before.length + event.length;
          expect(repeated?.match(before + event + after, before.length)).to.deep.equal({ words, end });
        }),
      );
    });
  }

  it('is known when the backend puts a space behind its colons', () => {
    const data = '{"choices": [{"index": 0, "delta": {"content": "Hello"}}]}';
    const repeated = learn(JSON.parse(data) as ChatChunk, data);
    expect(repeated?.match(`data: ${data.replace('Hello', 'a\\n\\u00e9')}\n\n`, 0)?.words).to.equal('a\né');
  });

  it('is known when its words look like a chunk', () => {
    const words = JSON.stringify({ content: 'x', choices: [{ delta: { content: 'y' } }] });
    const repeated = learn(withDelta({ content: words }));
    expect(repeated?.match(eventOf(withDelta({ content: 'z' })), 0)?.words).to.equal('z');
  });

  const more: readonly { name: string; chunk: ChatChunk }[] = [
    { name: 'no words', chunk: withDelta({ role: 'assistant', content: '' }) },
    { name: 'words of two kinds', chunk: withDelta({ content: 'a', reasoning_content: 'b' }) },
    { name: 'a finish reason', chunk: { choices: [{ delta: { content: 'a' }, finish_reason: 'stop' }] } },
    { name: 'usage', chunk: withDelta({ content: 'a' }, { usage: { prompt_tokens: 1, completion_tokens: 1 } }) },
    { name: 'sources', chunk: withDelta({ content: 'a' }, { citations: ['https://example.com'] }) },
    { name: 'a citation', chunk: withDelta({ content: 'a', annotations: [{ url: 'https://example.com' }] }) },
    {
      name: 'a call',
      chunk: withDelta({ content: 'a', tool_calls: [{ index: 0, id: 'c', function: { name: 'f', arguments: '{}' } }] }),
    },
    {
      name: 'log probabilities',
      chunk: { choices: [{ delta: { content: 'a' }, logprobs: { content: [{ token: 'a', logprob: -1 }] } }] },
    },
    {
      name: 'a second choice',
      chunk: {
        choices: [
          { index: 0, delta: { content: 'a' } },
          { index: 1, delta: {} },
        ],
      },
    },
    { name: 'what is attached to the message', chunk: withDelta({ content: 'a', extra_content: { google: {} } }) },
    { name: 'words that are a list of parts', chunk: withDelta({ content: [{ type: 'text', text: 'a' }] }) },
  ];
  for (const { name, chunk } of more) {
    it(`is not learnt from a chunk with ${name}`, () => {
      expect(learn(chunk)).to.equal(undefined);
    });
  }

  const beside = (count: number): ChatChunk =>
    withDelta({ content: 'Hello' }, { echo: Array.from({ length: count }, () => ({ content: 'Hello' })) });
  // Written before the choices, as a field that a backend adds beside them.
  const besideFirst = (count: number): string => {
    const { choices, ...others } = beside(count);
    return JSON.stringify({ ...others, choices });
  };

  it('is learnt when its words stand at the fourth place where words could stand', () => {
    const data = besideFirst(3);
    const repeated = learn(beside(3), data);
    expect(repeated?.match(`data: ${data.replace(/Hello(?!.*Hello)/, 'you')}\n\n`, 0)?.words).to.equal('you');
  });

  it('is not looked for at a fifth place', () => {
    expect(learn(beside(4), besideFirst(4))).to.equal(undefined);
  });

  const padded = (length: number): ChatChunk => {
    const chunk = withDelta({ content: 'Hello' }, { padding: '' });
    return { ...chunk, padding: 'x'.repeat(length - JSON.stringify(chunk).length) };
  };

  it('is learnt from an event of 4,096 characters', () => {
    expect(learn(padded(4096))?.match(eventOf(padded(4096)), 0)?.words).to.equal('Hello');
  });

  it('is not learnt from a longer event', () => {
    expect(learn(padded(4097))).to.equal(undefined);
  });

  const others: readonly { name: string; text: string }[] = [
    { name: 'another id', text: eventOf({ ...VLLM, id: 'chatcmpl-2' }) },
    { name: 'a finish reason', text: eventOf(VLLM).replace('"finish_reason":null', '"finish_reason":"stop"') },
    { name: 'a number in place of the words', text: eventOf(VLLM).replace('"Hello"', '12345') },
    { name: 'a line break in the words', text: eventOf(VLLM).replace('Hello', 'Hel\nlo') },
    { name: 'a broken escape in the words', text: eventOf(VLLM).replace('Hello', '\\x') },
    { name: 'words without an end', text: eventOf(VLLM).replace(/Hello"(.*)/, 'Hello') },
    { name: 'a rest that has not come yet', text: eventOf(VLLM).slice(0, -1) },
    { name: 'an event name', text: `event: error\n${eventOf(VLLM)}` },
    { name: 'more fields', text: eventOf(VLLM).replace('}\n\n', ',"usage":{"prompt_tokens":1}}\n\n') },
  ];
  for (const { name, text } of others) {
    it(`is not an event with ${name}`, () => {
      expect(learn(VLLM)?.match(text, 0)).to.equal(undefined);
    });
  }

  it('begins at the place that is asked for, and nowhere else', () => {
    expect(learn(VLLM)?.match(` ${eventOf(VLLM)}`, 0)).to.equal(undefined);
  });

  for (const length of [1, 11, 12, 13, 40]) {
    it(`keeps nothing of its text but its words: ${length} characters`, () => {
      const repeated = learn(VLLM);
      const collect = collector();
      const kept: (string | undefined)[] = [];
      collect();
      const before = process.memoryUsage().heapUsed;
      for (let number = 0; number < 200; number++) {
        const words = String(number).padStart(length, 'x').slice(-length);
        // Made from bytes, as what comes from a socket: a text of its own and not a place in another one.
        const text = Buffer.from(eventOf(withDelta({ content: words })) + ' '.repeat(200_000)).toString();
        kept.push(repeated?.match(text, 0)?.words);
      }
      collect();
      expect(process.memoryUsage().heapUsed - before).to.be.below(20_000_000);
      expect(kept).to.have.length(200).and.not.to.include(undefined);
    });
  }

  const answers: readonly { name: string; body: Uint8Array; asIs: Answer }[] = [
    ...loadFixtures().map(({ name, sse }) => ({ name, body: sse })),
    ...loadRecordings()
      .filter(({ contentType }) => contentType === 'text/event-stream')
      .map(({ name, body }) => ({ name, body })),
  ].map((answer) => ({ ...answer, asIs: readAnswerAsIs(answer.body) }));

  it(`stands in ${casesOf(answers).length} answers for what the backend sent`, () => {
    for (const { name, body, asIs } of casesOf(answers)) {
      // Byte by byte no event is ever there as a whole, so none is compared with the one before it.
      const spelledOut = readAnswer(body, body.keys());
      expect(JSON.stringify(translate(asIs)), name).to.equal(JSON.stringify(translate(spelledOut)));
    }
    const repeated = answers.flatMap(({ asIs }) => asIs.chunks).filter((chunk) => typeof chunk === 'string').length;
    // In our own fixtures alone, which are short; in recordings there are thousands.
    expect(repeated).to.be.above(10);
  });
});

/** Collects all garbage there is. */
function collector(): () => void {
  setFlagsFromString('--expose-gc');
  const collect: unknown = runInNewContext('gc');
  if (typeof collect !== 'function') throw new Error('there is no garbage collector to call');
  return () => void Reflect.apply(collect, undefined, []);
}

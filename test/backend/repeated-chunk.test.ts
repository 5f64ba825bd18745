import { expect } from 'chai';
import { assert, nat, property, string } from 'fast-check';
import { createRepeatedChunks, type FoundEvent } from '../../src/backend/repeated-chunk.ts';
import type { ChatChunk } from '../../src/core/chat.ts';
import { loadFixtures } from '../support/fixtures.ts';
import { collectGarbage } from '../support/garbage.ts';
import { casesOf, runs } from '../support/property.ts';
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

function eventOf(chunk: ChatChunk): string {
  return `data: ${JSON.stringify(chunk)}\n\n`;
}

/** Has read one event, and finds the next one. */
function finderAfter(chunk: ChatChunk, data = JSON.stringify(chunk)): (text: string, at?: number) => FoundEvent {
  const repeated = createRepeatedChunks();
  const event = `data: ${data}\n\n`;
  expect(repeated.next(event, 0)).to.deep.equal({ end: event.length });
  repeated.learn(data, chunk);
  return (text, at = 0) => repeated.next(text, at);
}

/** Has read two events of one form. */
function finderAfterTwo(
  first: ChatChunk,
  second: ChatChunk,
  firstData = JSON.stringify(first),
  secondData = JSON.stringify(second),
): (text: string) => FoundEvent {
  const repeated = createRepeatedChunks();
  for (const [data, chunk] of [
    [firstData, first],
    [secondData, second],
  ] as const) {
    expect(repeated.next(`data: ${data}\n\n`, 0).chunk).to.equal(undefined);
    repeated.learn(data, chunk);
  }
  return (text) => repeated.next(text, 0);
}

function isLearnt(chunk: ChatChunk, data = JSON.stringify(chunk)): boolean {
  return finderAfter(chunk, data)(`data: ${data}\n\n`).chunk !== undefined;
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
      const find = finderAfter(withDelta(toDelta('Hello')));
      assert(
        property(string({ unit: 'binary' }), string(), string(), (words, before, after) => {
          const chunk = withDelta(toDelta(words));
          const event = eventOf(chunk);
          const found = find(before + event + after, before.length);
          expect(found.end).to.equal(before.length + event.length);
          expect(JSON.stringify(found.chunk)).to.equal(JSON.stringify(chunk));
        }),
        runs(500),
      );
    });
  }

  const stamped = (number: number, words = 'Hello', text = `x${number}`): ChatChunk => ({
    ...withDelta({ content: words }, { id: text, created: number, obfuscation: text.repeat(3) }),
    usage: { prompt_tokens: 20, completion_tokens: number, total_tokens: 20 + number },
  });

  it('is known by all but its words, stamps and counts after two that differ in these', () => {
    const find = finderAfterTwo(stamped(1), stamped(2));
    assert(
      property(string({ unit: 'binary' }), string({ unit: 'binary' }), nat(), string(), (words, id, number, after) => {
        const chunk = stamped(number, words, id);
        const event = eventOf(chunk);
        const found = find(event + after);
        expect(found.end).to.equal(event.length);
        expect(JSON.stringify(found.chunk)).to.equal(JSON.stringify(chunk));
      }),
      runs(500),
    );
  });

  it('is known when one stamp changes, and later another one', () => {
    const repeated = createRepeatedChunks();
    const isKnown = (id: number, created: number): boolean => {
      const chunk = withDelta({ content: 'Hello' }, { id, created });
      const { chunk: known } = repeated.next(eventOf(chunk), 0);
      if (known === undefined) repeated.learn(JSON.stringify(chunk), chunk);
      else expect(known).to.deep.equal(chunk);
      return known !== undefined;
    };
    expect([isKnown(1, 1), isKnown(2, 1), isKnown(3, 1)]).to.deep.equal([false, false, true]);
    expect([isKnown(2, 2), isKnown(4, 2), isKnown(5, 3)]).to.deep.equal([false, true, true]);
  });

  const notCounts = ['01', '1.5', '1e3', '-1', '1234567890123456', 'null', '"1"', ''];
  for (const count of notCounts) {
    it(`is not an event with this in the place of a count: ${count}`, () => {
      const find = finderAfterTwo(stamped(1), stamped(2));
      const event = (created: string): string => eventOf(stamped(3)).replace('"created":3', `"created":${created}`);
      expect(find(event('123456789012345')).chunk).to.have.property('created', 123_456_789_012_345);
      expect(find(event(count)).chunk).to.equal(undefined);
    });
  }

  const meaningful: readonly { name: string; toChunk: (number: number) => ChatChunk }[] = [
    { name: 'finish reasons', toChunk: (n) => ({ choices: [{ delta: { content: 'a' }, finish_reason: `r${n}` }] }) },
    { name: 'errors', toChunk: (n) => withDelta({ content: 'a' }, { error: { code: n } }) },
    { name: 'messages', toChunk: (n) => withDelta({ content: 'a' }, { message: `m${n}` }) },
    { name: 'calls', toChunk: (n) => withDelta({ content: 'a', tool_calls: [{ index: n }] }) },
    { name: 'ids of something else', toChunk: (n) => withDelta({ content: 'a' }, { of: { id: `x${n}` } }) },
    { name: 'names of the usage', toChunk: (n) => withDelta({ content: 'a' }, { usage: { model: `m${n}` } }) },
  ];
  for (const { name, toChunk } of meaningful) {
    it(`is left to the parser if it differs in its ${name}`, () => {
      expect(finderAfterTwo(toChunk(1), toChunk(2))(eventOf(toChunk(3))).chunk).to.equal(undefined);
    });
  }

  it('is left to the parser if more than eight scalars differ', () => {
    const counted = (count: number) => (number: number) => {
      const usage = Object.fromEntries(Array.from({ length: count }, (_, index) => [`tokens_${index}`, number]));
      return withDelta({ content: `word${number}` }, { usage });
    };
    const isKnown = (toChunk: (number: number) => ChatChunk): boolean =>
      finderAfterTwo(toChunk(1), toChunk(2))(eventOf(toChunk(3))).chunk !== undefined;
    expect([7, 8].map(counted).map(isKnown)).to.deep.equal([true, false]);
  });

  it('reads the last of two stamps with one name, as JSON has it', () => {
    const event = (first: number, last: number): string =>
      `{"id":${first},"id":${last},"choices":[{"delta":{"content":"a"}}]}`;
    const find = finderAfterTwo(
      JSON.parse(event(1, 1)) as ChatChunk,
      JSON.parse(event(2, 2)) as ChatChunk,
      event(1, 1),
      event(2, 2),
    );
    expect(find(`data: ${event(3, 4)}\n\n`).chunk).to.equal(undefined);
  });

  it('is known when the backend puts a space behind its colons', () => {
    const data = '{"choices": [{"index": 0, "delta": {"content": "Hello"}}]}';
    const find = finderAfter(JSON.parse(data) as ChatChunk, data);
    expect(find(`data: ${data.replace('Hello', 'a\\n\\u00e9')}\n\n`).chunk).to.deep.equal({
      choices: [{ index: 0, delta: { content: 'a\né' } }],
    });
  });

  it('is known when its words look like a chunk', () => {
    const find = finderAfter(
      withDelta({ content: JSON.stringify({ content: 'x', choices: [{ delta: { content: 'y' } }] }) }),
    );
    expect(find(eventOf(withDelta({ content: 'z' }))).chunk).to.deep.equal(withDelta({ content: 'z' }));
  });

  it('is known with all that it says beside its words', () => {
    const more = { extra_content: { google: { thought_signature: 's' } }, tool_calls: [{ index: 0, id: 'c' }] };
    const find = finderAfter(withDelta({ content: 'a', ...more }, { usage: { prompt_tokens: 1 } }));
    const next = withDelta({ content: 'b', ...more }, { usage: { prompt_tokens: 1 } });
    expect(find(eventOf(next)).chunk).to.deep.equal(next);
  });

  const choice = { index: 0, delta: { content: 'Hello' } };
  const unknown: readonly { name: string; chunk: ChatChunk }[] = [
    { name: 'no words', chunk: withDelta({ role: 'assistant', content: '' }) },
    { name: 'no choice', chunk: { choices: [], usage: { prompt_tokens: 1 } } },
    { name: 'log probabilities', chunk: { choices: [{ ...choice, logprobs: { content: [{ token: 'a' }] } }] } },
    { name: 'no delta', chunk: { choices: [{ index: 0, message: { content: 'a' } }] } },
    {
      name: 'a second choice',
      chunk: {
        choices: [
          { index: 0, delta: { content: 'a' } },
          { index: 1, delta: {} },
        ],
      },
    },
    { name: 'words that are a list of parts', chunk: withDelta({ content: [{ type: 'text', text: 'a' }] }) },
  ];
  for (const { name, chunk } of unknown) {
    it(`is not learnt from a chunk with ${name}`, () => {
      expect(isLearnt(chunk)).to.equal(false);
    });
  }

  it('is learnt from the last of two fields with one name, as JSON has it', () => {
    const data = '{"choices":[{"delta":{"content":"a","content":"b"}}]}';
    const find = finderAfter(JSON.parse(data) as ChatChunk, data);
    expect(find(`data: ${data.replace('"b"', '"c"')}\n\n`).chunk).to.deep.equal({
      choices: [{ delta: { content: 'c' } }],
    });
    expect(find(`data: ${data.replace('"a"', '"c"')}\n\n`).chunk).to.equal(undefined);
  });

  const beside = (count: number): ChatChunk =>
    withDelta({ content: 'Hello' }, { echo: Array.from({ length: count }, () => ({ content: 'Hello' })) });
  // Written before the choices, as a field that a backend adds beside them.
  const besideFirst = (count: number): string => {
    const { choices, ...others } = beside(count);
    return JSON.stringify({ ...others, choices });
  };

  it('is learnt when its words stand at the fourth place where words could stand', () => {
    const data = besideFirst(3);
    const find = finderAfter(beside(3), data);
    const other = data.replace(/Hello(?!.*Hello)/, 'you');
    expect(find(`data: ${other}\n\n`).chunk).to.deep.equal(JSON.parse(other));
  });

  it('is not looked for at a fifth place', () => {
    expect(isLearnt(beside(4), besideFirst(4))).to.equal(false);
  });

  const padded = (length: number): ChatChunk => {
    const chunk = withDelta({ content: 'Hello' }, { padding: '' });
    return { ...chunk, padding: 'x'.repeat(length - JSON.stringify(chunk).length) };
  };

  it('is learnt from an event of 4,096 characters, and from no longer one', () => {
    expect(isLearnt(padded(4096))).to.equal(true);
    expect(isLearnt(padded(4097))).to.equal(false);
  });

  it('is no longer looked for after four chunks that did not repeat', () => {
    const repeated = createRepeatedChunks();
    const isKnown = (id: number): boolean => {
      const chunk = withDelta({ content: 'Hello' }, { seed: id });
      const event = eventOf(chunk);
      const { chunk: known } = repeated.next(event, 0);
      if (known === undefined) repeated.learn(JSON.stringify(chunk), chunk);
      return known !== undefined;
    };
    expect([1, 2, 3, 4, 4].map(isKnown)).to.deep.equal([false, false, false, false, true]);
    expect([5, 6, 7, 8, 9, 9].map(isKnown)).to.deep.equal([false, false, false, false, false, false]);
    const text = eventOf(VLLM).repeat(2);
    expect(repeated.next(text, 0), 'all the text goes to the parser').to.deep.equal({ end: text.length });
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
      expect(finderAfter(VLLM)(text).chunk).to.equal(undefined);
    });
  }

  it('begins at the place that is asked for, and nowhere else', () => {
    expect(finderAfter(VLLM)(` ${eventOf(VLLM)}`).chunk).to.equal(undefined);
  });

  // Of V8's own places in another text, the shortest has 13 characters.
  for (const length of [1, 12, 13]) {
    it(`keeps nothing of its text but its words: ${length} characters`, () => {
      const find = finderAfter(VLLM);
      const kept: (ChatChunk | undefined)[] = [];
      collectGarbage();
      const before = process.memoryUsage().heapUsed;
      for (let number = 0; number < 100; number++) {
        const words = String(number).padStart(length, 'x').slice(-length);
        // Made from bytes, as what comes from a socket: a text of its own and not a place in another one.
        const text = Buffer.from(eventOf(withDelta({ content: words })) + ' '.repeat(200_000)).toString();
        kept.push(find(text).chunk);
      }
      collectGarbage();
      expect(process.memoryUsage().heapUsed - before).to.be.below(10_000_000);
      expect(kept).to.have.length(100).and.not.to.include(undefined);
    });
  }

  it('keeps nothing of a text that it has learnt from', () => {
    const kept: unknown[] = [];
    collectGarbage();
    const before = process.memoryUsage().heapUsed;
    for (let number = 0; number < 100; number++) {
      const repeated = createRepeatedChunks();
      const [first, second] = [stamped(1000 + number), stamped(2000 + number)];
      for (const chunk of [first, second]) {
        const text = Buffer.from(JSON.stringify(chunk) + ' '.repeat(200_000)).toString();
        repeated.next(eventOf(chunk), 0);
        repeated.learn(text.slice(0, JSON.stringify(chunk).length), chunk);
      }
      kept.push(repeated, repeated.next(eventOf(stamped(3000 + number)), 0).chunk);
    }
    collectGarbage();
    expect(process.memoryUsage().heapUsed - before).to.be.below(10_000_000);
    expect(kept).to.have.length(200).and.not.to.include(undefined);
  });

  const streams = [
    ...loadFixtures().map(({ name, sse }) => ({ name, body: sse })),
    ...casesOf(loadRecordings().filter(({ contentType }) => contentType === 'text/event-stream')),
  ];

  it(`equals what the backend sent in ${streams.length} answers`, () => {
    let count = 0;
    for (const { name, body } of streams) {
      const text = Buffer.from(body).toString();
      const repeated = createRepeatedChunks();
      for (let at = 0; at < text.length;) {
        const { chunk, end } = repeated.next(text, at);
        const data = /^data: (\{.*\})\n\n$/.exec(text.slice(at, end))?.[1];
        const sent = data === undefined ? undefined : parse(data);
        if (chunk !== undefined) expect(JSON.stringify(chunk), name).to.equal(JSON.stringify(sent));
        else if (data !== undefined && sent !== undefined) repeated.learn(data, sent);
        if (chunk !== undefined) count += 1;
        at = end;
      }
    }
    // In our own fixtures alone, which are short; in recordings there are thousands.
    expect(count).to.be.above(10);
  });
});

/** The chunk; undefined for broken JSON, which some fixtures have. */
function parse(data: string): ChatChunk | undefined {
  try {
    return JSON.parse(data) as ChatChunk;
  } catch {
    return undefined;
  }
}

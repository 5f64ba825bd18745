import { expect } from 'chai';
import type { ChatChunk } from '../../../src/core/chat.ts';
import { createChatMeter } from '../../../src/core/reply/chat-meter.ts';
import { chunkFromCompletion } from '../../../src/core/reply/completion.ts';
import { ApiError } from '../../../src/core/errors.ts';
import { loadRecordings, readRecordedAnswer } from '../../support/recordings.ts';
import { readAnswer } from '../../support/read-answer.ts';

interface Case {
  readonly name: string;
  readonly chunks: readonly ChatChunk[];
  readonly choices?: number;
  /** How it ends: by the end of the stream, by `[DONE]`, or by a failure. */
  readonly end: 'end' | 'done' | ApiError;
  readonly failure?: string;
  readonly incomplete?: string;
  readonly length?: number;
  readonly input?: number;
}

const chunk = (delta: object, finish_reason: string | null = null, index = 0) => ({
  choices: [{ index, delta, finish_reason }],
});
const usage = (prompt_tokens: number) => ({ prompt_tokens, completion_tokens: 1, total_tokens: prompt_tokens + 1 });
const BROKEN = new ApiError('upstream_error');

describe('the meter of a chat completion', () => {
  const cases: readonly Case[] = [
    { name: 'stops', chunks: [chunk({ content: 'Hello' }), chunk({}, 'stop')], end: 'end', length: 5 },
    { name: 'has no reason but [DONE]', chunks: [chunk({ content: 'Hello' })], end: 'done', length: 5 },
    {
      name: 'ends with neither',
      chunks: [chunk({ content: 'Hello' })],
      end: 'end',
      failure: 'upstream_error',
      length: 5,
    },
    { name: 'has nothing in it', chunks: [], end: 'done', failure: 'upstream_invalid_response' },
    {
      name: 'has usage alone in it',
      chunks: [{ choices: [], usage: usage(3) }],
      end: 'done',
      failure: 'upstream_invalid_response',
      input: 3,
    },
    {
      name: 'is too long',
      chunks: [chunk({ content: 'a' }, 'length')],
      end: 'done',
      incomplete: 'max_output_tokens',
      length: 1,
    },
    { name: 'is filtered', chunks: [chunk({}, 'content_filter')], end: 'done', incomplete: 'content_filter' },
    {
      name: 'is given up',
      chunks: [chunk({ content: 'a' }, 'error')],
      end: 'done',
      failure: 'upstream_error',
      length: 1,
    },
    {
      name: 'is given up in other words',
      chunks: [chunk({ content: 'a' }, 'network_error'), chunk({}, 'stop')],
      end: 'done',
      failure: 'upstream_error',
      length: 1,
    },
    {
      name: 'ends with some output for a reason that nobody knows',
      chunks: [chunk({ content: 'a' }, 'other')],
      end: 'done',
      length: 1,
    },
    {
      name: 'ends without output for a reason that nobody knows',
      chunks: [chunk({}, 'other')],
      end: 'done',
      failure: 'upstream_error',
    },
    {
      name: 'has thoughts, refusals and arguments',
      chunks: [
        chunk({ reasoning_content: '12345' }),
        chunk({ refusal: '123' }),
        chunk({ tool_calls: [{ index: 0, id: 'c', function: { name: 'look', arguments: '{"a":1}' } }] }, 'tool_calls'),
      ],
      end: 'done',
      length: 19,
    },
    {
      name: 'has the input of a custom tool alone when its caller leaves',
      chunks: [chunk({ tool_calls: [{ index: 0, id: 'c', type: 'custom', custom: { input: '12345' } }] })],
      end: new ApiError('client_disconnected'),
      failure: 'client_disconnected',
      length: 5,
    },
    { name: 'breaks', chunks: [chunk({ content: 'a' })], end: BROKEN, failure: 'upstream_error', length: 1 },
    { name: 'breaks after its reason', chunks: [chunk({ content: 'a' }, 'stop')], end: BROKEN, length: 1 },
    {
      name: 'is cancelled after its reason',
      chunks: [chunk({ content: 'a' }, 'stop')],
      end: new ApiError('request_cancelled'),
      failure: 'request_cancelled',
      length: 1,
    },
    {
      name: 'breaks before a second choice has its reason',
      chunks: [chunk({ content: 'a' }, 'stop')],
      choices: 2,
      end: BROKEN,
      failure: 'upstream_error',
      length: 1,
    },
    {
      name: 'breaks after both choices have theirs',
      chunks: [chunk({ content: 'a' }, 'stop'), chunk({ content: 'b' }, 'stop', 1)],
      choices: 2,
      end: BROKEN,
      length: 2,
    },
    {
      name: 'has one choice that is too long',
      chunks: [chunk({ content: 'a' }, 'length'), chunk({ content: 'b' }, 'stop', 1)],
      choices: 2,
      end: 'done',
      incomplete: 'max_output_tokens',
      length: 2,
    },
    {
      name: 'has one choice that failed',
      chunks: [chunk({}, 'length'), chunk({}, 'abort', 1), chunk({}, 'stop', 2)],
      choices: 3,
      end: 'done',
      failure: 'upstream_error',
    },
    {
      name: 'says its reason before an empty one',
      chunks: [chunk({ content: 'a' }, 'length'), chunk({}, '')],
      end: 'end',
      incomplete: 'max_output_tokens',
      length: 1,
    },
    {
      name: 'tells usage in every chunk, of which the last one holds',
      chunks: [
        { ...chunk({ content: 'a' }), usage: usage(3) },
        { ...chunk({}, 'stop'), usage: usage(4) },
      ],
      end: 'done',
      length: 1,
      input: 4,
    },
    {
      name: 'tells usage in a choice',
      chunks: [{ choices: [{ index: 0, delta: {}, finish_reason: 'stop', usage: usage(5) }] }],
      end: 'done',
      input: 5,
    },
    {
      name: 'tells usage under x_groq',
      chunks: [{ ...chunk({}, 'stop'), x_groq: { usage: usage(6) } }],
      end: 'done',
      input: 6,
    },
  ];

  for (const { name, chunks, choices = 1, end, failure, incomplete, length = 0, input } of cases) {
    it(`sees an answer that ${name}`, () => {
      const meter = createChatMeter(choices);
      for (const chunk of chunks) meter.feed(chunk);
      expect(meter.ended).to.equal(false);
      if (end instanceof ApiError) meter.fail(end);
      else meter.end(end === 'done');
      expect({
        ended: meter.ended,
        failure: meter.failure?.code,
        incomplete: meter.incompleteReason,
        length: meter.outputLength,
        hasOutput: meter.hasOutput,
        input: meter.reported.usage?.input_tokens,
      }).to.deep.equal({ ended: true, failure, incomplete: incomplete ?? null, length, hasOutput: length > 0, input });
    });
  }

  it('takes a call without arguments for output', () => {
    const meter = createChatMeter(1);
    meter.feed(chunk({ tool_calls: [{ index: 0, id: 'c', function: { name: 'look', arguments: '' } }] }));
    expect(meter).to.include({ hasOutput: true, outputLength: 4 });
  });

  it('is not held up by arguments that are nested too deep to be measured', () => {
    let deep: object = {};
    for (let depth = 0; depth < 20_000; depth++) deep = { deep };
    const meter = createChatMeter(1);
    meter.feed(chunk({ tool_calls: [{ function: { name: 'look', arguments: deep } }] }, 'tool_calls'));
    meter.end(true);
    expect(meter.failure).to.equal(null);
  });

  it('remembers no more than a thousand choices', () => {
    const meter = createChatMeter(1);
    for (let index = 0; index < 1024; index++) meter.feed(chunk({}, 'stop', index));
    meter.feed(chunk({ content: 'beyond' }, null, 1024));
    meter.end(false);
    expect(meter).to.include({ failure: null, outputLength: 6 });
  });

  const counts = (input: number, output: number) => ({ prompt_tokens: input, completion_tokens: output });
  const told = ({ reported: { usage, gaps } }: ReturnType<typeof createChatMeter>) => ({
    input: usage?.input_tokens,
    output: usage?.output_tokens,
    gaps,
  });

  it('adds up the output that is counted for each choice, and misses it while one is not counted', () => {
    const meter = createChatMeter(2);
    meter.feed({ ...chunk({ content: 'a' }), usage: counts(3, 1) });
    expect(told(meter)).to.deep.equal({ input: 3, output: 1, gaps: [] });
    meter.feed(chunk({ content: 'b' }, null, 1));
    expect(told(meter)).to.deep.equal({ input: 3, output: 1, gaps: ['output'] });
    meter.feed({ ...chunk({ content: 'c' }), usage: counts(3, 4) });
    expect(told(meter)).to.deep.equal({ input: 3, output: 4, gaps: ['output'] });
    meter.feed({ ...chunk({}, 'stop', 1), model: 'm', usage: counts(4, 2) });
    expect(told(meter)).to.deep.equal({ input: 4, output: 6, gaps: [] });
    meter.feed({ ...chunk({}, 'stop'), usage: counts(3, 5) });
    expect(told(meter)).to.deep.equal({ input: 4, output: 7, gaps: [] });
    meter.feed({ choices: [], usage: counts(3, 8) });
    expect(told(meter)).to.deep.equal({ input: 3, output: 8, gaps: [] });
    expect(meter.reported.model).to.equal('m');
  });

  it('adds up what is counted in each choice of one chunk, unless all are counted beside them', () => {
    const choices = [0, 1].map((index) => ({ index, delta: {}, finish_reason: 'stop', usage: counts(3, 5) }));
    const meter = createChatMeter(2);
    meter.feed({ choices });
    expect(told(meter)).to.deep.equal({ input: 3, output: 10, gaps: [] });
    const other = createChatMeter(2);
    other.feed({ choices, usage: counts(3, 9) });
    expect(told(other)).to.deep.equal({ input: 3, output: 9, gaps: [] });
  });

  it('counts no choice that comes after the usage', () => {
    const meter = createChatMeter(2);
    meter.feed({ choices: [], usage: counts(3, 1) });
    meter.feed(chunk({ content: 'b' }, 'stop', 1));
    meter.feed(chunk({ content: 'c' }, 'stop'));
    expect(told(meter)).to.deep.equal({ input: 3, output: 1, gaps: ['output'] });
  });

  it('misses what the choices do not count, or count as nothing', () => {
    const meter = createChatMeter(2);
    meter.feed({ ...chunk({}, 'stop'), usage: counts(0, 5) });
    meter.feed({ ...chunk({}, 'stop', 1), usage: { prompt_tokens: 0 } });
    expect(told(meter)).to.deep.equal({ input: 0, output: 5, gaps: ['input', 'output'] });
  });

  it('is finishing after the last choice of a backend that sends fewer than were asked for', () => {
    const meter = createChatMeter(2);
    meter.feed(chunk({ content: 'a' }, 'stop'));
    expect(meter.finishing).to.equal(true);
    meter.feed(chunk({ content: 'b' }, null, 1));
    expect(meter.finishing).to.equal(false);
    meter.feed(chunk({}, 'stop', 1));
    expect(meter.finishing).to.equal(true);
  });

  it('counts one answer once that comes in several choices', () => {
    const meter = createChatMeter(1);
    for (const index of [0, 1, 0]) meter.feed({ ...chunk({ content: 'a' }, null, index), usage: counts(3, 5) });
    meter.feed({ choices: [], usage: counts(0, 0) });
    expect(told(meter)).to.deep.equal({ input: 3, output: 5, gaps: [] });
  });

  it('needs no end of a choice beyond those that were asked for', () => {
    const [meter, cut] = [createChatMeter(1), createChatMeter(2)];
    for (const each of [meter, cut]) {
      each.feed(chunk({ role: 'assistant' }));
      each.feed(chunk({ tool_calls: [{ index: 0, id: 'a', function: { name: 'f', arguments: '{}' } }] }, 'stop', 1));
      each.end(false);
    }
    expect(meter.failure).to.equal(null);
    expect(cut.failure).to.include({ code: 'upstream_error' });
  });

  it('keeps its first end', () => {
    const meter = createChatMeter(1);
    meter.feed(chunk({ content: 'a' }, 'stop'));
    meter.end(true);
    meter.feed(chunk({ content: 'more' }, 'length'));
    meter.fail(new ApiError('client_disconnected'));
    meter.end(false);
    expect(meter).to.include({ failure: null, incompleteReason: null, outputLength: 1 });
  });

  const recordings = loadRecordings().filter(({ status }) => status === 200);
  for (const { name, body, contentType } of recordings) {
    it(`counts what ${name} says`, () => {
      const said = readRecordedAnswer(body);
      const meter = createChatMeter(1);
      const isStream = contentType === 'text/event-stream';
      const { chunks, done, failure } = isStream
        ? readAnswer(body)
        : { chunks: [chunkFromCompletion(JSON.parse(body.toString()))], done: true, failure: undefined };
      for (const chunk of chunks) meter.feed(chunk);
      if (failure !== undefined) meter.fail(failure);
      else meter.end(done);
      expect(meter.reported.usage).to.deep.equal(said.usage);
      const least = said.text.length + said.reasoning.length + said.refusal.length;
      expect(meter.outputLength).to.be.at.least(least);
      if (said.error) expect(meter.failure).not.to.equal(null);
    });
  }
});

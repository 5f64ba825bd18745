import { expect } from 'chai';
import type { RelayedRead } from '../../src/backend/answer.ts';
import { askForOutput, relayForOutput, type RelayBuffering } from '../../src/backend/until-output.ts';
import type { AnswerListener, RelayListener } from '../../src/backend/chat.ts';
import type { ChatChunk } from '../../src/core/chat.ts';
import { ApiError } from '../../src/core/errors.ts';
import { apiRejection, textChunk } from './asking.ts';

const ROLE: ChatChunk = { choices: [{ index: 0, delta: { role: 'assistant', content: '' } }] };
const WORD = textChunk('Hello');

describe('an answer that is held back', () => {
  const ANSWER = { headers: {}, leftOut: [], limitTotal: () => undefined };
  let told: string[];
  let listener: AnswerListener;

  beforeEach(() => {
    told = [];
    listener = {
      begin: () => void told.push('begin'),
      take({ chunks, done }) {
        told.push(`${chunks.length} chunks${done ? ' and the end' : ''}`);
        return undefined;
      },
    };
  });

  it('begins with its first word', async () => {
    await askForOutput(listener, async (held) => {
      held.begin(ANSWER);
      void held.take({ chunks: [ROLE], done: false });
      expect(told).to.deep.equal([]);
      void held.take({ chunks: [ROLE, WORD], done: false });
      void held.take({ chunks: [WORD], done: true });
    });
    expect(told).to.deep.equal(['begin', '3 chunks', '1 chunks and the end']);
  });

  it('begins when it is over, or after 16 chunks', async () => {
    await askForOutput(listener, async (held) => {
      held.begin(ANSWER);
      void held.take({ chunks: [ROLE], done: true });
    });
    await askForOutput(listener, async (held) => {
      held.begin(ANSWER);
      for (let count = 0; count < 17; count += 1) void held.take({ chunks: [ROLE], done: false });
    });
    expect(told).to.deep.equal(['begin', '1 chunks and the end', 'begin', '17 chunks']);
  });

  it('fails without a word when it ends after nothing but its role', async () => {
    const error = await apiRejection(
      askForOutput(listener, async (held) => {
        held.begin(ANSWER);
        void held.take({ chunks: [ROLE], done: false });
      }),
    );
    expect([error.code, told]).to.deep.equal(['upstream_error', []]);
  });
});

describe('a relayed answer that is held back', () => {
  const ANSWER = { status: 200, headers: {}, isEventStream: true };
  const HOLD_MS = 100;
  let nowMs: number;
  let told: string[];
  let opening: Promise<void> | undefined;
  let listener: RelayListener;

  beforeEach(() => {
    nowMs = 0;
    told = [];
    opening = undefined;
    listener = {
      begin() {
        told.push('begin');
        return opening;
      },
      take({ bytes, chunks, done }) {
        told.push(`${Buffer.from(bytes).toString()}: ${chunks.length}${done ? ' and the end' : ''}`);
        return undefined;
      },
    };
  });

  function read(text: string, chunks: readonly ChatChunk[] = [], end: Partial<RelayedRead> = {}): RelayedRead {
    return { bytes: Buffer.from(text), chunks, done: false, ...end };
  }

  function relay(work: (held: RelayListener) => unknown, hold: Partial<RelayBuffering> = {}): Promise<unknown> {
    const all = { buffersChunks: true, timeoutMs: HOLD_MS, nowMs: () => nowMs, ...hold };
    return relayForOutput(listener, all, async (held) => {
      void held.begin(ANSWER);
      await work(held);
      return undefined;
    });
  }

  it('begins with its first word, and then passes on what comes', async () => {
    await relay((held) => {
      void held.take(read(': wait'));
      void held.take(read(' role', [ROLE]));
      expect(told).to.deep.equal([]);
      void held.take(read(' word', [WORD]));
      void held.take(read('more', [WORD], { done: true }));
    });
    expect(told).to.deep.equal(['begin', ': wait role word: 2', 'more: 1 and the end']);
  });

  it('waits for the record before the client hears anything', async () => {
    const decided = Promise.withResolvers<void>();
    opening = decided.promise;
    await relay(async (held) => {
      const busy = held.take(read('word', [WORD]));
      expect(told).to.deep.equal(['begin']);
      decided.resolve();
      await busy;
    });
    expect(told).to.deep.equal(['begin', 'word: 1']);
  });

  for (const { what, reads, hold } of [
    { what: 'its end', reads: [read('role', [ROLE], { done: true })] },
    {
      what: 'more than 16 chunks',
      reads: [
        read(
          'roles',
          Array.from({ length: 17 }, () => ROLE),
        ),
      ],
    },
    { what: 'more than 64 KiB', reads: [read('x'.repeat(65_537))] },
    {
      what: 'its first chunk where an answer has begun with that',
      reads: [read('role', [ROLE])],
      hold: { buffersChunks: false },
    },
  ]) {
    it(`begins with ${what}`, async () => {
      await relay((held) => {
        for (const one of reads) void held.take(one);
        expect(told.length).to.equal(2);
      }, hold);
    });
  }

  it('begins when its connection has been kept alive for so long', async () => {
    await relay((held) => {
      void held.take(read(': wait'));
      nowMs += HOLD_MS;
      expect(told).to.deep.equal([]);
      void held.take(read(' on'));
    });
    expect(told).to.deep.equal(['begin', ': wait on: 0']);
  });

  it('fails without a word when it breaks off, or ends, before it has said anything', async () => {
    const failure = new ApiError('rate_limit_exceeded');
    for (const buffersChunks of [true, false]) {
      const error = await apiRejection(
        relay((held) => void held.take(read('error', [], { failure })), { buffersChunks: buffersChunks }),
      );
      expect(error).to.equal(failure);
      const ended = await apiRejection(
        relay((held) => void held.take(read(': wait')), { buffersChunks: buffersChunks }),
      );
      expect(ended.code).to.equal('upstream_error');
    }
    expect(told).to.deep.equal([]);
  });

  it('passes on a failure that comes with a word', async () => {
    const failure = new ApiError('rate_limit_exceeded');
    await relay((held) => void held.take(read('word', [WORD], { failure })));
    expect(told).to.deep.equal(['begin', 'word: 1']);
  });
});

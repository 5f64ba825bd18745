import { getEventListeners } from 'node:events';
import { expect } from 'chai';
import type { ChatBackend } from '../../src/backend/chat.ts';
import type { ChatRequest } from '../../src/core/chat.ts';
import { type Script, type ScriptedBackend, startScriptedBackend } from '../support/backend.ts';
import { AT_ONCE_MS, allArrived } from '../support/time.ts';
import {
  askFor,
  type ChatAnswer,
  collect,
  completion,
  connectTo,
  JSON_REQUEST,
  rejection,
  STREAM_REQUEST,
  textChunk,
  textOf,
} from './asking.ts';

describe('aborting the chat backend', () => {
  const reason = new Error('the client has gone');
  let scripted: ScriptedBackend;
  let backend: ChatBackend;
  let controller: AbortController;

  beforeEach(async () => {
    scripted = await startScriptedBackend();
    backend = connectTo(scripted.baseUrl);
    controller = new AbortController();
  });

  afterEach(async () => {
    await backend.close();
    await scripted.close();
    expect(getEventListeners(controller.signal, 'abort')).to.have.length(0);
  });

  function ask(request: ChatRequest = STREAM_REQUEST): Promise<ChatAnswer> {
    return askFor(backend, request, { signal: controller.signal, headers: {} });
  }

  /** How long it took until the backend saw the socket close, before its reply had ended. */
  async function abortDelayMs(abortedAtMs: number): Promise<number> {
    const closing = await (await scripted.request(1)).closed;
    return closing.aborted ? closing.atMs - abortedAtMs : Infinity;
  }

  const beforeAnswer: readonly (readonly [phase: string, script: Script])[] = [
    ['before the headers', ({ hang }) => hang()],
    [
      'after the headers, before the first byte',
      ({ start, hang }) => {
        start();
        return hang();
      },
    ],
    [
      'after comments, before the first chunk',
      async ({ write, hang }) => {
        await write(': wait\n\n');
        await hang();
      },
    ],
    [
      'in the middle of the first chunk',
      async ({ write, hang }) => {
        await write('data: {"choices":');
        await hang();
      },
    ],
    [
      'in the middle of a completion',
      async ({ start, write, hang }) => {
        start(200, { 'content-type': 'application/json' });
        await write('{"choices":');
        await hang();
      },
    ],
    [
      'in the middle of a refusal',
      async ({ start, write, hang }) => {
        start(500);
        await write('{"error":');
        await hang();
      },
    ],
  ];

  for (const [phase, script] of beforeAnswer) {
    it(`closes the socket and rejects with the reason: ${phase}`, async () => {
      scripted.reply(script);
      const asking = rejection(ask());
      await scripted.request(1);
      await allArrived();

      const abortedAtMs = performance.now();
      controller.abort(reason);

      expect(await asking).to.equal(reason);
      expect(await abortDelayMs(abortedAtMs)).to.be.below(AT_ONCE_MS);
    });
  }

  it('sends nothing when the signal is aborted already', async () => {
    controller.abort(reason);

    expect(await rejection(ask())).to.equal(reason);
    await allArrived();
    expect(scripted.requests).to.have.length(0);
  });

  it('sends nothing when it is aborted while the connection is being made', async () => {
    const asking = rejection(ask());
    controller.abort(reason);

    expect(await asking).to.equal(reason);
    await allArrived();
    expect(scripted.requests).to.have.length(0);
    expect(scripted.connections).to.equal(0);
  });

  it('serves the next request after one that was aborted while the connection was being made', async () => {
    const asking = rejection(ask());
    controller.abort(reason);
    await asking;
    scripted.reply({ json: completion('Hi') });

    const answer = await askFor(backend, JSON_REQUEST, { signal: new AbortController().signal, headers: {} });

    expect(textOf(await collect(answer))).to.equal('Hi');
  });

  it('closes the socket in the middle of a stream that is waited for', async () => {
    scripted.reply(async ({ sse, hang }) => {
      await sse(textChunk('Hi'));
      await hang();
    });
    const collecting = rejection(collect(await ask()));
    await allArrived();

    const abortedAtMs = performance.now();
    controller.abort(reason);

    expect(await collecting).to.equal(reason);
    expect(await abortDelayMs(abortedAtMs)).to.be.below(AT_ONCE_MS);
  });

  it('closes the socket of a stream that nobody has begun to read, and throws the reason there', async () => {
    scripted.reply(async ({ sse, hang }) => {
      await sse(textChunk('Hi'));
      await hang();
    });
    const answer = await ask();

    const abortedAtMs = performance.now();
    controller.abort(reason);

    expect(await abortDelayMs(abortedAtMs)).to.be.below(AT_ONCE_MS);
    expect(await rejection(collect(answer))).to.equal(reason);
  });

  it('closes the socket of a stream that is held up by its reader, and drops what waits', async () => {
    scripted.reply(async ({ sse }) => {
      while (await sse(textChunk('x'.repeat(1 << 16))));
    });
    const iterator = (await ask()).batches[Symbol.asyncIterator]();
    await iterator.next();
    await allArrived();

    const abortedAtMs = performance.now();
    controller.abort(reason);

    expect(await abortDelayMs(abortedAtMs)).to.be.below(AT_ONCE_MS);
    expect(await rejection(iterator.next())).to.equal(reason);
    expect(await iterator.next()).to.deep.equal({ done: true, value: undefined });
  });

  it('throws a reason which is no Error as it is', async () => {
    scripted.reply(({ hang }) => hang());
    const asking = rejection(ask());
    await scripted.request(1);

    controller.abort('enough');

    expect(await asking).to.equal('enough');
  });

  for (const [name, leave] of [
    [
      'the loop is left',
      async (answer: ChatAnswer) => {
        for await (const _ of answer.batches) break;
      },
    ],
    [
      'the iterator is returned before it was ever used',
      (answer: ChatAnswer) => answer.batches[Symbol.asyncIterator]().return?.(),
    ],
  ] as const) {
    it(`closes the socket when ${name}`, async () => {
      scripted.reply(async ({ sse, hang }) => {
        await sse(textChunk('Hi'));
        await hang();
      });
      const answer = await ask();

      const leftAtMs = performance.now();
      await leave(answer);

      expect(await abortDelayMs(leftAtMs)).to.be.below(AT_ONCE_MS);
    });
  }

  it('keeps the connection when the loop is left at [DONE]', async () => {
    scripted.always({ sse: [textChunk('Hi')] });

    for (let n = 0; n < 2; n++) {
      for await (const batch of (await ask()).batches) if (batch.done) break;
      await allArrived();
    }

    expect(scripted.requests.map((request) => request.connection)).to.deep.equal([0, 0]);
  });

  it('does nothing after the end', async () => {
    scripted.reply({ json: completion('Hi') });
    const batches = await collect(await ask(JSON_REQUEST));

    controller.abort(reason);

    expect(textOf(batches)).to.equal('Hi');
    expect(await (await scripted.request(1)).closed).to.include({ aborted: false });
  });
});

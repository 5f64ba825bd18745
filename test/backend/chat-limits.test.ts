import { getEventListeners } from 'node:events';
import { expect } from 'chai';
import type { ChatBackend, ChatBackendOptions } from '../../src/backend/chat.ts';
import type { ChatRequest } from '../../src/core/chat.ts';
import { type Script, type ScriptedBackend, startScriptedBackend } from '../support/backend.ts';
import { passUntil, useHeldTime } from '../support/held-time.ts';
import { kernelMayTake } from '../support/kernel.ts';
import { allArrived, until, untilSteady } from '../support/time.ts';
import {
  askFor,
  type ChatAnswer,
  apiRejection,
  collect,
  completion,
  connectTo,
  JSON_REQUEST,
  STREAM_REQUEST,
  textChunk,
  textOf,
} from './asking.ts';

const MIB = 1024 * 1024;

describe('the limits of the chat backend', () => {
  let scripted: ScriptedBackend;
  let backends: ChatBackend[];
  let signal: AbortSignal;

  beforeEach(async () => {
    scripted = await startScriptedBackend();
    backends = [];
    signal = new AbortController().signal;
  });

  afterEach(async () => {
    await Promise.all(backends.map((backend) => backend.close()));
    await scripted.close();
    expect(getEventListeners(signal, 'abort')).to.have.length(0);
  });

  function connect(overrides: Partial<ChatBackendOptions> = {}, baseUrl = scripted.baseUrl): ChatBackend {
    const backend = connectTo(baseUrl, overrides);
    backends.push(backend);
    return backend;
  }

  function ask(backend: ChatBackend, request: ChatRequest = STREAM_REQUEST): Promise<ChatAnswer> {
    return askFor(backend, request, { signal, headers: {} });
  }

  describe('time', () => {
    const passTime = useHeldTime();

    const tooSlow: readonly (readonly [name: string, script: Script])[] = [
      ['never answers', ({ hang }) => hang()],
      [
        'sends headers and nothing more',
        ({ start, hang }) => {
          start();
          return hang();
        },
      ],
      [
        'sends comments for ever',
        async ({ write, wait }) => {
          while (await write(': wait\n\n')) await wait(20);
        },
      ],
      [
        'sends empty lines for ever',
        async ({ start, write, wait }) => {
          start(200, { 'content-type': 'application/json' });
          while (await write('\n')) await wait(20);
        },
      ],
    ];
    for (const [name, script] of tooSlow) {
      it(`gives up on a backend that ${name} before its first chunk`, async () => {
        scripted.reply(script);
        const asking = apiRejection(ask(connect({ firstByteTimeoutMs: 500 })));
        let isOver = false;
        void asking.finally(() => (isOver = true));
        const { closed } = await scripted.request(1);

        await passTime(499);
        expect(isOver).to.equal(false);
        await passTime(1);

        expect(await asking).to.include({ code: 'upstream_timeout', status: 504 });
        expect(await closed).to.include({ aborted: true });
      });
    }

    it('gives up on a stream that falls silent, after what it has said', async () => {
      scripted.reply(async ({ sse, hang }) => {
        await sse(textChunk('Hi'));
        await hang();
      });
      const answer = await ask(connect({ idleTimeoutMs: 150 }));
      const texts: string[] = [];
      const reading = apiRejection(
        (async () => {
          for await (const batch of answer.batches) texts.push(textOf([batch]));
        })(),
      );

      await passTime(150);

      expect((await reading).code).to.equal('upstream_timeout');
      expect(texts).to.deep.equal(['Hi']);
      expect(await scripted.requests[0]?.closed).to.include({ aborted: true });
    });

    it('gives up on a completion that falls silent', async () => {
      scripted.reply(async ({ start, write, hang }) => {
        start(200, { 'content-type': 'application/json' });
        await write('{"choices":');
        await hang();
      });
      const asking = apiRejection(ask(connect({ idleTimeoutMs: 150 })));
      await scripted.request(1);
      await allArrived();

      await passTime(150);

      expect((await asking).code).to.equal('upstream_timeout');
    });

    it('bears a stream that is slow and never silent for long', async () => {
      scripted.reply(async ({ sse, wait, end }) => {
        for (let n = 0; n < 12; n++) {
          await sse(textChunk(String(n % 10)));
          await wait(200);
        }
        end();
      });
      const collecting = collect(await ask(connect({ firstByteTimeoutMs: 250, idleTimeoutMs: 250 })));

      await passTime(13 * 200);

      expect(textOf(await collecting)).to.equal('012345678901');
    });

    it('does not count the time for which the reader holds up the stream', async () => {
      scripted.reply(async ({ sse, end }) => {
        for (let n = 0; n < 64; n++) await sse(textChunk('x'.repeat(MIB / 4)));
        end();
      });
      const answer = await ask(connect({ idleTimeoutMs: 150 }));

      await untilSteady(() => scripted.bytesSent);
      await passTime(500);

      expect(textOf(await collect(answer))).to.have.length(16 * MIB);
    });

    it('counts it again once the reader has caught up', async () => {
      scripted.reply(async ({ sse, hang }) => {
        await sse(textChunk('Hi'));
        await allArrived();
        await sse(...Array.from({ length: 20 }, () => textChunk('x'.repeat(MIB / 8))));
        await hang();
      });
      const answer = await ask(connect({ idleTimeoutMs: 150 }));
      await untilSteady(() => scripted.bytesSent);
      await passTime(250);

      const collecting = apiRejection(collect(answer));
      expect((await passUntil(collecting, 150)).code).to.equal('upstream_timeout');
    });
  });

  describe('size', () => {
    it('lets a backend get rid of little to a reader that never reads', async () => {
      // Most of each chunk is what nobody asked for: an answer has an end before it is as long as what some kernels take.
      const chunk = { ...textChunk('x'), padding: 'x'.repeat(MIB / 4) };
      const held = kernelMayTake() + 16 * MIB;
      const chunks = Math.ceil((held + 4 * MIB) / chunk.padding.length);
      scripted.reply(async ({ sse, end }) => {
        for (let sent = 0; sent < chunks; sent++) if (!(await sse(chunk))) return;
        end();
      });
      const answer = await ask(connect());

      expect(await untilSteady(() => scripted.bytesSent)).to.be.below(held);

      // And all of it arrives once it is read.
      let characters = 0;
      for await (const batch of answer.batches) characters += textOf([batch]).length;
      expect(characters).to.equal(chunks);
    });

    for (const { name, json } of [
      { name: 'deeper than 128 levels', json: '['.repeat(300_000) },
      { name: 'with more than 100,000 objects', json: `{"choices":[],"x":[${'{},'.repeat(120_000)}{}]}` },
      { name: 'with more than 200,000 numbers', json: `{"choices":[],"x":[${'0,'.repeat(200_001)}0]}` },
      { name: 'with more than 50,000 fields', json: `{"choices":[],"x":{${'"a":1,'.repeat(60_000)}"a":1}}` },
    ]) {
      for (const kind of ['a stream', 'JSON'] as const) {
        it(`refuses an answer ${name} as ${kind} before it is parsed`, async () => {
          scripted.reply(async ({ start, write, end }) => {
            start(200, { 'content-type': kind === 'JSON' ? 'application/json' : 'text/event-stream' });
            await write(kind === 'JSON' ? json : `data: ${json}\n\n`);
            end();
          });
          const error = await apiRejection(kind === 'JSON' ? ask(connect(), JSON_REQUEST) : ask(connect()));
          expect(error.code).to.equal('upstream_invalid_response');
          expect(error.message).to.match(/too large/);
        });
      }
    }

    it('refuses an event of more than 8 MiB', async () => {
      scripted.reply(async ({ write }) => {
        await write('data: ');
        for (let n = 0; n < 9; n++) if (!(await write('x'.repeat(MIB)))) return;
      });

      expect((await apiRejection(ask(connect()))).code).to.equal('upstream_invalid_response');
      expect(await scripted.requests[0]?.closed).to.include({ aborted: true });
    });

    it('refuses a completion of more than 8 MiB', async () => {
      scripted.reply(async ({ start, write }) => {
        start(200, { 'content-type': 'application/json' });
        await write('{"x":"');
        for (let n = 0; n < 9; n++) if (!(await write('x'.repeat(MIB)))) return;
      });

      expect((await apiRejection(ask(connect(), JSON_REQUEST))).code).to.equal('upstream_invalid_response');
      expect(await scripted.requests[0]?.closed).to.include({ aborted: true });
    });
  });

  describe('broken connections', () => {
    for (const how of ['close', 'reset'] as const) {
      it(`fails when the connection breaks before the answer (${how}), and does not send the request again`, async () => {
        scripted.always(({ cut }) => cut(how));

        const error = await apiRejection(ask(connect()));

        expect(error).to.include({ code: 'upstream_error', status: 502 });
        expect(error.message).to.match(/before it answered/);
        await allArrived();
        expect(scripted.requests).to.have.length(1);
      });

      it(`does not send a request again whose used connection breaks (${how})`, async () => {
        scripted.reply({ json: completion('one') }, ({ cut }) => cut(how));
        const backend = connect();
        await collect(await ask(backend, JSON_REQUEST));
        await allArrived();

        const error = await apiRejection(ask(backend, JSON_REQUEST));

        expect(error.code).to.equal('upstream_error');
        await allArrived();
        expect(scripted.requests.map((request) => request.connection)).to.deep.equal([0, 0]);
      });

      it(`fails after the chunks when the stream breaks (${how})`, async () => {
        scripted.reply(async ({ sse, cut }) => {
          await sse(textChunk('Hi'));
          await allArrived();
          cut(how);
        });
        const texts: string[] = [];

        const answer = await ask(connect());
        const error = await apiRejection(
          (async () => {
            for await (const batch of answer.batches) texts.push(textOf([batch]));
          })(),
        );

        expect(texts).to.deep.equal(['Hi']);
        expect(error).to.include({ code: 'upstream_error' });
        expect(error.message).to.match(/middle of the answer/);
      });
    }

    it('fails when a completion is shorter than it was said to be', async () => {
      scripted.reply(async ({ start, write, cut }) => {
        start(200, { 'content-type': 'application/json', 'content-length': '1000' });
        await write(JSON.stringify(completion('Hi')));
        cut();
      });

      expect((await apiRejection(ask(connect(), JSON_REQUEST))).code).to.equal('upstream_error');
    });

    it('fails when a chunked stream on a closing connection lacks its end', async () => {
      scripted.reply(async ({ start, sse, cut }) => {
        start(200, { 'content-type': 'text/event-stream', connection: 'close' });
        await sse(textChunk('Hi'));
        await allArrived();
        cut();
      });

      expect((await apiRejection(collect(await ask(connect())))).code).to.equal('upstream_error');
    });

    it('makes a new connection when the backend has closed the idle one', async () => {
      scripted.always(async ({ res, start, write, end }) => {
        start(200, { 'content-type': 'application/json' });
        await write(JSON.stringify(completion('Hi')));
        end();
        // After the reply, and without having said so.
        res.once('close', () => setImmediate(() => res.req.socket.end()));
      });
      const backend = connect();

      for (let n = 0; n < 3; n++) {
        expect(textOf(await collect(await ask(backend, JSON_REQUEST)))).to.equal('Hi');
        await until(() => scripted.connections === 0);
        await allArrived();
      }

      expect(scripted.requests.map((request) => request.connection)).to.deep.equal([0, 1, 2]);
    });
  });
});

import { getEventListeners, once } from 'node:events';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { gzipSync } from 'node:zlib';
import { expect } from 'chai';
import nock from 'nock';
import type { BegunAnswer, ChatBackend, ChatBackendOptions } from '../../src/backend/chat.ts';
import type { ChatRequest } from '../../src/core/chat.ts';
import { type ChatBody, encodeChat } from '../../src/core/encoded-chat.ts';
import { ApiError } from '../../src/core/errors.ts';
import { type Reply, type ScriptedBackend, startScriptedBackend } from '../support/backend.ts';
import { useHeldTime } from '../support/held-time.ts';
import { allArrived } from '../support/time.ts';
import {
  askFor,
  type ChatAnswer,
  apiRejection,
  chunksOf,
  collect,
  completion,
  connectTo,
  JSON_REQUEST,
  STREAM_REQUEST,
  rejection,
  textChunk,
  textOf,
} from './asking.ts';

const NDJSON = `${JSON.stringify({ message: { content: 'a' } })}\n${JSON.stringify({ message: { content: 'b' } })}\n`;
const HTML = '<!DOCTYPE html><html><body>Welcome</body></html>';

describe('the chat backend', () => {
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
    // Whatever became of the request, nobody listens to the signal any more.
    expect(getEventListeners(signal, 'abort')).to.have.length(0);
  });

  function connect(overrides: Partial<ChatBackendOptions> = {}, baseUrl = scripted.baseUrl) {
    const backend = connectTo(baseUrl, overrides);
    backends.push(backend);
    return backend;
  }

  function ask(backend: ChatBackend, request: ChatBody = STREAM_REQUEST): Promise<ChatAnswer> {
    return askFor(backend, request, { signal, headers: { authorization: 'Bearer caller-key-1' } });
  }

  describe('sending', () => {
    it('posts well-formed text in place of a cut emoji', async () => {
      scripted.reply({ json: completion('Hello') });
      await ask(connect(), { ...JSON_REQUEST, messages: [{ role: 'user', content: 'cut: \ud83d' }] });
      expect(scripted.requests[0]?.body).to.have.nested.property('messages[0].content', 'cut: \ufffd');
    });

    it('posts the request as it is, with the headers it was given', async () => {
      scripted.reply({ json: completion('Hello') });

      await collect(await ask(connect(), JSON_REQUEST));

      const [request] = scripted.requests;
      expect(request).to.include({ method: 'POST', path: '/v1/chat/completions' });
      expect(request?.body).to.deep.equal(JSON_REQUEST);
      expect(request?.headers).to.include({
        authorization: 'Bearer caller-key-1',
        'content-type': 'application/json',
        accept: 'application/json',
        'accept-encoding': 'identity',
      });
    });

    const long: ChatRequest = { ...JSON_REQUEST, messages: [{ role: 'user', content: 'é'.repeat(500_000) }] };

    it('posts a large request, of which it says the length before', async () => {
      scripted.reply({ json: completion('Hello') });

      await collect(await ask(connect(), encodeChat(long)));

      const [request] = scripted.requests;
      expect(request?.body).to.deep.equal(long);
      expect(request?.headers).to.include({ 'content-length': String(Buffer.byteLength(JSON.stringify(long))) });
    });

    it('takes the refusal of a backend that does not read a large request', async () => {
      const sockets: Socket[] = [];
      const server = createServer((socket) => {
        sockets.push(socket);
        socket.on('error', () => undefined);
        socket.once('data', () => {
          socket.pause();
          socket.write('HTTP/1.1 413 Too Large\r\nconnection: close\r\ncontent-length: 2\r\n\r\n{}');
        });
      });
      await once(server.listen(0, '127.0.0.1'), 'listening');
      const { port } = server.address() as AddressInfo;
      const backend = connect({}, `http://127.0.0.1:${port}/v1`);
      const huge = { ...long, messages: [{ role: 'user' as const, content: 'x'.repeat(8 * 1024 * 1024) }] };

      expect(await apiRejection(ask(backend, encodeChat(huge)))).to.have.property('status', 413);

      for (const socket of sockets) socket.destroy();
      await new Promise((resolve) => server.close(resolve));
    });

    it('asks for an event stream when the request is one', async () => {
      scripted.reply({ sse: [textChunk('Hi')] });

      await collect(await ask(connect()));

      expect(scripted.requests[0]?.body).to.deep.equal(STREAM_REQUEST);
      expect(scripted.requests[0]?.headers.accept).to.equal('text/event-stream');
    });

    for (const [suffix, path] of [
      ['/', '/v1/chat/completions'],
      ['?api-version=2026-01-01', '/v1/chat/completions?api-version=2026-01-01'],
    ] as const) {
      it(`takes a base URL that ends in ${suffix}`, async () => {
        scripted.reply({ json: completion('Hello') });

        await collect(await ask(connect({}, `${scripted.baseUrl}${suffix}`), JSON_REQUEST));

        expect(scripted.requests[0]?.path).to.equal(path);
      });
    }

    it('uses a connection again after a completion, after a stream and after a refusal', async () => {
      scripted.reply(
        { json: completion('one') },
        { sse: [textChunk('two')] },
        { json: { error: { message: 'no' } }, status: 400 },
      );
      scripted.reply({ json: completion('four') });
      const backend = connect();

      // undici offers a connection again one turn of the event loop after its reply.
      await collect(await ask(backend, JSON_REQUEST));
      await allArrived();
      await collect(await ask(backend));
      await allArrived();
      await rejection(ask(backend, JSON_REQUEST));
      await allArrived();
      await collect(await ask(backend, JSON_REQUEST));

      expect(scripted.requests.map((request) => request.connection)).to.deep.equal([0, 0, 0, 0]);
    });

    it('gives each of many requests at once its own connection', async () => {
      scripted.always({ sse: [textChunk('a'), textChunk('b')] });
      const backend = connect();

      const answers = await Promise.all(
        Array.from({ length: 40 }, async () => textOf(await collect(await ask(backend)))),
      );

      expect(answers).to.deep.equal(Array.from({ length: 40 }, () => 'ab'));
      expect(scripted.closed.some((closing) => closing.aborted)).to.equal(false);
    });

    it('is interceptable by nock', async () => {
      nock('http://backend.test')
        .post('/v1/chat/completions', { model: 'm', messages: [{ role: 'user', content: 'Hi' }] })
        .matchHeader('authorization', 'Bearer caller-key-1')
        .reply(
          200,
          { choices: [{ index: 0, message: { role: 'assistant', content: 'Hello' } }] },
          { 'x-request-id': 'up1' },
        );

      const answer = await ask(connect({}, 'http://backend.test/v1'), JSON_REQUEST);

      expect(textOf(await collect(answer))).to.equal('Hello');
      expect(answer.headers).to.deep.equal({ 'x-upstream-request-id': 'up1' });
    });
  });

  describe('answers', () => {
    it('delivers a stream chunk by chunk, with the headers that are passed on', async () => {
      const headers = { 'x-request-id': 'up1', 'x-ratelimit-remaining': '9', server: 'uvicorn' };
      scripted.reply({ sse: [textChunk('Hel'), textChunk('lo')], headers });

      const answer = await ask(connect());
      const batches = await collect(answer);

      expect(answer.headers).to.deep.equal({ 'x-upstream-request-id': 'up1', 'x-ratelimit-remaining': '9' });
      expect(chunksOf(batches)).to.deep.equal([textChunk('Hel'), textChunk('lo')]);
      expect(batches.at(-1)?.done).to.equal(true);
    });

    it('resolves with the first chunk, long before the stream ends', async () => {
      const letGo = Promise.withResolvers<void>();
      scripted.reply(async ({ sse, end }) => {
        await sse(textChunk('first'));
        await letGo.promise;
        await sse(textChunk('second'), '[DONE]');
        end();
      });

      const answer = await ask(connect());

      letGo.resolve();
      expect(textOf(await collect(answer))).to.equal('firstsecond');
    });

    it('puts all that one read brings into one batch', async () => {
      scripted.reply(async ({ res, start, sse, end }) => {
        start();
        res.cork();
        const written = ['a', 'b', 'c'].map((text) => sse(textChunk(text)));
        res.uncork();
        await Promise.all(written);
        end();
      });

      const [first] = await collect(await ask(connect()));

      expect(first?.chunks).to.have.length(3);
    });

    describe('whose backend goes on after [DONE]', () => {
      const passTime = useHeldTime();

      it('end there, and a second later their connection', async () => {
        scripted.reply(async ({ sse, hang }) => {
          await sse(textChunk('Hi'), '[DONE]', textChunk('too late'));
          await hang();
        });

        const answer = await ask(connect());

        expect(textOf(await collect(answer))).to.equal('Hi');
        await passTime(999);
        expect(scripted.closed).to.have.length(0);
        await passTime(1);
        expect(await (await scripted.request(1)).closed).to.include({ aborted: true });
      });

      it('have their connection used again when the reply ends soon', async () => {
        scripted.always(async ({ sse, wait, end }) => {
          await sse(textChunk('Hi'), '[DONE]');
          await wait(900);
          end();
        });
        const backend = connect();

        for (let n = 0; n < 2; n++) {
          await collect(await ask(backend));
          await passTime(900);
        }

        expect(scripted.requests.map((request) => request.connection)).to.deep.equal([0, 0]);
      });
    });

    it('closes a connection that brings much more after [DONE]', async () => {
      scripted.reply(async ({ sse, write }) => {
        await sse(textChunk('Hi'), '[DONE]');
        while (await write(`: ${'x'.repeat(1 << 16)}\n`));
      });

      await collect(await ask(connect()));

      expect(await (await scripted.request(1)).closed).to.include({ aborted: true });
    });

    for (const [name, reply, expected] of [
      ['a stream without [DONE]', { sse: [textChunk('Hi')], done: false }, { text: 'Hi', done: false }],
      ['a stream of nothing but [DONE]', { sse: [] }, { text: '', done: true }],
      ['a stream of nothing at all', { sse: [], done: false }, { text: '', done: undefined }],
      [
        'comments before the first chunk',
        { text: `: wait\n\n: wait\n\ndata: ${JSON.stringify(textChunk('Hi'))}\n\n` },
        { text: 'Hi', done: false },
      ],
      [
        'a stream without a content type',
        { text: `data: ${JSON.stringify(textChunk('Hi'))}\n\ndata: [DONE]\n\n` },
        { text: 'Hi', done: true },
      ],
      [
        'a stream that claims to be JSON',
        { sse: [textChunk('Hi')], headers: { 'content-type': 'application/json' } },
        { text: 'Hi', done: true },
      ],
      [
        'a stream that begins with an event name',
        { text: `event: message\ndata: ${JSON.stringify(textChunk('Hi'))}\n\n` },
        { text: 'Hi', done: false },
      ],
      [
        'a stream after empty lines',
        { text: `\n\ndata: ${JSON.stringify(textChunk('Hi'))}\n\n` },
        { text: 'Hi', done: false },
      ],
      ['a completion', { json: completion('Hi') }, { text: 'Hi', done: true }],
      [
        'a completion that claims to be a stream',
        { json: completion('Hi'), headers: { 'content-type': 'text/event-stream; charset=utf-8' } },
        { text: 'Hi', done: true },
      ],
      ['a completion without a content type', { text: JSON.stringify(completion('Hi')) }, { text: 'Hi', done: true }],
      [
        'a completion after empty lines and a byte order mark',
        { text: `\uFEFF\n\n \r\n${JSON.stringify(completion('Hi'))}` },
        { text: 'Hi', done: true },
      ],
      [
        'a completion in an envelope of success',
        { json: { ...completion('Hi'), code: 0, msg: 'success', base_resp: { status_code: 0, status_msg: '' } } },
        { text: 'Hi', done: true },
      ],
      ['a completion with error: null', { json: { ...completion('Hi'), error: null } }, { text: 'Hi', done: true }],
    ] as const satisfies readonly (readonly [string, Reply, object])[]) {
      for (const [kind, request] of [
        ['stream', STREAM_REQUEST],
        ['JSON', JSON_REQUEST],
      ] as const) {
        it(`reads ${name} as the answer to a ${kind} request`, async () => {
          scripted.reply(reply);

          const batches = await collect(await ask(connect(), request));

          expect({ text: textOf(batches), done: batches.at(-1)?.done }).to.deep.equal(expected);
        });
      }
    }

    it('reads a completion whose byte order mark comes one byte at a time', async () => {
      scripted.reply(async ({ start, drip, end }) => {
        start(200, { 'content-type': 'application/json' });
        await drip('\uFEFF', { pieceBytes: 1, everyMs: 20 });
        end(JSON.stringify(completion('Hi')));
      });
      expect(textOf(await collect(await ask(connect(), JSON_REQUEST)))).to.equal('Hi');
    });

    it('reads a stream whose first bytes come one at a time', async () => {
      const text = `data: ${JSON.stringify(textChunk('grüße 漢字'))}\n\ndata: [DONE]\n\n`;
      scripted.reply(async ({ start, drip, end }) => {
        start(200, {});
        await drip(text.slice(0, 12), { pieceBytes: 1, everyMs: 1 });
        await drip(text.slice(12), { pieceBytes: 7, everyMs: 0 });
        end();
      });

      expect(textOf(await collect(await ask(connect())))).to.equal('grüße 漢字');
    });

    it('waits through informational replies', async () => {
      scripted.reply(async ({ res, sse, end }) => {
        res.writeProcessing();
        await allArrived();
        await sse(textChunk('Hi'), '[DONE]');
        end();
      });

      expect(textOf(await collect(await ask(connect())))).to.equal('Hi');
    });

    for (const [name, reply] of [
      ['a web page', { text: HTML, headers: { 'content-type': 'text/html' } }],
      ['a web page that claims to be a stream', { text: HTML, headers: { 'content-type': 'text/event-stream' } }],
      ['plain text', { text: 'OK' }],
      ['text that begins like a field', { text: 'dat' }],
      ['nothing', { text: '' }],
      ['a 204', { text: '', status: 204, headers: { 'content-length': '0' } }],
      ['JSON cut short', { text: '{"choices":[{"message":{"content":"Hi' }],
      ['several lines of JSON', { text: NDJSON }],
      ['an empty object', { json: {} }],
      ['an empty list', { json: [] }],
      ['null', { text: 'null', headers: { 'content-type': 'application/json' } }],
      ['an object without choices', { json: { id: 'x', object: 'list', data: [] } }],
      [
        'a compressed answer',
        { text: gzipSync(JSON.stringify(completion('Hi'))), headers: { 'content-encoding': 'gzip' } },
      ],
      ['an event that is not JSON', { text: 'data: oops\n\n' }],
    ] as const satisfies readonly (readonly [string, Reply])[]) {
      it(`refuses ${name} as upstream_invalid_response`, async () => {
        scripted.reply(reply);

        const error = await apiRejection(ask(connect()));

        expect(error).to.include({ code: 'upstream_invalid_response', status: 502 });
        expect(error.message).to.not.match(/Welcome|<html/);
      });
    }

    it('tells the operator of a web page in place of an answer', async () => {
      const problems: string[] = [];
      scripted.reply({ text: HTML });

      await apiRejection(ask(connect({ onOperatorProblem: (problem) => problems.push(problem) })));

      expect(problems).to.have.length(1);
      expect(problems[0]).to.match(/UPSTREAM_BASE_URL/);
    });
  });

  describe('failures', () => {
    for (const [name, reply, expected] of [
      [
        'a refusal',
        { json: { error: { message: 'Bad', param: 'messages[0]' } }, status: 400 },
        { code: 'invalid_request', status: 400, message: 'Bad', param: 'input' },
      ],
      [
        'a failure',
        { json: { error: { message: 'Oops' } }, status: 500 },
        { code: 'upstream_error', status: 502, message: 'Oops' },
      ],
      [
        'a redirect',
        { text: '', status: 302, headers: { location: 'http://127.0.0.1:9/' } },
        { code: 'upstream_invalid_response', status: 502 },
      ],
      [
        'another protocol',
        ({ res }) =>
          void res.socket?.write('HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\n'),
        { code: 'upstream_invalid_response', status: 502 },
      ],
      [
        'no protocol',
        ({ res }) => void res.socket?.write('HTTP/1.1 101 Switching Protocols\r\n\r\n'),
        { code: 'upstream_invalid_response', status: 502 },
      ],
      [
        'a failed event stream',
        { sse: [{ error: { message: 'Bad' } }], status: 400 },
        { code: 'invalid_request', message: 'Bad' },
      ],
      [
        'a compressed refusal',
        { text: gzipSync('{"error":{"message":"Bad"}}'), status: 400, headers: { 'content-encoding': 'gzip' } },
        { code: 'invalid_request', status: 400 },
      ],
      [
        'an error in a 200',
        { json: { error: { message: 'Slow down', code: 429 } } },
        { code: 'rate_limit_exceeded', status: 429, message: 'Slow down' },
      ],
      [
        'a list with an error in a 200',
        { json: [{ error: { message: 'Slow down', code: 429 } }] },
        { code: 'rate_limit_exceeded', status: 429 },
      ],
      [
        'a bare message in a 200',
        { json: { code: 401, msg: 'Who are you?' } },
        { code: 'invalid_api_key', status: 401, message: 'Who are you?' },
      ],
      [
        'a bare message beside no choices in a 200',
        { json: { choices: [], code: 429, msg: 'Slow down' } },
        { code: 'rate_limit_exceeded', status: 429, message: 'Slow down' },
      ],
      [
        "MiniMax's error in a 200",
        { json: { choices: null, base_resp: { status_code: 1002, status_msg: 'Slow down' } } },
        { code: 'upstream_error', status: 502, message: 'Slow down' },
      ],
      [
        'a bare message as the only event',
        { sse: [{ code: 401, msg: 'Who are you?' }] },
        { code: 'invalid_api_key', status: 401, message: 'Who are you?' },
      ],
      [
        'an error as the first event',
        { sse: [{ error: { message: 'Busy', code: 503 } }] },
        { code: 'upstream_error', status: 503, message: 'Busy' },
      ],
      [
        'an error event after comments',
        { text: ': wait\n\nevent: error\ndata: {"message":"Busy","code":529}\n\n' },
        { code: 'upstream_error', status: 503 },
      ],
    ] as const satisfies readonly (readonly [string, Reply, object])[]) {
      it(`rejects with what ${name} means`, async () => {
        scripted.reply(reply);

        expect(await apiRejection(ask(connect()))).to.include(expected);
      });
    }

    for (const [name, wrap] of [
      ['a stream', (json: string) => `data: ${json}\n\n`],
      ['a completion', (json: string) => json],
    ] as const) {
      it(`bears an error in ${name} that is nested without end`, async () => {
        const deep = `${'['.repeat(200_000)}${']'.repeat(200_000)}`;
        scripted.reply({ text: wrap(`{"error":{"message":${deep}}}`) });

        expect(await apiRejection(ask(connect()))).to.include({ code: 'upstream_invalid_response', status: 502 });
      });
    }

    it('gives the chunks before an error in the stream', async () => {
      scripted.reply({ sse: [textChunk('Hel'), { error: { message: 'Lost the GPU' } }, textChunk('lo')] });
      const texts: string[] = [];

      const answer = await ask(connect());
      const error = await apiRejection(
        (async () => {
          for await (const batch of answer.batches) texts.push(textOf([batch]));
        })(),
      );

      expect(texts).to.deep.equal(['Hel']);
      expect(error).to.include({ code: 'upstream_error', message: 'Lost the GPU' });
    });

    it('keeps the headers that say when to ask again', async () => {
      scripted.reply({
        json: { error: { message: 'Slow down' } },
        status: 429,
        headers: { 'retry-after': '3', 'x-request-id': 'up1' },
      });

      const error = await apiRejection(ask(connect()));

      expect(error.headers).to.deep.equal({ 'retry-after': '3', 'x-upstream-request-id': 'up1' });
    });

    it('never repeats the key that was sent', async () => {
      scripted.reply({
        json: { error: { message: 'The key caller-key-1 (Bearer caller-key-1) is unknown' } },
        status: 401,
      });

      const error = await apiRejection(ask(connect()));

      expect(JSON.stringify(error.toBody())).to.not.include('caller-key-1');
    });

    it("hides that the gateway's own key is refused, and tells the operator", async () => {
      const problems: string[] = [];
      scripted.always({ json: { error: { message: 'Incorrect API key sk-123456789' } }, status: 401 });

      const error = await apiRejection(
        ask(connect({ keyOwner: 'gateway', onOperatorProblem: (problem) => problems.push(problem) })),
      );

      expect(error).to.include({ code: 'upstream_error', status: 502 });
      expect(problems).to.have.length(1);
    });

    it('reads no more of a refusal than it needs', async () => {
      scripted.reply(async ({ start, write }) => {
        start(500, { 'content-type': 'text/plain' });
        while (await write('x'.repeat(1 << 16)));
      });

      const error = await apiRejection(ask(connect()));

      expect(error.code).to.equal('upstream_error');
      expect(error.message).to.have.length(1000);
      expect(await scripted.requests[0]?.closed).to.include({ aborted: true });
    });

    it('takes the status of a refusal whose body breaks off', async () => {
      scripted.reply(async ({ start, write, cut }) => {
        start(429, { 'retry-after': '3' });
        await write('{"error":');
        cut();
      });

      const error = await apiRejection(ask(connect()));

      expect(error).to.include({ code: 'rate_limit_exceeded', status: 429 });
      expect(error.headers).to.include({ 'retry-after': '3' });
    });

    it('throws what is no ApiError for a header that cannot be sent, since that is our mistake', async () => {
      const error = await rejection(
        askFor(connect(), JSON_REQUEST, { signal, headers: { authorization: 'Bearer a\nb' } }),
      );

      expect(error).to.be.instanceOf(Error).and.not.instanceOf(ApiError);
      expect(scripted.requests).to.have.length(0);
    });

    it('ends what runs as draining when it is closed', async () => {
      scripted.reply(async ({ sse, hang }) => {
        await sse(textChunk('Hi'));
        await hang();
      });
      const backend = connect();
      const answer = await ask(backend);

      const collecting = apiRejection(collect(answer));
      await backend.close();

      expect((await collecting).code).to.equal('gateway_draining');
      expect((await apiRejection(ask(backend))).code).to.equal('gateway_draining');
    });
  });

  describe('a backend that refuses stream_options', () => {
    const refusal = {
      json: { detail: [{ loc: ['body', 'stream_options'], msg: 'Extra inputs are not permitted' }] },
      status: 422,
    };
    const withOptions = (): boolean[] =>
      scripted.requests.map((request) => Object.hasOwn(request.body as object, 'stream_options'));

    it('is asked again without, and later requests leave it out at once', async () => {
      scripted.reply(refusal);
      scripted.always({ sse: [textChunk('Hi')] });
      const backend = connect();

      expect(textOf(await collect(await ask(backend)))).to.equal('Hi');
      expect(textOf(await collect(await ask(backend)))).to.equal('Hi');

      expect(withOptions()).to.deep.equal([true, false, false]);
      expect(scripted.requests[1]?.body).to.deep.equal({ ...JSON_REQUEST, stream: true });
    });

    for (const [name, reply] of [
      ['400 that names include_usage', { json: { error: { message: 'Unknown field include_usage' } }, status: 400 }],
      ['400 in plain text', { text: 'json: unknown field "stream_options"', status: 400 }],
    ] as const) {
      it(`is recognised by a ${name}`, async () => {
        scripted.reply(reply, { sse: [textChunk('Hi')] });

        expect(textOf(await collect(await ask(connect())))).to.equal('Hi');
      });
    }

    it('is not remembered when the second answer is a refusal as well', async () => {
      const otherwise = { json: { error: { message: 'Your words "stream_options" are too long' } }, status: 400 };
      scripted.reply(otherwise, otherwise, { sse: [textChunk('Hi')] });
      const backend = connect();

      expect((await apiRejection(ask(backend))).code).to.equal('invalid_request');
      await collect(await ask(backend));

      expect(withOptions()).to.deep.equal([true, false, true]);
    });

    for (const [name, reply, request] of [
      [
        'the refusal is about something else',
        { json: { error: { message: 'Bad temperature' } }, status: 400 },
        STREAM_REQUEST,
      ],
      [
        'the status is another one',
        { json: { error: { message: 'stream_options broke the server' } }, status: 500 },
        STREAM_REQUEST,
      ],
      ['it was not sent', refusal, JSON_REQUEST],
    ] as const) {
      it(`is not asked again when ${name}`, async () => {
        scripted.reply(reply);

        await apiRejection(ask(connect(), request));

        expect(scripted.requests).to.have.length(1);
      });
    }
  });

  describe('a backend that refuses a field that can be left out', () => {
    const passTime = useHeldTime();
    const HOUR_MS = 3_600_000;
    const OPTIONS: Partial<ChatRequest> = {
      parallel_tool_calls: false,
      service_tier: 'flex',
      reasoning_effort: 'max',
      verbosity: 'low',
      prompt_cache_key: 'k',
      safety_identifier: 's',
      user: 'u',
      logprobs: true,
      top_logprobs: 2,
    };
    const ok = { json: completion('Hi') };
    const refuse = (message: string, status = 400) => ({ json: { error: { message } }, status });
    const sent = (): string[][] =>
      scripted.requests.map(({ body }) => Object.keys(body as object).filter((name) => Object.hasOwn(OPTIONS, name)));

    /** The words of each, as public reports have them. */
    const refusals: [field: keyof ChatRequest, reply: ReturnType<typeof refuse> | { json: object; status: number }][] =
      [
        ['prompt_cache_key', refuse('Unrecognized request argument supplied: prompt_cache_key')],
        ['reasoning_effort', refuse('reasoning_effort: unknown variant `max`, expected one of `high`, `low`')],
        ['reasoning_effort', refuse('Budget 0 is invalid. This model only works in thinking mode.')],
        ['reasoning_effort', refuse('The model does not support setting thinking_budget to 0.')],
        ['reasoning_effort', refuse('Model grok-4 does not support parameter reasoningEffort.')],
        ['service_tier', refuse('Invalid service_tier argument: no access to flex')],
        [
          'parallel_tool_calls',
          refuse("Unsupported parameter: 'parallel_tool_calls' is not supported with this model."),
        ],
        ['verbosity', refuse("Unknown parameter: 'verbosity'.")],
        [
          'safety_identifier',
          { json: { detail: [{ loc: ['body', 'safety_identifier'], msg: 'Extra inputs' }] }, status: 422 },
        ],
        ['user', { json: { detail: [{ loc: ['body', 'user'], msg: 'Extra inputs are not permitted' }] }, status: 422 }],
        ['user', refuse("property 'user' is unsupported")],
      ];
    for (const [field, reply] of refusals) {
      it(`is asked again without ${field}, and later requests leave it out at once`, async () => {
        scripted.reply(reply, ok, ok);
        const backend = connect();
        const request = { ...JSON_REQUEST, ...OPTIONS };
        const others = Object.keys(OPTIONS).filter((name) => name !== field);

        for (const _ of [1, 2]) await collect(await ask(backend, request));

        expect(sent()).to.deep.equal([Object.keys(OPTIONS), others, others]);
      });
    }

    it('loses top_logprobs with logprobs', async () => {
      scripted.reply(refuse('logprobs is not supported by this model'), ok);
      await collect(await ask(connect(), { ...JSON_REQUEST, logprobs: true, top_logprobs: 2 }));
      expect(sent()).to.deep.equal([['logprobs', 'top_logprobs'], []]);
    });

    it('is asked for usage still where it refuses include_obfuscation', async () => {
      scripted.reply(refuse("Unknown parameter: 'stream_options.include_obfuscation'."), ok, ok);
      const backend = connect();
      const plain = { stream_options: { include_usage: true, include_obfuscation: false } } as const;
      for (const _ of [1, 2]) await collect(await ask(backend, { ...STREAM_REQUEST, ...plain }));
      const { stream_options: usage } = STREAM_REQUEST;
      expect(scripted.requests.map(({ body }) => Reflect.get(body as object, 'stream_options'))).to.deep.equal([
        plain.stream_options,
        usage,
        usage,
      ]);
    });

    it('is asked once for each field that it names', async () => {
      scripted.reply(refuse('Unknown field: verbosity'), refuse('Unknown field: service_tier'), ok, ok);
      const backend = connect();
      const request = { ...JSON_REQUEST, verbosity: 'low', service_tier: 'flex' };
      for (const _ of [1, 2]) await collect(await ask(backend, request));
      expect(sent().map((fields) => fields.length)).to.deep.equal([2, 1, 0, 0]);
    });

    it('is told of them', async () => {
      scripted.reply(refuse('Unknown field: verbosity'), ok);
      const told: unknown[] = [];
      const backend = connect({ onRefusedFields: (model, fields) => told.push([model, fields]) });
      let leftOut: readonly string[] = [];
      const listener = { begin: (answer: BegunAnswer) => void (leftOut = answer.leftOut), take: () => undefined };
      await backend.ask({ ...JSON_REQUEST, verbosity: 'low' }, { signal, headers: {} }, listener);
      expect(leftOut).to.deep.equal(['verbosity']);
      expect([backend.refusals.any(), backend.refusals.forModel('other')]).to.deep.equal([true, []]);
      expect(backend.refusals.forModel('m')).to.deep.equal(['verbosity']);
      await passTime(HOUR_MS);
      expect([backend.refusals.any(), backend.refusals.forModel('m')]).to.deep.equal([false, []]);
      expect(told).to.deep.equal([['m', ['verbosity']]]);
    });

    for (const [name, first, second] of [
      ['another model', {}, { model: 'other' }],
      ['another value', {}, { service_tier: 'auto' }],
    ] as const) {
      it(`is sent it again for ${name}`, async () => {
        scripted.reply(refuse('Unknown field: service_tier'), ok, ok);
        const backend = connect();
        await collect(await ask(backend, { ...JSON_REQUEST, service_tier: 'flex', ...first }));
        await collect(await ask(backend, { ...JSON_REQUEST, service_tier: 'flex', ...second }));
        expect(sent().map((fields) => fields.length)).to.deep.equal([1, 0, 1]);
      });
    }

    it('is sent it again after an hour', async () => {
      scripted.reply(refuse('Unknown field: verbosity'), ok, ok, ok);
      const backend = connect();
      const request = { ...JSON_REQUEST, verbosity: 'low' };
      await collect(await ask(backend, request));
      await passTime(HOUR_MS - 1);
      await collect(await ask(backend, request));
      await passTime(1);
      await collect(await ask(backend, request));
      expect(sent().map((fields) => fields.length)).to.deep.equal([1, 0, 0, 1]);
    });

    it('takes the bad key of one caller for no fault of the field', async () => {
      scripted.reply(refuse("Invalid 'prompt_cache_key': string too long"), ok, ok);
      const backend = connect();
      for (const key of ['k'.repeat(99), 'k']) {
        await collect(await ask(backend, { ...JSON_REQUEST, prompt_cache_key: key }));
      }
      expect(sent().map((fields) => fields.length)).to.deep.equal([1, 0, 1]);
    });

    for (const message of ["Unexpected role 'user' after role 'tool'", 'The last message must be from the user.']) {
      it(`is not asked again for "${message}"`, async () => {
        scripted.reply(refuse(message));
        await apiRejection(ask(connect(), { ...JSON_REQUEST, user: 'u' }));
        expect(scripted.requests).to.have.length(1);
      });
    }
  });
});

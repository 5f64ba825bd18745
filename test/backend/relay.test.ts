import { setImmediate } from 'node:timers/promises';
import { gzipSync } from 'node:zlib';
import { expect } from 'chai';
import type { ChatBackend, ChatBackendOptions, ChatRelay, RelayRequest } from '../../src/backend/chat.ts';
import { ApiError } from '../../src/core/errors.ts';
import { startScriptedBackend, type Reply, type ScriptedBackend } from '../support/backend.ts';
import { useRealSockets } from '../support/real-sockets.ts';
import {
  type Answered,
  apiRejection,
  askFor,
  completion,
  connectTo,
  type RelayAnswer,
  relayFor,
  rejection,
  STREAM_REQUEST,
  textChunk,
} from './asking.ts';
import { useHeldTime } from '../support/held-time.ts';
import { allArrived } from '../support/time.ts';

const USAGE_CHUNK = { choices: [], usage: { prompt_tokens: 1, completion_tokens: 2, total_tokens: 3 } };
const JSON_BODY = '{ "model":"m",  "temperature": 1.0 }';
const STREAM_BODY = '{"model":"m","stream":true}';
const WITH_USAGE = '{"model":"m","stream":true,"stream_options":{"include_usage":true}}';
const KEY = 'sk-gateway-1-and-more';

function requestOf(body: string, bodyWithUsage?: string): RelayRequest {
  return {
    model: 'm',
    stream: body !== JSON_BODY,
    canAskForUsage: bodyWithUsage !== undefined,
    body: (asksForUsage) => Buffer.from((asksForUsage && bodyWithUsage) || body),
  };
}

type Refused = Extract<RelayAnswer, { kind: 'refused' }>;

async function answered(answer: Promise<RelayAnswer>): Promise<Answered> {
  const got = await answer;
  if (got.kind === 'refused') throw got.error;
  return got;
}

async function refused(answer: Promise<RelayAnswer>): Promise<Refused> {
  const got = await answer;
  if (got.kind === 'answered') throw new Error('expected a refusal');
  return got;
}

async function read({ reads }: Answered): Promise<{ text: string; chunks: number; done: boolean; failure?: ApiError }> {
  const bytes: Uint8Array[] = [];
  let chunks = 0;
  let done = false;
  let failure: ApiError | undefined;
  for await (const read of reads) {
    bytes.push(read.bytes);
    chunks += read.chunks.length;
    done ||= read.done;
    failure ??= read.failure;
  }
  return { text: Buffer.concat(bytes).toString(), chunks, done, ...(failure !== undefined && { failure }) };
}

describe('the relay of the backend client', () => {
  useRealSockets();

  let backend: ScriptedBackend;
  let client: ChatBackend & ChatRelay;
  let problems: string[];

  beforeEach(async () => {
    backend = await startScriptedBackend();
    problems = [];
    connect();
  });

  afterEach(async () => {
    await client.close();
    await backend.close();
  });

  function connect(overrides: Partial<ChatBackendOptions> = {}): void {
    client = connectTo(backend.baseUrl, {
      keyOwner: 'gateway',
      onOperatorProblem: (problem) => problems.push(problem),
      ...overrides,
    });
  }

  function relay(request: RelayRequest, signal = new AbortController().signal): Promise<RelayAnswer> {
    return relayFor(client, request, { signal, headers: { authorization: `Bearer ${KEY}` } });
  }

  it('sends the bytes of the request as they are', async () => {
    backend.reply(({ request, res }) => {
      res.end(JSON.stringify({ choices: [], echo: request.body }));
    });
    await read(await answered(relay(requestOf('{"model":"m","x":"\\u00e9"'))));
    // No JSON, and so the script has seen the text itself.
    expect(backend.requests[0]?.body).to.equal('{"model":"m","x":"\\u00e9"');
    expect(backend.requests[0]?.headers).to.include({
      authorization: `Bearer ${KEY}`,
      'accept-encoding': 'identity',
      'content-type': 'application/json',
    });
  });

  it('gives the bytes of a completion beside what they say', async () => {
    const text = ` \n${JSON.stringify(completion('Hi'), null, 2)}\n`;
    backend.reply({ text, headers: { 'content-type': 'application/json', 'x-more': '1' }, status: 201 });
    const answer = await answered(relay(requestOf(JSON_BODY)));
    expect(answer).to.include({ status: 201, isEventStream: false });
    expect(answer.headers).to.include({ 'x-more': '1' });
    expect(await read(answer)).to.deep.equal({ text, chunks: 1, done: true });
    expect(backend.requests[0]?.headers['accept']).to.equal('application/json');
  });

  it('gives the bytes of a stream to their end, also after [DONE]', async () => {
    backend.reply({ sse: [textChunk('Hi'), '[DONE]', 'more'] });
    const answer = await answered(relay(requestOf(STREAM_BODY)));
    expect(answer.isEventStream).to.equal(true);
    expect(await read(answer)).to.deep.equal({
      text: `data: ${JSON.stringify(textChunk('Hi'))}\n\ndata: [DONE]\n\ndata: more\n\ndata: [DONE]\n\n`,
      chunks: 1,
      done: true,
    });
  });

  it('gives the bytes of an error in the stream, and what it means', async () => {
    backend.reply({ sse: [textChunk('Hi'), { error: { message: 'broken', code: 503 } }], done: false });
    const { text, failure } = await read(await answered(relay(requestOf(STREAM_BODY))));
    expect(text).to.contain('"message":"broken"');
    expect(failure).to.include({ code: 'upstream_error', status: 503 });
  });

  it('gives the bytes of a failure without our key, also behind a status of 200', async () => {
    const failure = { error: { message: `You sent ${KEY}.`, param: KEY, code: 503 } };
    for (const sse of [[textChunk('Hi'), failure], [failure], [textChunk('Hi'), USAGE_CHUNK, `no JSON ${KEY}`]]) {
      backend.reply({ sse, done: false });
      const { text, failure: told } = await read(await answered(relay(requestOf(STREAM_BODY, WITH_USAGE))));
      expect(text).not.to.contain(KEY);
      expect(text).to.contain('*'.repeat(KEY.length));
      expect(`${told?.message} ${told?.param}`).not.to.contain(KEY);
    }
    backend.reply({ json: failure, headers: { 'x-request-id': KEY } });
    const answer = await answered(relay(requestOf(JSON_BODY)));
    expect(answer.headers['x-request-id']).to.equal(undefined);
    expect((await read(answer)).text).to.equal(JSON.stringify(failure).replaceAll(KEY, '*'.repeat(KEY.length)));
  });

  it('hides the chunk of usage from a client that did not ask for it', async () => {
    backend.reply({ sse: [textChunk('Hi'), USAGE_CHUNK] });
    const said = await read(await answered(relay(requestOf(STREAM_BODY, WITH_USAGE))));
    expect(backend.requests[0]?.body).to.deep.equal(JSON.parse(WITH_USAGE));
    expect(said).to.deep.equal({
      text: `data: ${JSON.stringify(textChunk('Hi'))}\n\ndata: [DONE]\n\n`,
      chunks: 2,
      done: true,
    });
  });

  it('shows it to a client that did', async () => {
    backend.reply({ sse: [USAGE_CHUNK] });
    const said = await read(await answered(relay(requestOf(WITH_USAGE))));
    expect(said.text).to.equal(`data: ${JSON.stringify(USAGE_CHUNK)}\n\ndata: [DONE]\n\n`);
  });

  describe('with a backend that refuses stream_options', () => {
    const refusal = { json: { error: { message: 'Unknown field: stream_options' } }, status: 400 };

    it('asks again without what the client did not write, and remembers that', async () => {
      backend.reply(refusal, { sse: [USAGE_CHUNK] }, { sse: [] }, { sse: [] });
      const said = await read(await answered(relay(requestOf(STREAM_BODY, WITH_USAGE))));
      // It was not asked for here, so it is the client's.
      expect(said.text).to.contain('"usage"');
      await read(await answered(relay(requestOf(STREAM_BODY, WITH_USAGE))));
      await askFor(client, STREAM_REQUEST, { signal: new AbortController().signal, headers: {} }).catch(
        () => undefined,
      );
      expect(backend.requests.map(({ body }) => Object.hasOwn(body as object, 'stream_options'))).to.deep.equal([
        true,
        false,
        false,
        false,
      ]);
    });

    it('passes the refusal on to a client that wrote the option itself', async () => {
      backend.reply(refusal);
      const { body } = await refused(relay(requestOf(WITH_USAGE)));
      expect(JSON.parse(body.toString())).to.deep.equal(refusal.json);
      expect(backend.requests).to.have.length(1);
    });
  });

  describe('of a refusal', () => {
    it('gives the bytes when the backend speaks to the client', async () => {
      const text = '{ "error": {"message":"Too hot.", "param":"temperature", "code": null} }';
      backend.reply({ text, status: 422, headers: { 'content-type': 'application/problem+json; charset=utf-8' } });
      const refusal = await refused(relay(requestOf(JSON_BODY)));
      expect(refusal).to.include({ status: 422 });
      expect(refusal.body.toString()).to.equal(text);
      expect(refusal.error).to.include({ code: 'invalid_request', status: 422 });
    });

    it('says that a model is not there in the words of the backend', async () => {
      const json = { error: { message: 'The model `m` does not exist.', code: 'model_not_found' } };
      backend.reply({ json, status: 404 });
      const { body, error } = await refused(relay(requestOf(JSON_BODY)));
      expect(JSON.parse(body.toString())).to.deep.equal(json);
      expect(error.code).to.equal('model_not_found');
    });

    const ours: { name: string; reply: Reply; code: string; status: number }[] = [
      {
        name: 'our own key',
        reply: { json: { error: { message: `Bad key ${KEY}` } }, status: 401 },
        code: 'upstream_error',
        status: 502,
      },
      {
        name: 'our own account',
        reply: { json: { error: { message: 'No money', code: 'insufficient_quota' } }, status: 429 },
        code: 'upstream_error',
        status: 502,
      },
      {
        name: 'a wrong address',
        reply: { json: { detail: 'Not Found' }, status: 404 },
        code: 'upstream_error',
        status: 502,
      },
      {
        name: 'a failure of the backend',
        reply: { json: { error: { message: 'Out of memory' } }, status: 500 },
        code: 'upstream_error',
        status: 502,
      },
      { name: 'a redirect', reply: { text: '', status: 302 }, code: 'upstream_invalid_response', status: 502 },
      {
        name: 'a web page',
        reply: { text: '<html>No</html>', status: 413, headers: { 'content-type': 'text/html' } },
        code: 'payload_too_large',
        status: 413,
      },
      {
        name: 'a body that is too long to pass on whole',
        reply: { json: { error: { message: 'x'.repeat(70_000) } }, status: 400 },
        code: 'invalid_request',
        status: 400,
      },
      {
        name: 'a compressed body',
        reply: {
          text: gzipSync('{"error":{"message":"x"}}'),
          status: 400,
          headers: { 'content-type': 'application/json', 'content-encoding': 'gzip' },
        },
        code: 'invalid_request',
        status: 400,
      },
    ];
    for (const { name, reply, code, status } of ours) {
      it(`throws an error of our own for ${name}`, async () => {
        backend.reply(reply);
        const error = await apiRejection(relay(requestOf(JSON_BODY)));
        expect(error).to.include({ code, status });
        expect(error.message).not.to.contain(KEY);
      });
    }

    it('tells the operator of what only he can mend', async () => {
      backend.reply({ json: { error: { message: 'Bad key' } }, status: 403 });
      await apiRejection(relay(requestOf(JSON_BODY)));
      expect(problems.join()).to.contain('UPSTREAM_API_KEY');
    });

    it('does not pass on a body that quotes our key', async () => {
      backend.reply({ json: { error: { message: `You sent ${KEY}.` } }, status: 400 });
      const error = await apiRejection(relay(requestOf(JSON_BODY)));
      expect(error).to.include({ code: 'invalid_request', status: 400 });
      expect(error.message).not.to.contain(KEY);
    });
  });

  it('refuses an answer that is compressed', async () => {
    backend.reply({ text: gzipSync('{}'), headers: { 'content-encoding': 'gzip' } });
    expect(await apiRejection(relay(requestOf(JSON_BODY)))).to.include({ code: 'upstream_invalid_response' });
  });

  it('says when the backend cannot be reached', async () => {
    await client.close();
    connect({ baseUrl: 'http://127.0.0.1:1/v1' });
    expect(await apiRejection(relay(requestOf(JSON_BODY)))).to.include({ code: 'upstream_unreachable' });
  });

  it('throws when the stream is cut, after what came before', async () => {
    backend.reply(async ({ sse, cut }) => {
      await sse(textChunk('Hi'));
      await allArrived();
      cut('reset');
    });
    const { reads } = await answered(relay(requestOf(STREAM_BODY)));
    const iterator = reads[Symbol.asyncIterator]();
    expect((await iterator.next()).value)
      .to.have.property('chunks')
      .with.length(1);
    expect(await apiRejection(iterator.next())).to.include({ code: 'upstream_error' });
  });

  describe('with a limit for silence', () => {
    const passTime = useHeldTime();

    beforeEach(async () => {
      await client.close();
      connect({ idleTimeoutMs: 50 });
    });

    it('throws when the backend falls silent in the middle', async () => {
      backend.reply(async ({ sse, hang }) => {
        await sse(textChunk('Hi'));
        await hang();
      });
      const failure = apiRejection(read(await answered(relay(requestOf(STREAM_BODY)))));
      await passTime(50);
      expect(await failure).to.include({ code: 'upstream_timeout' });
    });

    it('waits for the first chunk as long as for a first byte, whatever keeps the connection alive', async () => {
      backend.reply(async ({ start, write, wait, sse, end }) => {
        start();
        await write(': PROCESSING\n\n');
        await wait(100);
        await sse(textChunk('Hi'));
        end();
      });
      const whole = read(await answered(relay(requestOf(STREAM_BODY))));
      await passTime(100);
      expect(await whole).to.include({ chunks: 1 });
    });
  });

  for (const phase of ['before the headers', 'in the middle']) {
    it(`closes the socket ${phase} when it is aborted`, async () => {
      const started = Promise.withResolvers<void>();
      backend.reply(async ({ sse, hang }) => {
        if (phase === 'in the middle') await sse(textChunk('Hi'));
        started.resolve();
        await hang();
      });
      const abort = new AbortController();
      const whole = relay(requestOf(STREAM_BODY), abort.signal).then((answer) => read(answer as Answered));
      await started.promise;
      abort.abort(new ApiError('request_cancelled'));
      expect(await rejection(whole)).to.include({ code: 'request_cancelled' });
      expect((await backend.requests[0]?.closed)?.aborted).to.equal(true);
    });
  }

  it('closes the socket when nobody reads on', async () => {
    backend.reply(async ({ sse, hang }) => {
      await sse(textChunk('Hi'));
      await hang();
    });
    const { reads } = await answered(relay(requestOf(STREAM_BODY)));
    const iterator = reads[Symbol.asyncIterator]();
    await iterator.next();
    await iterator.return?.();
    expect((await backend.requests[0]?.closed)?.aborted).to.equal(true);
  });

  it('uses a connection again after an answer that was read to its end', async () => {
    backend.reply({ sse: [textChunk('Hi')] }, { json: completion('Hi') });
    await read(await answered(relay(requestOf(STREAM_BODY))));
    // undici takes its connection back after it has told of the end.
    await setImmediate();
    await read(await answered(relay(requestOf(JSON_BODY))));
    expect(backend.requests.map(({ connection }) => connection)).to.deep.equal([0, 0]);
  });
});

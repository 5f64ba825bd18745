import { once } from 'node:events';
import { expect } from 'chai';
import { API_HEADERS } from '../../src/wire/security-headers.ts';
import type { ResponseEvent } from '../../src/contract/types.ts';
import { startScriptedBackend, type Reply, type ScriptedBackend, type Script } from '../support/backend.ts';
import { openGateway, type TestGateway } from '../support/gateway.ts';
import { useHeldTime } from '../support/held-time.ts';
import { chunkOf } from '../support/machine.ts';
import { sendRaw, writesOf } from '../support/raw-request.ts';
import { useRealSockets } from '../support/real-sockets.ts';
import { allArrived } from '../support/time.ts';
import { expectWellFormed, parseEvents } from '../support/well-formed.ts';
import type { TestSettings } from '../support/settings.ts';

const STREAM = { model: 'test-model', input: 'Hello', stream: true };
const JSON_REQUEST = { ...STREAM, stream: false };
const USAGE = { choices: [], usage: { prompt_tokens: 3, completion_tokens: 2, total_tokens: 5 } };
/** How long the gateway waits for usage once the answer has ended. */
const USAGE_WAIT_MS = 5000;
const HI: Reply = { sse: [chunkOf({ content: 'Hi' }), chunkOf({}, 'stop'), USAGE] };

describe('a stream of the gateway', () => {
  useRealSockets();

  let backend: ScriptedBackend;
  let gateway: TestGateway;

  beforeEach(async () => {
    backend = await startScriptedBackend();
    gateway = await openGateway({ UPSTREAM_BASE_URL: backend.baseUrl });
  });

  afterEach(async () => {
    await gateway.close();
    await backend.close();
  });

  async function reopen(settings: TestSettings): Promise<void> {
    await gateway.close();
    gateway = await openGateway({ UPSTREAM_BASE_URL: backend.baseUrl, ...settings });
  }

  async function streamed(): Promise<ResponseEvent[]> {
    const reply = await gateway.create(STREAM);
    expect(reply.status).to.equal(200);
    const events = parseEvents(await reply.text());
    expectWellFormed(events);
    return events;
  }

  describe('on the wire', () => {
    it('has the headers of the contract and is never compressed', async () => {
      backend.reply(HI);
      const reply = await gateway.create(STREAM, { headers: { 'accept-encoding': 'gzip, br, deflate' } });
      const { date: _date, 'x-request-id': requestId, ...headers } = Object.fromEntries(reply.headers);
      expect(headers).to.deep.equal({
        ...API_HEADERS,
        'content-type': 'text/event-stream; charset=utf-8',
        'cache-control': 'no-cache, no-transform',
        'x-accel-buffering': 'no',
        connection: 'keep-alive',
        'keep-alive': 'timeout=75',
        'transfer-encoding': 'chunked',
      });
      const response = expectWellFormed(parseEvents(await reply.text()));
      expect(requestId).to.equal(response.id.replace('resp_', 'req_'));
    });

    it('passes on what the backend says of its limits, and its id under a name of its own', async () => {
      const headers = { 'x-request-id': 'theirs', 'x-ratelimit-remaining-requests': '7', 'set-cookie': 'a=b' };
      backend.reply({ ...HI, headers });
      const reply = await gateway.create(STREAM);
      expect(reply.headers.get('x-upstream-request-id')).to.equal('theirs');
      expect(reply.headers.get('x-ratelimit-remaining-requests')).to.equal('7');
      expect(reply.headers.get('set-cookie')).to.equal(null);
      await reply.text();
    });

    it('splits no event over two writes', async () => {
      backend.reply(async ({ sse, end }) => {
        for (const content of ['One, ', 'two, ', 'thrée']) {
          await sse(chunkOf({ content }));
          await allArrived();
        }
        await sse(chunkOf({}, 'stop'), '[DONE]');
        end();
      });
      const writes = await readWrites(gateway.url, STREAM);
      expect(writes.length).to.be.greaterThan(3);
      for (const write of writes) expect(write).to.match(/^(?:event|data): [^]*\n\n$/);
      expect(expectWellFormed(parseEvents(writes.join(''))).output_text).to.equal('One, two, thrée');
    });

    it('brings each piece of text before the backend has sent the next one', async () => {
      const read = Promise.withResolvers<void>();
      backend.reply(async ({ sse, end }) => {
        await sse(chunkOf({ content: 'first' }));
        await read.promise;
        await sse(chunkOf({ content: ' second' }), chunkOf({}, 'stop'), '[DONE]');
        end();
      });
      const reply = await gateway.create(STREAM);
      let text = '';
      for await (const bytes of reply.body ?? []) {
        text += Buffer.from(bytes).toString();
        if (text.includes('"delta":"first"')) read.resolve();
      }
      expect(expectWellFormed(parseEvents(text)).output_text).to.equal('first second');
    });
  });

  describe('asks the backend for usage', () => {
    it('with every stream, and never with JSON', async () => {
      backend.reply(HI, { json: { choices: [{ message: { content: 'Hi' }, finish_reason: 'stop' }] } });
      const response = expectWellFormed(await streamed());
      expect(response.usage).to.deep.include({ input_tokens: 3, output_tokens: 2, total_tokens: 5 });
      await gateway.create(JSON_REQUEST);
      const [streaming, json] = backend.requests.map(({ body }) => body);
      expect(streaming).to.deep.include({ stream: true, stream_options: { include_usage: true } });
      expect(json).to.not.have.property('stream_options');
      expect(json).to.deep.include({ stream: false });
    });
  });

  describe('ends at once', () => {
    const passTime = useHeldTime();

    it('after [DONE], also when the backend keeps its connection open', async () => {
      backend.reply(async ({ sse, hang }) => {
        await sse(chunkOf({ content: 'Hi' }), chunkOf({}, 'stop'), '[DONE]');
        await hang();
      });
      expect(expectWellFormed(await streamed()).status).to.equal('completed');
      await passTime(1000);
      const closing = await backend.requests[0]?.closed;
      expect(closing?.aborted, 'the gateway does not hold on to such a connection').to.equal(true);
    });

    it('with the usage that comes after the finish reason', async () => {
      backend.reply(async ({ sse, hang }) => {
        await sse(chunkOf({ content: 'Hi' }), chunkOf({}, 'stop'));
        await allArrived();
        await sse(USAGE, '[DONE]');
        await hang();
      });
      expect(expectWellFormed(await streamed()).usage?.total_tokens).to.equal(5);
    });

    it('some seconds after the finish reason when nothing but empty chunks comes', async () => {
      backend.reply(async ({ sse, wait }) => {
        await sse(chunkOf({ content: 'Hi' }), chunkOf({}, 'stop'));
        for (let n = 0; n < 20; n += 1) {
          await wait(1000);
          await sse({ choices: [] });
        }
      });
      const streaming = streamed();
      await backend.request(1);
      await passTime(USAGE_WAIT_MS + 1000);
      expect(expectWellFormed(await streaming).status).to.equal('completed');
    });

    it('some seconds after the finish reason when neither usage nor an end comes', async () => {
      backend.reply(async ({ sse, hang }) => {
        await sse(chunkOf({ content: 'Hi' }), chunkOf({}, 'length'));
        await hang();
      });
      const streaming = streamed();
      await backend.request(1);
      await passTime(USAGE_WAIT_MS);
      expect(expectWellFormed(await streaming).status).to.equal('incomplete');
      expect((await backend.requests[0]?.closed)?.aborted).to.equal(true);
    });
  });

  describe('holds its headers', () => {
    const passTime = useHeldTime();

    const refuse: Script = ({ start, end }) => {
      start(429, { 'retry-after': '7', 'content-type': 'application/json' });
      end('{"error":{"message":"Slow down."}}');
    };

    it('so that a refusal within 10 s is an HTTP error', async () => {
      await reopen({ headerHoldMs: 101 });
      backend.reply(async (stage) => {
        await stage.wait(100);
        await refuse(stage);
      });
      const asking = gateway.create(STREAM);
      await backend.request(1);
      await passTime(100);
      const reply = await asking;
      expect(reply.status).to.equal(429);
      expect(reply.headers.get('retry-after')).to.equal('7');
      expect(await reply.json()).to.deep.equal({
        error: { message: 'Slow down.', type: 'rate_limit_error', param: '', code: 'rate_limit_exceeded' },
      });
    });

    for (const holdMs of [0, 30]) {
      it(`no longer than ${holdMs} ms, after which a refusal is a failed stream`, async () => {
        await reopen({ headerHoldMs: holdMs });
        const letGo = Promise.withResolvers<void>();
        backend.reply(async (stage) => {
          await letGo.promise;
          await refuse(stage);
        });
        const asking = gateway.create(STREAM);
        await backend.request(1);
        await passTime(Math.max(1, holdMs));
        const reply = await asking;
        expect(reply.status).to.equal(200);
        letGo.resolve();
        const events = parseEvents(await reply.text());
        expect(expectWellFormed(events).error).to.deep.equal({ code: 'rate_limit_exceeded', message: 'Slow down.' });
        expect(events.map(({ type }) => type)).to.deep.equal([
          'response.created',
          'response.in_progress',
          'error',
          'response.failed',
        ]);
      });
    }
  });

  describe('shows signs of life', () => {
    const passTime = useHeldTime();

    it('by comments in a silence, from its headers on', async () => {
      await reopen({ headerHoldMs: 0, keepaliveCommentMs: 20 });
      backend.reply(async ({ sse, wait, end }) => {
        await wait(70);
        await sse(chunkOf({ content: 'Hi' }));
        await wait(50);
        await sse(chunkOf({}, 'stop'), '[DONE]');
        end();
      });
      const asking = gateway.create(STREAM);
      await backend.request(1);
      await passTime(200);
      const text = await (await asking).text();
      const [before = '', after = ''] = text.split('"delta":"Hi"');
      const comments = [before, after].map((part) => part.split(': keep-alive\n\n').length - 1);
      expect(comments).to.deep.equal([3, 2]);
      expectWellFormed(parseEvents(text));
    });

    it('by response.in_progress in a longer silence', async () => {
      await reopen({ keepaliveEventMs: 40 });
      backend.reply(async ({ sse, wait, end }) => {
        await sse(chunkOf({ content: 'Hi' }));
        await wait(100);
        await sse(chunkOf({}, 'stop'), '[DONE]');
        end();
      });
      const streaming = streamed();
      await backend.request(1);
      await passTime(100);
      // The first is at the beginning of every stream.
      expect((await streaming).filter(({ type }) => type === 'response.in_progress')).to.have.lengthOf(3);
    });

    it('not while the backend speaks', async () => {
      await reopen({ keepaliveCommentMs: 50, keepaliveEventMs: 50 });
      backend.reply(async ({ sse, wait, end }) => {
        for (let count = 0; count < 5; count += 1) {
          await sse(chunkOf({ content: 'x' }));
          await wait(40);
        }
        await sse(chunkOf({}, 'stop'), '[DONE]');
        end();
      });
      const asking = gateway.create(STREAM);
      await backend.request(1);
      await passTime(5 * 40);
      const text = await (await asking).text();
      expect(text).to.not.include(': keep-alive');
      expect(text.split('event: response.in_progress\n')).to.have.length(2);
    });
  });

  it('fails after its beginning by error and response.failed, where JSON has a status', async () => {
    backend.always({ sse: [chunkOf({ content: 'Half an ans' }), { error: { message: 'Overloaded.' } }], done: false });
    const { status, error, output } = expectWellFormed(await streamed());
    expect({ status, error, output }).to.deep.equal({
      status: 'failed',
      error: { code: 'upstream_error', message: 'Overloaded.' },
      output: [],
    });
    const reply = await gateway.create(JSON_REQUEST);
    expect(reply.status).to.equal(502);
    expect(await reply.json()).to.have.nested.property('error.code', 'upstream_error');
  });

  describe('whose headers are out', () => {
    const passTime = useHeldTime();

    it('fails after FIRST_BYTE_TIMEOUT_MS without a first event', async () => {
      await reopen({ headerHoldMs: 10, FIRST_BYTE_TIMEOUT_MS: '100' });
      backend.reply(({ hang }) => hang());
      const streaming = streamed();
      await backend.request(1);
      await passTime(100);
      const { error } = expectWellFormed(await streaming);
      expect(error?.code).to.equal('upstream_timeout');
    });
  });
});

async function readWrites(url: string, request: object): Promise<string[]> {
  const socket = sendRaw(url, request);
  const pieces: Buffer[] = [];
  socket.on('data', (piece) => pieces.push(piece));
  await once(socket, 'close');
  return writesOf(Buffer.concat(pieces));
}

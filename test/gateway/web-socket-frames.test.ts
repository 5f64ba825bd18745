import { expect } from 'chai';
import { ApiError } from '../../src/core/errors.ts';
import { answer, text } from '../records/chunks.ts';
import { callerOf } from '../records/caller.ts';
import { useRealSockets } from '../support/real-sockets.ts';
import { makeWorkshop } from '../support/sqlite.ts';
import { allArrived } from '../support/time.ts';
import type { ConnectionContext } from '../support/web-socket.ts';
import { errorOf, refusalOf, responseOf, useScene } from '../support/web-socket-scene.ts';

const HELLO = { model: 'm', input: 'Hello' };
const CREATE = { type: 'response.create', ...HELLO };

interface Wrong {
  readonly what: string;
  readonly frame: object | string | Buffer;
  readonly told: ReturnType<typeof refusalOf>;
}

const WRONG: readonly Wrong[] = [
  { what: 'that is no JSON', frame: '{"type": "response.create"', told: [400, 'invalid_json', ''] },
  { what: 'that is binary', frame: Buffer.from(JSON.stringify(CREATE)), told: [400, 'invalid_request', ''] },
  { what: 'that is null', frame: 'null', told: [400, 'invalid_request', ''] },
  { what: 'that is a list', frame: [CREATE], told: [400, 'invalid_request', ''] },
  { what: 'without a type', frame: HELLO, told: [400, 'missing_required_parameter', 'type'] },
  { what: 'of an unknown type', frame: { ...CREATE, type: 'session.update' }, told: [400, 'invalid_request', 'type'] },
  { what: 'that cancels nothing', frame: { type: 'response.cancel' }, told: [400, 'invalid_request', 'type'] },
  { what: 'whose type is no text', frame: { ...CREATE, type: 7 }, told: [400, 'invalid_request', 'type'] },
  { what: 'that wants no stream', frame: { ...CREATE, stream: false }, told: [400, 'invalid_request', 'stream'] },
  {
    what: 'that wants to run in the background',
    frame: { ...CREATE, background: true },
    told: [400, 'unsupported_parameter', 'background'],
  },
  { what: 'of a lane', frame: { ...CREATE, stream_id: 'a' }, told: [400, 'unsupported_parameter', 'stream_id'] },
  {
    what: 'whose generate is no boolean',
    frame: { ...CREATE, generate: 'no' },
    told: [400, 'invalid_request', 'generate'],
  },
  {
    what: 'whose previous response is no text',
    frame: { ...CREATE, previous_response_id: 7 },
    told: [400, 'invalid_request', 'previous_response_id'],
  },
  {
    what: 'with an idempotency key that is none',
    frame: { ...CREATE, idempotency_key: 'k'.repeat(256) },
    told: [400, 'invalid_idempotency_key', 'idempotency_key'],
  },
  {
    what: 'of a conversation',
    frame: { ...CREATE, conversation: 'c' },
    told: [400, 'unsupported_parameter', 'conversation'],
  },
];

describe('a frame', () => {
  useRealSockets();
  const scene = useScene();

  for (const { what, frame, told } of WRONG) {
    it(`${what} is an error, and the connection stays open`, async () => {
      const speaker = await scene.open();
      speaker.send(frame);
      const refused = await speaker.answer();
      expect(refusalOf(refused)).to.deep.equal(told);
      expect(errorOf(refused).headers).to.include({ 'x-should-retry': 'false' });
      expect(errorOf(refused).headers['x-request-id']).to.match(/^req_/);
      expect(scene.backend.requests.length).to.equal(0);
      expect(responseOf(await speaker.ask(HELLO)).output_text).to.equal('Hello');
    });
  }

  it('that wants no stream is told what to write', async () => {
    const speaker = await scene.open();
    const { message } = errorOf(await speaker.ask({ ...HELLO, stream: false })).error;
    expect(message).to.equal('stream must be true.');
  });

  it('may say what it would say over HTTP, in null and in truth', async () => {
    const speaker = await scene.open();
    const nothing = { previous_response_id: null, idempotency_key: null, generate: null, stream_options: null };
    const usual = { stream: true, background: false, store: true, client_metadata: { a: 'b' } };
    responseOf(await speaker.ask({ ...HELLO, ...nothing, ...usual }));
    responseOf(await speaker.ask({ ...HELLO, stream_options: { include_obfuscation: false }, generate: true }));
    const body = scene.backend.requests[0]?.body;
    expect(Object.keys(body as object).sort()).to.deep.equal(['messages', 'model', 'stream', 'stream_options']);
  });

  for (const { what, pieces, code, told } of [
    { what: 'larger than a body may be', pieces: ['x'.repeat(5000)], code: 1009, told: 413 },
    {
      what: 'larger in pieces than a body may be',
      pieces: ['x'.repeat(3000), 'x'.repeat(3000)],
      code: 1009,
      told: 413,
    },
    { what: 'that is no UTF-8', pieces: [Buffer.from([0x22, 0xff, 0x22])], code: 1007, told: 400 },
    { what: 'in more pieces than anybody sends', pieces: Array<string>(4097).fill(''), code: 1008, told: 413 },
  ]) {
    it(`${what} is told, and closes the connection with ${code}`, async () => {
      const speaker = await scene.open({ MAX_BODY_BYTES: '4096' });
      for (const [index, piece] of pieces.entries()) {
        speaker.ws.send(piece, { binary: false, fin: index === pieces.length - 1 });
      }
      expect(errorOf(await speaker.answer()).status).to.equal(told);
      expect((await speaker.closed).code).to.equal(code);
    });
  }

  it('that is large is one like any other, also in large pieces', async () => {
    const speaker = await scene.open();
    const whole = JSON.stringify({ ...CREATE, input: 'wörds '.repeat(50_000) });
    for (const pieceLength of [whole.length, 100_000]) {
      for (let at = 0; at < whole.length; at += pieceLength) {
        speaker.ws.send(whole.slice(at, at + pieceLength), { binary: false, fin: at + pieceLength >= whole.length });
      }
      expect(responseOf(await speaker.answer()).output_text).to.equal('Hello');
    }
    const asked = scene.backend.requests.map(({ body }) => (body as { messages: { content: string }[] }).messages);
    for (const messages of asked) expect(messages[0]?.content).to.equal('wörds '.repeat(50_000));
  });

  it('in many pieces is one', async () => {
    const speaker = await scene.open();
    const whole = JSON.stringify(CREATE);
    for (const [index, piece] of whole.split('').entries()) {
      speaker.ws.send(piece, { binary: false, fin: index === whole.length - 1 });
      if (index % 10 === 0) speaker.ws.ping();
    }
    responseOf(await speaker.answer());
  });

  it('with an idempotency key that was used is told which request is the original', async () => {
    const speaker = await scene.open();
    const request = { ...HELLO, idempotency_key: 'key-1' };
    const first = responseOf(await speaker.ask(request));
    const requestId = first.id.replace('resp_', 'req_');
    const duplicate = errorOf(await speaker.ask(request));
    expect([duplicate.status, duplicate.error.code]).to.deep.equal([409, 'duplicate_request']);
    expect(duplicate.request).to.deep.include({ request_id: requestId, status: 'succeeded', error: null });
    expect(duplicate.headers).to.deep.equal({
      'x-request-id': requestId,
      location: `${scene.gateway.url}/api/v1/requests/${requestId}`,
      'x-should-retry': 'false',
      'idempotency-replayed': 'true',
    });
    expect(scene.backend.requests.length).to.equal(1);
    const next = { model: 'm', input: 'And?', previous_response_id: first.id };
    expect(responseOf(await speaker.ask(next)).status, 'the chain goes on').to.equal('completed');
    const found = await callerOf(scene.gateway.url).get('/api/v1/requests', { 'idempotency-key': 'key-1' });
    expect(((await found.json()) as { request_id: string }).request_id).to.equal(requestId);
  });

  it('sent again with its idempotency key is a duplicate, though its chain has gone on', async () => {
    const speaker = await scene.open();
    const first = responseOf(await speaker.ask(HELLO));
    const next = { model: 'm', input: 'And?', previous_response_id: first.id, idempotency_key: 'key-2' };
    const second = responseOf(await speaker.ask(next));
    const again = errorOf(await speaker.ask(next));
    expect([again.status, again.error.code]).to.deep.equal([409, 'duplicate_request']);
    expect(again.request?.response_id).to.equal(second.id);
    expect(scene.backend.requests.length).to.equal(2);
    const third = await speaker.ask({ model: 'm', input: 'So?', previous_response_id: second.id });
    expect(responseOf(third).status).to.equal('completed');
  });

  it('that steers has a failure event of its own', async () => {
    const speaker = await scene.open();
    speaker.send({ type: 'response.steer', input: 'Be brief.' });
    expect(await speaker.next()).to.deep.include({ type: 'response.steer.failed', status: 400 });
    expect(responseOf(await speaker.ask(HELLO)).output_text).to.equal('Hello');
  });

  /** Asks for a response that stops after its first word. */
  async function beginToHang(speaker: ConnectionContext): Promise<void> {
    scene.backend.reply(async ({ sse, hang }) => {
      await sse(text('Hel'));
      await hang();
    });
    speaker.send(CREATE);
    for (let event = await speaker.next(); event.type !== 'response.output_text.delta';) event = await speaker.next();
  }

  async function expectCancelled(speaker: ConnectionContext): Promise<void> {
    let last = await speaker.next();
    while (last.type !== 'response.failed') last = await speaker.next();
    expect(last).to.have.nested.property('response.status', 'cancelled');
  }

  it('that cancels ends the running response', async () => {
    const speaker = await scene.open();
    await beginToHang(speaker);
    speaker.send({ type: 'response.cancel' });
    await expectCancelled(speaker);
    expect(responseOf(await speaker.ask(HELLO)).output_text).to.equal('Hello');
  });

  it('that cancels can be sent again if the database was not there', async () => {
    const workshop = makeWorkshop();
    const store = await workshop.open({ file: undefined });
    let isThere = false;
    const requestCancel: typeof store.requestCancel = (...asked) =>
      isThere ? store.requestCancel(...asked) : Promise.reject(new ApiError('store_unavailable'));
    const speaker = await scene.open({}, { store: { ...store, requestCancel } });
    await beginToHang(speaker);
    speaker.send({ type: 'response.cancel' });
    await allArrived();
    isThere = true;
    speaker.send({ type: 'response.cancel' });
    await expectCancelled(speaker);
    await workshop.clear();
  });

  for (const [how, input] of [
    ['a small request', 'Hello'],
    ['a request that a thread prepares', 'x'.repeat(2 * 1024 * 1024 + 1)],
  ] as const) {
    it(`that cancels ends ${how} before it is accepted`, async () => {
      const speaker = await scene.open();
      scene.backend.reply(({ hang }) => hang());
      speaker.send({ ...CREATE, input });
      speaker.send({ type: 'response.cancel' });
      expect(refusalOf(await speaker.answer()).slice(0, 2)).to.deep.equal([409, 'request_cancelled']);
      expect(scene.backend.requests.length).to.equal(0);
    });
  }

  it('that the backend refuses is answered with the headers that tell when to come again', async () => {
    const speaker = await scene.open();
    scene.backend.reply({ json: { error: { message: 'slow down' } }, status: 429, headers: { 'retry-after': '7' } });
    const refused = errorOf(await speaker.ask(HELLO));
    expect([refused.status, refused.error.code]).to.deep.equal([429, 'rate_limit_exceeded']);
    expect(refused.headers).to.include({ 'retry-after': '7' });
  });

  it('too many to wait is refused in its turn', async () => {
    const speaker = await scene.open();
    const { promise: released, resolve: release } = Promise.withResolvers<void>();
    scene.backend.reply(async (stage) => {
      await released;
      await answer('first')(stage);
    });
    // One runs, 16 wait, and the rest is refused; the very last of them is not even read for a while.
    const count = 120;
    for (let index = 0; index < count; index++) speaker.send(CREATE);
    await scene.backend.request(1);
    await (await scene.speak()).ask({ model: 'm' });
    release();
    const answers = [];
    for (let index = 0; index < count; index++) answers.push(await speaker.answer());
    const refused = answers.filter((told) => 'status' in told);
    expect(refused.length).to.be.within(10, count - 17);
    for (const told of refused) expect(refusalOf(told).slice(0, 2)).to.deep.equal([429, 'rate_limit_exceeded']);
    for (const told of answers.slice(0, 17)) responseOf(told);
    expect(scene.backend.requests.length).to.equal(count - refused.length);
    responseOf(await speaker.ask(HELLO));
  });

  it('beyond those that are refused is not even read', async () => {
    const speaker = await scene.open({ METRICS_TOKEN: 'the-token-of-this-test' });
    scene.backend.reply(({ hang }) => hang());
    const piece = { ...CREATE, input: 'x'.repeat(100_000) };
    for (let count = 0; count < 200; count++) speaker.send(piece);
    await scene.backend.request(1);
    let running = 0;
    // As many as there will be, and then no more.
    for (let before = -1; running !== before || running < 64; before = running, await allArrived())
      running = await readRunning();
    expect(running).to.be.within(64, 70);
  });

  async function readRunning(): Promise<number> {
    const headers = { authorization: 'Bearer the-token-of-this-test' };
    const text = await (await fetch(`${scene.gateway.url}/metrics`, { headers })).text();
    const counts = text.matchAll(/^responses_gateway_requests_running\{endpoint="responses",stream="\w+"\} (\d+)$/gm);
    return [...counts].reduce((sum, [, count]) => sum + Number(count), 0);
  }

  it('that continues more than its share of the memory is a 429', async () => {
    const speaker = await scene.open({ MAX_BODY_BYTES: '300000', MAX_BODY_BYTES_IN_FLIGHT: '300000' });
    const { id } = responseOf(await speaker.ask({ ...HELLO, input: 'x'.repeat(200_000) }));
    const other = await scene.speak();
    scene.backend.reply(({ hang }) => hang());
    other.send({ ...CREATE, input: 'x'.repeat(150_000) });
    await scene.backend.request(2);
    const refused = refusalOf(await speaker.ask({ ...HELLO, previous_response_id: id }));
    expect(refused.slice(0, 2)).to.deep.equal([429, 'concurrency_limit_exceeded']);
  });

  it('beyond its share of what the gateway takes on at once is a 429', async () => {
    const speaker = await scene.open({ MAX_CONCURRENT_REQUESTS: '1' });
    scene.backend.reply(({ hang }) => hang());
    speaker.send(CREATE);
    await scene.backend.request(1);
    const other = await scene.speak();
    const refused = errorOf(await other.ask(HELLO));
    expect([refused.status, refused.error.code]).to.deep.equal([429, 'concurrency_limit_exceeded']);
    expect(refused.headers).to.include({ 'retry-after': '1' });
  });

  it('takes its share of the memory for bodies while it comes in', async () => {
    // Of each frame that is coming in, up to 64 KiB are not counted.
    const limits = { MAX_BODY_BYTES: '300000', MAX_BODY_BYTES_IN_FLIGHT: '320000' };
    const speaker = await scene.open(limits);
    const half = 'x'.repeat(250_000);
    speaker.ws.send(`{"type":"response.create","model":"m","input":"${half}`, { binary: false, fin: false });
    speaker.ws.ping();
    await new Promise((resolve) => speaker.ws.once('pong', resolve));
    const other = await scene.speak();
    other.ws.send(`"${half}`, { binary: false, fin: false });
    expect(errorOf(await other.answer()).error.code).to.equal('concurrency_limit_exceeded');
    expect((await other.closed).code).to.equal(1013);
    speaker.ws.send('"}', { binary: false, fin: true });
    responseOf(await speaker.answer());
    responseOf(await (await scene.speak()).ask({ ...HELLO, input: half }));
  });

  it('that is refused, thousands of times at once, holds up no other connection', async () => {
    const speaker = await scene.open();
    const other = await scene.speak();
    let refused = 0;
    speaker.ws.on('message', () => (refused += 1));
    for (let count = 0; count < 5000; count++) speaker.ws.send('{}');
    responseOf(await other.ask(HELLO));
    expect(refused).to.be.below(500);
  });

  it('of a client that pings all the time leaves nothing behind', async () => {
    const speaker = await scene.open({ MAX_BODY_BYTES: '100000', MAX_BODY_BYTES_IN_FLIGHT: '100000' });
    const pongs = new Promise<void>((resolve) => {
      let count = 0;
      speaker.ws.on('pong', () => {
        if (++count === 2000) resolve();
      });
    });
    for (let round = 0; round < 2000; round += 20) {
      for (let index = 0; index < 20; index++) speaker.ws.ping('x'.repeat(100));
      await new Promise((resolve) => speaker.ws.once('pong', resolve));
    }
    await pongs;
    responseOf(await speaker.ask({ ...HELLO, input: 'x'.repeat(50_000) }));
  });

  it('is answered by frames of text alone', async () => {
    const speaker = await scene.open();
    const kinds = new Set<boolean>();
    speaker.ws.on('message', (_data, isBinary) => kinds.add(isBinary));
    scene.backend.reply({ sse: [text('Hel'), text('lo')] });
    await speaker.ask(HELLO);
    expect([...kinds]).to.deep.equal([false]);
  });
});

import { once } from 'node:events';
import { Agent, request, type IncomingMessage } from 'node:http';
import { connect, type Socket } from 'node:net';
import { text as textOf } from 'node:stream/consumers';
import { expect } from 'chai';
import { WebSocket } from 'ws';
import { allStrangers } from '../support/gateway.ts';
import { openStore } from '../../src/store/open.ts';
import { createLogger } from '../../src/telemetry/log.ts';
import { callerOf } from '../records/caller.ts';
import { answer, finish, stream, text, usageChunk } from '../records/chunks.ts';
import type { ResponseEvent } from '../../src/contract/types.ts';
import type { Script } from '../support/backend.ts';
import { makeHeld } from '../support/held-store.ts';
import { passUntil, useHeldTime } from '../support/held-time.ts';
import { kernelMayTake } from '../support/kernel.ts';
import { openManagedGateway } from '../support/managed.ts';
import { useRealSockets } from '../support/real-sockets.ts';
import { allArrived, until, untilSteady } from '../support/time.ts';
import { speakTo } from '../support/web-socket.ts';
import { errorOf, refusalOf, responseOf, useScene } from '../support/web-socket-scene.ts';

const HELLO = { model: 'm', input: 'Hello' };
const CREATE = { type: 'response.create', ...HELLO };
const KEY = { authorization: 'Bearer test-key' };
/** The head of a frame of two bytes. */
const PING = [0x89, 0x82, 0, 0, 0, 0];
const HANDSHAKE = {
  connection: 'Upgrade',
  upgrade: 'websocket',
  'sec-websocket-version': '13',
  'sec-websocket-key': 'dGhlIHNhbXBsZSBub25jZQ==',
};

describe('the handshake of a WebSocket', () => {
  useRealSockets();
  const scene = useScene();

  /** The reply, and the code of the error in it. */
  async function shake(
    headers: Readonly<Record<string, string>>,
    { path = '/api/v1/responses', method = 'GET' } = {},
  ): Promise<{ reply: IncomingMessage; status: number | undefined; code: string | undefined }> {
    const asked = request(`${scene.gateway.url}${path}`, { method, headers, agent: new Agent() });
    asked.end();
    const [reply] = (await Promise.race([once(asked, 'response'), once(asked, 'upgrade')])) as [IncomingMessage];
    const status = reply.statusCode;
    if (status === 101) {
      reply.socket.destroy();
      return { reply, status, code: undefined };
    }
    const body = JSON.parse(await textOf(reply)) as { error?: { code: string } };
    return { reply, status, code: body.error?.code };
  }

  it('gives its own id, and offers no compression', async () => {
    await scene.open();
    const { reply, status } = await shake({
      ...KEY,
      ...HANDSHAKE,
      'sec-websocket-extensions': 'permessage-deflate; client_max_window_bits',
    });
    expect(status).to.equal(101);
    expect(reply.headers['x-request-id']).to.match(/^req_/);
    expect(reply.headers).not.to.have.property('sec-websocket-extensions');
  });

  const refusals: readonly {
    what: string;
    headers: Readonly<Record<string, string>>;
    place?: { path?: string; method?: string };
    expected: readonly [status: number, code: string];
  }[] = [
    { what: 'without a key', headers: HANDSHAKE, expected: [401, 'missing_api_key'] },
    {
      what: 'with a wrong key',
      headers: { ...HANDSHAKE, authorization: 'Bearer wrong' },
      expected: [401, 'invalid_api_key'],
    },
    {
      what: 'from a page of another origin',
      headers: { ...KEY, ...HANDSHAKE, origin: 'https://elsewhere.example' },
      expected: [403, 'forbidden'],
    },
    {
      what: 'from a page without an origin',
      headers: { ...KEY, ...HANDSHAKE, origin: 'null' },
      expected: [403, 'forbidden'],
    },
    {
      what: 'of another version',
      headers: { ...KEY, ...HANDSHAKE, 'sec-websocket-version': '7' },
      expected: [400, 'invalid_request'],
    },
    {
      what: 'without a key of its own',
      headers: { ...KEY, ...HANDSHAKE, 'sec-websocket-key': 'short' },
      expected: [400, 'invalid_request'],
    },
    { what: 'that is none', headers: KEY, expected: [405, 'method_not_allowed'] },
    {
      what: 'for something else',
      headers: { ...KEY, ...HANDSHAKE, upgrade: 'h2c' },
      expected: [405, 'method_not_allowed'],
    },
    {
      what: 'elsewhere',
      headers: { ...KEY, ...HANDSHAKE },
      place: { path: '/v1/nowhere' },
      expected: [404, 'not_found'],
    },
  ];
  for (const { what, headers, place, expected } of refusals) {
    it(`${what} is refused in JSON`, async () => {
      await scene.open({ AUTH_MODE: 'static', API_KEYS: 'test-key' });
      const { reply, status, code } = await shake(headers, place);
      expect([status, code]).to.deep.equal(expected);
      expect(reply.headers['content-type']).to.equal('application/json; charset=utf-8');
      expect(reply.headers['x-request-id']).to.match(/^req_/);
      if (expected[0] === 401) expect(reply.headers['www-authenticate']).to.equal('Bearer');
      // The gateway serves on, over HTTP too.
      expect((await scene.gateway.create(HELLO)).status).to.equal(200);
    });
  }

  it('is granted to pages of its own origin and of those in CORS_ORIGINS', async () => {
    await scene.open({ CORS_ORIGINS: 'https://app.example' });
    for (const origin of [scene.gateway.url, 'https://app.example']) {
      expect((await shake({ ...KEY, ...HANDSHAKE, origin })).status, origin).to.equal(101);
    }
    expect((await shake({ ...KEY, ...HANDSHAKE, origin: 'https://elsewhere.example' })).status).to.equal(403);
  });

  it('is granted to pages of any origin where CORS_ORIGINS says so', async () => {
    await scene.open({ CORS_ORIGINS: '*' });
    expect((await shake({ ...KEY, ...HANDSHAKE, origin: 'https://elsewhere.example' })).status).to.equal(101);
  });

  it('is counted among the failures of its address', async () => {
    await scene.open({ AUTH_MODE: 'static', API_KEYS: 'test-key' });
    const statuses = [];
    for (let attempt = 0; attempt < 32; attempt++) {
      statuses.push((await shake({ ...HANDSHAKE, authorization: 'Bearer wrong' })).status);
    }
    expect(statuses).to.deep.equal([...Array.from({ length: 30 }, () => 401), 429, 429]);
  });

  it('beyond its share of MAX_WEBSOCKETS is a 429, until one is closed', async () => {
    const first = await scene.open({ MAX_WEBSOCKETS: '2' });
    const { reply, status, code } = await shake({ ...KEY, ...HANDSHAKE });
    expect([status, code, reply.headers['retry-after']]).to.deep.equal([429, 'concurrency_limit_exceeded', '1']);
    first.close();
    await first.closed;
    // The gateway may hear of it a moment later.
    await until(async () => (await shake({ ...KEY, ...HANDSHAKE })).status === 101);
  });

  it('takes no place where the client breaks the connection while its key is looked up', async () => {
    const store = makeHeld(await openStore({ databaseUrl: ':memory:', recordRetentionDays: 30, clock: Date.now }));
    const asked = store.hold('findKeyByHash');
    const settings = { UPSTREAM_BASE_URL: scene.backend.baseUrl, MAX_WEBSOCKETS: '1' };
    const gateway = await openManagedGateway(settings, { store });
    try {
      const { secret: apiKey } = await gateway.issue();
      const { hostname, port, host } = new URL(gateway.url);
      const socket = connect(Number(port), hostname);
      const headers = Object.entries({ ...HANDSHAKE, host, authorization: `Bearer ${apiKey}` });
      const lines = ['GET /v1/responses HTTP/1.1', ...headers.map(([name, value]) => `${name}: ${value}`)];
      socket.write(`${lines.join('\r\n')}\r\n\r\n`);
      await asked;
      socket.resetAndDestroy();
      await allArrived();
      store.letGo();
      await allArrived();
      const { ws } = await speakTo(gateway.url, { apiKey });
      ws.terminate();
    } finally {
      await gateway.close();
    }
  });

  it('of a POST with another upgrade is a POST', async () => {
    await scene.open();
    const body = JSON.stringify(HELLO);
    const asked = request(`${scene.gateway.url}/v1/responses`, {
      method: 'POST',
      headers: { ...KEY, connection: 'Upgrade', upgrade: 'h2c', 'content-type': 'application/json' },
    });
    asked.end(body);
    const [reply] = (await once(asked, 'response')) as [IncomingMessage];
    expect([reply.statusCode, (JSON.parse(await textOf(reply)) as { status: string }).status]).to.deep.equal([
      200,
      'completed',
    ]);
  });
});

describe('the key of a WebSocket', () => {
  useRealSockets();
  const scene = useScene();

  it('that is revoked serves no further request', async () => {
    let nowMs = Date.now();
    const gateway = await openManagedGateway({ UPSTREAM_BASE_URL: scene.backend.baseUrl }, { nowMs: () => nowMs });
    try {
      const { secret, key } = await gateway.issue();
      const speaker = await speakTo(gateway.url, { apiKey: secret });
      responseOf(await speaker.ask(HELLO));
      await gateway.store.deleteKey(key.keyId);
      nowMs += 5000;
      expect(refusalOf(await speaker.ask(HELLO))).to.deep.equal([401, 'invalid_api_key', '']);
      speaker.close();
    } finally {
      await gateway.close();
    }
  });

  it('has its limits and its credits over a WebSocket too', async () => {
    const lines: string[] = [];
    const log = createLogger('info', { write: (line) => void lines.push(line) });
    const gateway = await openManagedGateway({ UPSTREAM_BASE_URL: scene.backend.baseUrl }, { log });
    try {
      const { secret, key } = await gateway.issue({ limits: { requestsPerMinute: 2 }, models: ['m'] });
      const speaker = await speakTo(gateway.url, { apiKey: secret });
      expect(refusalOf(await speaker.ask({ ...HELLO, model: 'another' }))[1]).to.equal('model_not_found');
      const { id } = responseOf(await speaker.ask(HELLO));
      expect((await callerOf(gateway.url, secret).final(id)).cost).to.equal(2 * 11 + 10 * 7);
      const statuses = [];
      for (let attempt = 0; attempt < 3; attempt++) {
        const told = await speaker.ask(HELLO);
        statuses.push('status' in told ? told.error.code : 'answered');
      }
      expect(statuses).to.include('rate_limit_exceeded');
      const told = lines.map((line) => JSON.parse(line) as { key?: string; requestId?: string });
      expect(told.find(({ requestId }) => requestId === id.replace('resp_', 'req_'))?.key).to.equal(key.prefix);
      speaker.close();
    } finally {
      await gateway.close();
    }
  });

  it('that the backend has taken is not held up by the failures of others', async () => {
    const speaker = await scene.open({}, { acceptedCallers: await allStrangers() });
    responseOf(await speaker.ask(HELLO));
    const other = await scene.speak({ apiKey: 'wrong' });
    scene.backend.reply(...Array.from({ length: 30 }, () => ({ json: { error: { message: 'no' } }, status: 401 })));
    for (let attempt = 0; attempt < 30; attempt++) await other.ask(HELLO);
    expect(refusalOf(await other.ask(HELLO))[1]).to.equal('rate_limit_exceeded');
    responseOf(await speaker.ask(HELLO));
  });

  it('that the backend refuses counts among the failures of its address', async () => {
    const speaker = await scene.open({}, { acceptedCallers: await allStrangers() });
    scene.backend.always({ json: { error: { message: 'no' } }, status: 401 });
    const codes = [];
    for (let attempt = 0; attempt < 32; attempt++) codes.push(refusalOf(await speaker.ask(HELLO))[1]);
    expect(codes.slice(0, 30)).to.deep.equal(Array.from({ length: 30 }, () => 'invalid_api_key'));
    expect(codes.slice(30)).to.deep.equal(['rate_limit_exceeded', 'rate_limit_exceeded']);
    expect(scene.backend.requests.length).to.equal(30);
  });
});

describe('the life of a WebSocket', () => {
  useRealSockets();
  const passTime = useHeldTime();
  const scene = useScene();

  it('ends when nothing is asked for too long', async () => {
    const speaker = await scene.open({ webSocketIdleTimeoutMs: 200 });
    await passTime(200);
    expect((await speaker.closed).code).to.equal(1000);
  });

  it('is not idle while a response runs', async () => {
    const speaker = await scene.open({ webSocketIdleTimeoutMs: 100 });
    scene.backend.reply(async ({ sse, wait, end }) => {
      await wait(400);
      await sse(text('late'), finish('stop'), usageChunk, '[DONE]');
      end();
    });
    const asking = speaker.ask(HELLO);
    await scene.backend.request(1);
    await passTime(400);
    expect(responseOf(await asking).output_text).to.equal('late');
    await passTime(100);
    expect((await speaker.closed).code).to.equal(1000);
  });

  it('ends at its age with an error that says so', async () => {
    const speaker = await scene.open({ webSocketMaxAgeMs: 100 });
    await passTime(100);
    expect(refusalOf(await speaker.answer())).to.deep.equal([400, 'websocket_connection_limit_reached', '']);
    expect((await speaker.closed).code).to.equal(1000);
  });

  it('at its age waits for the response that runs, and serves no other', async () => {
    const speaker = await scene.open({ webSocketMaxAgeMs: 300 });
    const { promise: released, resolve: release } = Promise.withResolvers<void>();
    scene.backend.reply(async (stage) => {
      await released;
      await answer('one')(stage);
    });
    speaker.send(CREATE);
    speaker.send(CREATE);
    await scene.backend.request(1);
    await passTime(300);
    release();
    expect(responseOf(await speaker.answer()).output_text).to.equal('one');
    expect(refusalOf(await speaker.answer()).slice(0, 2)).to.deep.equal([400, 'websocket_connection_limit_reached']);
    expect((await speaker.closed).code).to.equal(1000);
    expect(scene.backend.requests.length).to.equal(1);
  });

  const halves: readonly { what: string; send: (ws: WebSocket) => void }[] = [
    { what: 'a message of which a piece has come', send: (ws) => ws.send('{"type":', { fin: false, binary: false }) },
    { what: 'a frame that has come in part', send: (ws) => socketOf(ws).write(Buffer.from([0x81, 0xff])) },
    { what: 'a small frame that has come in part', send: (ws) => socketOf(ws).write(Buffer.from([...PING, 0x22])) },
  ];
  for (const { what, send } of halves) {
    it(`ends when no more comes of ${what}`, async () => {
      const speaker = await scene.open();
      send(speaker.ws);
      await passTime(9999);
      expect(speaker.ws.readyState).to.equal(WebSocket.OPEN);
      await passTime(1);
      expect(refusalOf(await speaker.answer())).to.deep.equal([408, 'request_timeout', '']);
      expect(await speaker.closed).to.deep.equal({ code: 1008, reason: 'a message came too slowly' });
    });
  }

  it('goes on while 1 KiB of a message comes each second', async () => {
    const speaker = await scene.open();
    const whole = JSON.stringify({ ...CREATE, input: 'x'.repeat(12 * 1024) });
    for (let at = 0; at < whole.length; at += 1024) {
      speaker.ws.send(whole.slice(at, at + 1024), { fin: at + 1024 >= whole.length, binary: false });
      await passTime(1000);
    }
    expect(responseOf(await speaker.answer()).output_text).to.equal('Hello');
  });

  it('goes on after a ping that came in two parts', async () => {
    const speaker = await scene.open();
    socketOf(speaker.ws).write(Buffer.from([...PING, 0x22]));
    await allArrived();
    socketOf(speaker.ws).write(Buffer.from([0x22]));
    await passTime(20_000);
    expect(responseOf(await speaker.ask(HELLO)).output_text).to.equal('Hello');
  });

  it('is kept up by pings', async () => {
    const speaker = await scene.open({ keepaliveCommentMs: 20 });
    let pings = 0;
    speaker.ws.on('ping', () => (pings += 1));
    await passTime(3 * 20);
    expect(pings).to.equal(3);
  });

  it('has response.in_progress again in long silence', async () => {
    const speaker = await scene.open({ keepaliveEventMs: 50, headerHoldMs: 0 });
    scene.backend.reply(stream([], 'hang'));
    speaker.send(CREATE);
    await scene.backend.request(1);
    await passTime(3 * 50);
    const types = [];
    for (let count = 0; count < 4; count++) types.push((await speaker.next()).type);
    expect(types).to.deep.equal(['response.created', ...Array.from({ length: 3 }, () => 'response.in_progress')]);
  });

  const silence: Script = ({ hang }) => hang();
  const goings: readonly { when: string; script: Script; close: 'close' | 'terminate' }[] = [
    { when: 'before the first token, with a goodbye', script: silence, close: 'close' },
    { when: 'before the first token, without one', script: silence, close: 'terminate' },
    { when: 'in the middle of the text', script: stream([text('Hel')], 'hang'), close: 'terminate' },
  ];
  for (const { when, script, close } of goings) {
    it(`ends the request to the backend when the client goes ${when}`, async () => {
      const speaker = await scene.open();
      scene.backend.reply(script);
      speaker.send({ ...CREATE, idempotency_key: 'key-1' });
      speaker.send({ ...CREATE, idempotency_key: 'key-2' });
      const asked = await scene.backend.request(1);
      speaker.ws[close]();
      expect((await asked.closed).aborted).to.equal(true);
      const caller = callerOf(scene.gateway.url);
      const found = await caller.get('/api/v1/requests', { 'idempotency-key': 'key-1' });
      const record = await caller.final(((await found.json()) as { request_id: string }).request_id);
      expect(record).to.deep.include({
        status: 'cancelled',
        error: { code: 'client_disconnected', message: 'The client closed the connection.' },
      });
      // What waited behind it was never begun.
      expect((await caller.get('/api/v1/requests', { 'idempotency-key': 'key-2' })).status).to.equal(404);
      expect(scene.backend.requests.length).to.equal(1);
    });
  }

  it('is cut when the client takes nothing for too long', async () => {
    const speaker = await scene.open({ IDLE_TIMEOUT_MS: '600' });
    // Short, because an answer has an end before it is as long as what some kernels take.
    const chunk = `data: ${JSON.stringify(text('x'))}\n\n`;
    const whole = 2 * kernelMayTake() + 16 * 1024 * 1024;
    const piece = chunk.repeat(256);
    scene.backend.reply(async ({ start, write }) => {
      start();
      for (let sent = 0; sent < whole; sent += piece.length) if (!(await write(piece))) return;
    });
    speaker.send(CREATE);
    await speaker.next();
    speaker.ws.pause();
    const asked = await scene.backend.request(1);
    expect(await untilSteady(() => scene.backend.bytesSent), 'what the backend could send').to.be.below(whole);
    expect((await passUntil(asked.closed, 300)).aborted).to.equal(true);
  });

  it('is cut when the client takes nothing, and pings all the time', async () => {
    const speaker = await scene.open({ IDLE_TIMEOUT_MS: '600' });
    const piece = `data: ${JSON.stringify(text('x'))}\n\n`.repeat(256);
    scene.backend.reply(async ({ start, write }) => {
      start();
      while (await write(piece));
    });
    speaker.send(CREATE);
    await speaker.next();
    speaker.ws.pause();
    await untilSteady(() => scene.backend.bytesSent);
    for (let pings = 0; scene.backend.closed.length === 0; pings += 1) {
      expect(pings, 'in 12 s').to.be.lessThan(60);
      speaker.ws.ping();
      await allArrived();
      await passTime(200);
    }
    expect(scene.backend.closed[0]?.aborted).to.equal(true);
  });

  it('is cut when the client takes nothing, and more is held for it than for its caller', async () => {
    const speaker = await scene.open({ MAX_BODY_BYTES: '250000', MAX_BODY_BYTES_IN_FLIGHT: '250000' });
    const piece = 'x'.repeat(64 * 1024);
    scene.backend.reply(async ({ start, sse }) => {
      start();
      while (await sse(text(piece)));
    });
    speaker.send(CREATE);
    await speaker.next();
    speaker.ws.pause();
    expect((await (await scene.backend.request(1)).closed).aborted).to.equal(true);
  });

  it('loses nothing of what is said to a client that reads late', async () => {
    const speaker = await scene.open();
    // JSON needs six bytes for each of its characters, so that a text within the limit does not fit into most buffers.
    const piece = '\u0001'.repeat(16 * 1024);
    const said = { pieces: 0, isEnough: false };
    scene.backend.reply(async ({ start, sse, end }) => {
      start();
      for (; said.pieces < 240 && !said.isEnough; said.pieces++) await sse(text(piece));
      await sse(finish('stop'), usageChunk, '[DONE]');
      end();
    });
    speaker.send(CREATE);
    const first = await speaker.next();
    speaker.ws.pause();
    await untilSteady(() => scene.backend.bytesSent);
    said.isEnough = true;
    speaker.ws.resume();
    const others = (await speaker.answer()) as readonly ResponseEvent[];
    expect(responseOf([first as ResponseEvent, ...others]).output_text).to.have.lengthOf(said.pieces * piece.length);
  });
});

describe('a drain', () => {
  useRealSockets();
  const scene = useScene();

  it('closes idle WebSockets at once, and takes no new one', async () => {
    const speaker = await scene.open();
    const busy = await scene.speak();
    const { promise: released, resolve: release } = Promise.withResolvers<void>();
    scene.backend.reply(async (stage) => {
      await released;
      await answer('to its end')(stage);
    });
    busy.send({ ...CREATE, idempotency_key: 'key-1' });
    await scene.backend.request(1);
    const drained = scene.gateway.drain();
    expect((await speaker.closed).code).to.equal(1001);
    const refused = await speakTo(scene.gateway.url).catch((error: unknown) => String(error));
    expect(refused).to.include('503');

    // What was asked before is answered; what is asked now is refused, or known to be a duplicate.
    busy.send(CREATE);
    busy.send({ ...CREATE, idempotency_key: 'key-1' });
    busy.send({ ...CREATE, generate: false });
    release();
    expect(responseOf(await busy.answer()).output_text).to.equal('to its end');
    const second = errorOf(await busy.answer());
    expect([second.status, second.error.code, second.headers['retry-after']]).to.deep.equal([
      503,
      'gateway_draining',
      '1',
    ]);
    expect(refusalOf(await busy.answer()).slice(0, 2)).to.deep.equal([409, 'duplicate_request']);
    expect(refusalOf(await busy.answer()).slice(0, 2)).to.deep.equal([503, 'gateway_draining']);
    expect((await busy.closed).code).to.equal(1001);
    await drained;
  });

  it('ends what still runs at its limit by the failure path', async () => {
    const speaker = await scene.open({ DRAIN_TIMEOUT_MS: '200' });
    scene.backend.reply(stream([text('Hel')], 'hang'));
    speaker.send(CREATE);
    const asked = await scene.backend.request(1);
    const drained = scene.gateway.drain();
    const { status, error } = responseOf(await speaker.answer());
    expect([status, error?.code]).to.deep.equal(['failed', 'gateway_interrupted']);
    expect((await speaker.closed).code).to.equal(1001);
    expect((await asked.closed).aborted).to.equal(true);
    await drained;
  });
});

describe('what is told of requests over a WebSocket', () => {
  useRealSockets();
  const scene = useScene();

  it('is one line each, and one for the handshake', async () => {
    const lines: string[] = [];
    const log = createLogger('info', { write: (line) => void lines.push(line) });
    const speaker = await scene.open({}, { log });
    const { id } = responseOf(await speaker.ask(HELLO));
    await speaker.ask({ model: 'm' });
    speaker.close();
    await speaker.closed;
    await until(() => lines.length >= 3);
    const told = lines.map((line) => JSON.parse(line) as Record<string, unknown>);
    expect(told[0]).to.include({ msg: 'answered', status: 101, endpoint: 'responses' });
    expect(told[1]).to.include({
      msg: 'answered',
      status: 200,
      requestId: id.replace('resp_', 'req_'),
      model: 'm',
      stream: true,
      inputTokens: 11,
      outputTokens: 7,
    });
    expect(told[1]?.['bytes']).to.be.above(1000);
    expect(told[2]).to.include({ msg: 'rejected', status: 400, errorCode: 'missing_required_parameter' });
    expect(told[1]?.['req']).to.deep.equal({ method: 'GET', path: '/api/v1/responses' });
    expect(lines).to.have.lengthOf(3);
  });

  it('is counted like any other, and so are the connections', async () => {
    const speaker = await scene.open({ METRICS_TOKEN: 'the-token-of-this-test' });
    responseOf(await speaker.ask(HELLO));
    const reply = await fetch(`${scene.gateway.url}/metrics`, {
      headers: { authorization: 'Bearer the-token-of-this-test' },
    });
    const metrics = await reply.text();
    expect(metrics).to.match(
      /^responses_gateway_requests_total\{endpoint="responses",status="2xx",stream="true",outcome="answered"\} 1$/m,
    );
    expect(metrics).to.match(/^responses_gateway_websockets 1$/m);
    expect(metrics).to.match(/^responses_gateway_requests_running\{endpoint="responses",stream="(?:true|false)"\} 0$/m);
  });

  it('goes on to the backend with the trace of the handshake', async () => {
    await scene.open();
    const traceparent = `00-${'a'.repeat(32)}-${'b'.repeat(16)}-01`;
    const speaker = await scene.speak({ headers: { traceparent } });
    responseOf(await speaker.ask(HELLO));
    expect(scene.backend.requests[0]?.headers).to.include({ traceparent });
  });
});

/** The client's end of the connection, to send what is no whole frame. */
function socketOf(ws: WebSocket): Socket {
  return Reflect.get(ws, '_socket') as Socket;
}

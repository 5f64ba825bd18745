import { once } from 'node:events';
import type { Server } from 'node:http';
import { connect, type AddressInfo } from 'node:net';
import { Ajv } from 'ajv';
import { expect } from 'chai';
import express, { type RequestHandler } from 'express';
import errorSchema from '../../schemas/error.json' with { type: 'json' };
import { ApiError } from '../../src/core/errors.ts';
import { errorHandler } from '../../src/http/error-handler.ts';
import { methodNotAllowed, notFound } from '../../src/wire/no-route.ts';
import { createLogger } from '../../src/telemetry/log.ts';
import { observe } from '../support/observe.ts';
import { useRealSockets } from '../support/real-sockets.ts';
import { useHeldTime } from '../support/held-time.ts';
import { allArrived } from '../support/time.ts';

const hasErrorShape = new Ajv({ keywords: ['tsType'] }).compile(errorSchema);

describe('errorHandler', () => {
  useRealSockets();

  let server: Server;
  let url: string;
  let logged: string;

  afterEach(async () => {
    server.closeAllConnections();
    server.close();
    await once(server, 'close');
  });

  async function open(route: RequestHandler): Promise<void> {
    logged = '';
    const app = express();
    app.use(observe(createLogger('trace', { write: (line) => void (logged += line) })));
    app.route('/known').get(route).all(methodNotAllowed('GET', 'POST'));
    app.get('/named/:id', (_req, res) => void res.end());
    app.use(notFound, errorHandler);
    server = app.listen(0, '127.0.0.1');
    await once(server, 'listening');
    url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  }

  async function errorOf(response: Response): Promise<Record<string, unknown>> {
    expect(response.headers.get('content-type')).to.equal('application/json; charset=utf-8');
    const body: unknown = await response.json();
    expect(hasErrorShape(body), JSON.stringify(body)).to.equal(true);
    return { status: response.status, ...(body as { error: object }).error };
  }

  function throwing(error: unknown): RequestHandler {
    return () => {
      throw error;
    };
  }

  it('sends status, headers and body of an ApiError', async () => {
    await open(
      throwing(
        new ApiError('rate_limit_exceeded', { message: 'Slow down.', param: 'model', headers: { 'retry-after': '3' } }),
      ),
    );
    const response = await fetch(`${url}/known`);
    expect(response.headers.get('retry-after')).to.equal('3');
    expect(await errorOf(response)).to.deep.equal({
      status: 429,
      message: 'Slow down.',
      type: 'rate_limit_error',
      param: 'model',
      code: 'rate_limit_exceeded',
    });
  });

  it('sends a rejection like a throw', async () => {
    await open(() => Promise.reject(new ApiError('model_not_found')));
    expect(await errorOf(await fetch(`${url}/known`))).to.include({ status: 404, code: 'model_not_found' });
  });

  const insides: { name: string; thrown: Error }[] = [
    { name: 'an error', thrown: new TypeError('canary') },
    { name: 'an error with a status of success', thrown: Object.assign(new Error('canary'), { status: 200 }) },
    { name: 'an error with a status of failure', thrown: Object.assign(new Error('canary'), { status: 500 }) },
  ];

  for (const { name, thrown } of insides) {
    it(`says nothing of the inside when ${name} is thrown`, async () => {
      await open(throwing(thrown));
      const response = await fetch(`${url}/known`);
      expect(await errorOf(response)).to.deep.equal({
        status: 502,
        message: 'The gateway failed.',
        type: 'server_error',
        param: '',
        code: 'internal_error',
      });
      expect(response.headers.get('x-should-retry')).to.equal(null);
      expect(logged).to.include('the gateway failed').and.not.include('canary');
    });
  }

  it('tells the log where it failed', async () => {
    await open(throwing(new Error('x')));
    await fetch(`${url}/known`);
    expect(logged).to.match(/"stack":\["at [^"]*error-handler\.test\.ts/);
  });

  const unknownPaths: { path: string; says: RegExp }[] = [
    { path: '/api/v1/responses/resp_1', says: /Responses are not stored\. GET \/api\/v1\/requests\/\{id\}/ },
    { path: '/v1/responses/resp_1/input_items?limit=1', says: /Responses are not stored/ },
    { path: '/v1/conversations', says: /No conversation is stored/ },
    { path: '/v1/conversations/conv_1/items', says: /No conversation is stored/ },
    { path: '/api/v1/embeddings', says: /PASSTHROUGH_PATHS/ },
    { path: '/v1/audio/speech', says: /PASSTHROUGH_PATHS/ },
    { path: '/v1/embeddingsx', says: /exist\. The API is at \/api\/v1 and at \/v1\. See/ },
    { path: '/x/v1/embeddings', says: /exist\. The API is at/ },
  ];
  for (const { path, says } of unknownPaths) {
    it(`says what is there in the place of ${path}`, async () => {
      await open((_req, res) => void res.end());
      const error = await errorOf(await fetch(url + path));
      expect(error).to.include({ status: 404, code: 'not_found' });
      expect(error['message']).to.match(says);
    });
  }

  const express4xx: { name: string; path: string }[] = [
    { name: 'a path with a broken escape', path: '/named/%' },
    { name: 'a path with bytes that are no text', path: '/named/%ff' },
  ];

  for (const { name, path } of express4xx) {
    it(`takes ${name} for a mistake of the caller`, async () => {
      await open(throwing(undefined));
      expect(await errorOf(await fetch(`${url}${path}`))).to.include({ status: 400, code: 'invalid_request' });
    });
  }

  it('answers an unknown path in JSON, without naming it', async () => {
    await open(throwing(undefined));
    const response = await fetch(`${url}/canary?canary`);
    const error = await errorOf(response);
    expect(error).to.include({ status: 404, code: 'not_found', type: 'invalid_request_error' });
    expect(JSON.stringify(error)).not.to.include('canary');
  });

  it('says which methods a path takes', async () => {
    await open(throwing(undefined));
    const response = await fetch(`${url}/known`, { method: 'PUT' });
    expect(response.headers.get('allow')).to.equal('GET, POST');
    expect(await errorOf(response)).to.include({ status: 405, code: 'method_not_allowed' });
  });

  const retries: { error: ApiError; hint: string | null }[] = [
    { error: new ApiError('invalid_request'), hint: 'false' },
    { error: new ApiError('invalid_api_key'), hint: 'false' },
    { error: new ApiError('payload_too_large'), hint: 'false' },
    { error: new ApiError('request_cancelled'), hint: 'false' },
    { error: new ApiError('rate_limit_exceeded'), hint: null },
    { error: new ApiError('rate_limit_exceeded', { headers: { 'x-should-retry': 'false' } }), hint: 'false' },
    { error: new ApiError('invalid_request', { status: 409 }), hint: null },
    { error: new ApiError('upstream_unreachable'), hint: null },
    { error: new ApiError('store_unavailable'), hint: null },
  ];

  for (const { error, hint } of retries) {
    const whether = hint === null ? 'lets a client repeat' : 'keeps a client from repeating';
    it(`${whether} what ended in ${error.status} ${error.code} ${JSON.stringify(error.headers)}`, async () => {
      await open(throwing(error));
      expect((await fetch(`${url}/known`)).headers.get('x-should-retry')).to.equal(hint);
    });
  }

  it('forgets what the route has said of a body it did not send', async () => {
    await open((_req, res, next) => {
      res.set({
        'content-type': 'text/event-stream',
        'content-length': '7',
        'content-encoding': 'gzip',
        'x-kept': 'yes',
      });
      next(new ApiError('upstream_error'));
    });
    const response = await fetch(`${url}/known`);
    expect(response.headers.get('x-kept')).to.equal('yes');
    expect(await errorOf(response)).to.include({ status: 502 });
  });

  it('cuts a reply that has begun', async () => {
    await open(async (_req, res) => {
      res.write('half');
      await allArrived();
      throw new ApiError('upstream_error');
    });
    const response = await fetch(`${url}/known`);
    const failure = await response.text().catch((error: unknown) => error);
    expect(failure).to.be.instanceOf(Error);
  });

  it('lets a reply arrive that was complete before the error', async () => {
    await open((_req, res, next) => {
      res.end('x'.repeat(5_000_000));
      next(new Error('afterwards'));
    });
    const response = await fetch(`${url}/known`);
    expect(await response.text()).to.have.length(5_000_000);
  });

  describe('for a client that never stops sending', () => {
    const passTime = useHeldTime();

    it('does not go on reading', async () => {
      await open(throwing(undefined));
      const socket = connect((server.address() as AddressInfo).port, '127.0.0.1');
      const closed = new Promise((resolve) => socket.on('error', () => {}).on('close', resolve));
      socket.resume();
      socket.write('POST /nowhere HTTP/1.1\r\nhost: x\r\ncontent-length: 99999999999\r\n\r\n');
      const feeding = setInterval(() => socket.write('x'.repeat(10_000)), 200);
      await passTime(2000);
      await closed;
      clearInterval(feeding);
    });
  });

  it('reads an upload away which nobody wants, so that the client sees the refusal', async () => {
    await open(throwing(undefined));
    const response = await fetch(`${url}/nowhere`, { method: 'POST', body: new Uint8Array(8_000_000) });
    expect(await errorOf(response)).to.include({ status: 404 });
  });
});

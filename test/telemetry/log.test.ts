import { once } from 'node:events';
import { request as httpRequest, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect } from 'chai';
import express, { type RequestHandler } from 'express';
import { ApiError } from '../../src/core/errors.ts';
import { errorHandler } from '../../src/http/error-handler.ts';
import { createFinishLines, createLogger, createRequestLines } from '../../src/telemetry/log.ts';
import { factsOf } from '../../src/telemetry/reply-facts.ts';
import type { Usage } from '../../src/contract/types.ts';
import { beginFacts, observe } from '../support/observe.ts';
import { useRealSockets } from '../support/real-sockets.ts';

interface Line {
  readonly level: number;
  readonly msg: string;
  readonly [key: string]: unknown;
}

describe('the line of a request', () => {
  useRealSockets();

  let server: Server;
  let url: string;
  let lines: Line[];
  let written: (line: Line) => void;

  afterEach(async () => {
    server.closeAllConnections();
    server.close();
    await once(server, 'close');
  });

  async function open(route: RequestHandler): Promise<void> {
    lines = [];
    const log = createLogger('trace', {
      write(text: string) {
        const line = JSON.parse(text) as Line;
        lines.push(line);
        written(line);
      },
    });
    const app = express();
    app.use(observe(log, createFinishLines()), route, errorHandler);
    server = app.listen(0, '127.0.0.1');
    await once(server, 'listening');
    url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  }

  /** The last line of the request which `start` makes. */
  async function lineOf(start: () => unknown): Promise<Line> {
    const line = new Promise<Line>((resolve) => {
      written = (candidate) => {
        if ('status' in candidate) resolve(candidate);
      };
    });
    await start();
    return line;
  }

  it('is one for a request, with what an operator asks for', async () => {
    await open((_req, res) => {
      res.setHeader('x-request-id', 'req_of_record');
      const facts = factsOf(res);
      Object.assign(facts, { model: 'm-1', stream: true, keyPrefix: 'sk-ab', usage: usageOf(12, 34) });
      facts.prompt = {
        turn: { turn: 'broken', at: 'tools', by: 'client' },
        reachableTokens: 0,
        changedBackend: false,
      };
      facts.firstOutputAtMs = facts.startedAtMs + 5.4;
      res.json({ ok: true });
    });
    const line = await lineOf(() =>
      fetch(`${url}/v1/responses?key=secret`, { headers: { 'x-client-request-id': 'client-1' } }),
    );
    expect(line).to.deep.include({
      level: 30,
      msg: 'answered',
      req: { method: 'GET', path: '/v1/responses', clientId: 'client-1' },
      requestId: 'req_of_record',
      endpoint: 'responses',
      key: 'sk-ab',
      model: 'm-1',
      stream: true,
      status: 200,
      inputTokens: 12,
      cachedTokens: 0,
      turn: 'broken',
      brokenAt: 'tools',
      brokenBy: 'client',
      outputTokens: 34,
      firstOutputMs: 5,
    });
    expect(line['ms']).to.be.a('number');
    expect(line['bytes']).to.be.within(100, 1000);
    expect(lines).to.have.length(1);
  });

  it('keeps the path and the id as they came in, whatever is made of the request afterwards', async () => {
    await open((req, res) => {
      req.url = '/rewritten';
      req.headers = {};
      res.json({});
    });
    const line = await lineOf(() => fetch(`${url}/v1/models`, { headers: { 'x-request-id': 'client-2' } }));
    expect(line['req']).to.deep.equal({ method: 'GET', path: '/v1/models', clientId: 'client-2' });
  });

  it('tells a client that has gone away from one that was answered', async () => {
    await open((_req, res) => void res.write('x'));
    const line = await lineOf(() => {
      const req = httpRequest(url, (response) => response.once('data', () => req.destroy()));
      req.on('error', () => {}).end();
    });
    expect(line).to.include({ msg: 'aborted', errorCode: 'client_disconnected', status: 200, level: 30 });
  });

  for (const { status, level } of [
    { status: 404, level: 30 },
    { status: 502, level: 50 },
  ]) {
    it(`gives a ${status} the level ${level}`, async () => {
      await open((_req, res) => void res.status(status).end());
      expect(await lineOf(() => fetch(url))).to.include({ status, level });
    });
  }

  it('bounds the id of the client and takes what is not visible out of it', async () => {
    await open((_req, res) => void res.end());
    const line = await lineOf(() => fetch(url, { headers: { 'x-client-request-id': `a\tb${'c'.repeat(500)}` } }));
    expect(line['req']).to.have.property('clientId', `ab${'c'.repeat(126)}`);
  });

  it('says that nothing was sent to a client that went away before', async () => {
    let arrived = (): void => undefined;
    const inside = new Promise<void>((resolve) => (arrived = resolve));
    await open(() => arrived());
    const line = await lineOf(async () => {
      const req = httpRequest(url).on('error', () => {});
      req.end();
      await inside;
      req.destroy();
    });
    expect(line).to.include({ msg: 'aborted', status: 499 });
  });

  it('has the code of the error', async () => {
    await open((_req, _res, next) => next(new ApiError('model_not_found')));
    expect(await lineOf(() => fetch(url))).to.include({ msg: 'rejected', errorCode: 'model_not_found', level: 30 });
  });

  it('is an error when the backend failed, whatever status was sent before', async () => {
    await open((_req, res) => {
      Object.assign(factsOf(res), { errorCode: 'upstream_error', backend: 'answered' });
      res.json({});
    });
    expect(await lineOf(() => fetch(url))).to.include({ msg: 'failed', status: 200, level: 50 });
  });

  for (const { status, level } of [
    { status: 200, level: 20 },
    { status: 503, level: 30 },
  ]) {
    it(`is no error for a probe that is answered with ${status}`, async () => {
      await open((_req, res) => void res.status(status).json({}));
      expect(await lineOf(() => fetch(`${url}/readyz`))).to.include({ level, endpoint: 'health', status });
    });
  }

  it('comes with another one, once for a model, where nobody knows the finish reason', async () => {
    const unknownFinish = `other "${'x'.repeat(500)}`;
    await open((req, res) => {
      Object.assign(factsOf(res), { model: req.url, ...(req.url !== '/known' && { unknownFinish }) });
      res.json({});
    });
    for (const path of ['/a', '/known', '/a', '/b']) await lineOf(() => fetch(url + path));
    await lineOf(() => fetch(`${url}/known`));
    const told = lines.filter(({ level }) => level === 40);
    expect(told.map(({ model }) => model)).to.deep.equal(['/a', '/b']);
    expect(told[0]?.['finishReason']).to.equal(`other ${'x'.repeat(58)}`);
  });

  it('bounds the path', async () => {
    await open((_req, res) => void res.end());
    const line = await lineOf(() => fetch(`${url}/${'p'.repeat(5000)}`));
    expect((line['req'] as { path: string }).path).to.have.length(256);
  });

  it('writes nothing of key, prompt, cookie, query or idempotency key, also of an error, at level trace', async () => {
    await open((req, _res, next) => {
      req.log.trace({ err: new Error('canary\n    at canary', { cause: new SyntaxError('canary') }) }, 'tried');
      next(new TypeError('canary\n    at canary:1:1'));
    });
    await lineOf(() =>
      fetch(`${url}/v1/responses?canary=canary`, {
        method: 'POST',
        headers: {
          authorization: 'Bearer canary',
          'idempotency-key': 'canary',
          cookie: 'canary=canary',
          'x-api-key': 'canary',
          'content-type': 'application/canary',
        },
        body: '{"input":"canary"}',
      }),
    );
    expect(lines).to.have.length(3);
    expect(JSON.stringify(lines)).not.to.include('canary');
    expect(lines.map(({ err }) => (err as { type?: string } | undefined)?.type)).to.deep.equal([
      'Error',
      'TypeError',
      undefined,
    ]);
  });

  it('says where an error came from', async () => {
    await open((_req, _res, next) => next(new RangeError('x', { cause: new TypeError('y') })));
    await lineOf(() => fetch(url));
    const { err } = lines[0] as unknown as { err: { type: string; stack: string[]; cause: { type: string } } };
    expect(err.stack[0]).to.match(/^at .*log\.test\.ts:\d+:\d+/);
    expect(err.cause.type).to.equal('TypeError');
  });
});

function usageOf(input: number, output: number): Usage {
  return {
    input_tokens: input,
    input_tokens_details: { cached_tokens: 0, cache_write_tokens: 0 },
    output_tokens: output,
    output_tokens_details: { reasoning_tokens: 0 },
    total_tokens: input + output,
  };
}

describe('createLogger', () => {
  it('comes to an end with errors that cause each other', async () => {
    const lines: string[] = [];
    const error = new Error('a');
    error.cause = error;
    createLogger('info', { write: (line) => void lines.push(line) }).error({ err: error }, 'failed');
    expect(lines).to.have.length(1);
  });
});

describe('the lines of requests that the state of the gateway refuses', () => {
  it('are one a second, which says how many others ended like the line before', () => {
    const lines: unknown[] = [];
    let nowMs = 0;
    const requestLines = createRequestLines(() => nowMs);
    const log = createLogger('info', { write: (text) => void lines.push(JSON.parse(text)) });
    const refuse = (): void => {
      const end = { requestId: 'req_1', outcome: 'rejected', status: 503, durationMs: 1, bytes: 200 } as const;
      requestLines.end({ ...beginFacts(), log, errorCode: 'store_unavailable' }, end);
    };
    for (let times = 0; times < 5; times += 1) refuse();
    nowMs = 1000;
    refuse();
    expect(lines).to.have.lengthOf(2);
    expect(lines[0]).to.include({ msg: 'rejected', errorCode: 'store_unavailable' }).and.not.have.property('repeated');
    expect(lines[1]).to.include({ errorCode: 'store_unavailable', repeated: 4 });
  });
});

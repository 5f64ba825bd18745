import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { request as httpRequest, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect } from 'chai';
import express, { type RequestHandler } from 'express';
import { errorHandler } from '../../src/http/error-handler.ts';
import { createLogger, noteModel, requestLogging } from '../../src/http/logging.ts';
import { useRealSockets } from '../support/real-sockets.ts';

interface Line {
  readonly level: number;
  readonly msg: string;
  readonly [key: string]: unknown;
}

describe('requestLogging', () => {
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
    app.use((_req, res, next) => {
      res.setHeader('x-request-id', 'req_fresh');
      next();
    });
    app.use(requestLogging(log), route, errorHandler);
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

  it('writes one line for a request, with what an operator asks for', async () => {
    await open((_req, res) => {
      res.setHeader('x-request-id', 'req_of_record');
      noteModel(res, 'm-1');
      res.json({ ok: true });
    });
    const line = await lineOf(() =>
      fetch(`${url}/v1/a/b?key=secret`, { headers: { 'x-client-request-id': 'client-1' } }),
    );
    expect(line).to.deep.include({
      level: 30,
      msg: 'answered',
      req: { method: 'GET', path: '/v1/a/b', clientId: 'client-1' },
      requestId: 'req_of_record',
      status: 200,
      model: 'm-1',
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
    expect(line.msg).to.equal('client gone');
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
    expect(err.stack[0]).to.match(/^at .*logging\.test\.ts:\d+:\d+/);
    expect(err.cause.type).to.equal('TypeError');
  });
});

describe('createLogger', () => {
  const module = join(import.meta.dirname, '../../src/http/logging.ts');

  async function outputOf(statements: string): Promise<string> {
    const program = `import { createLogger } from ${JSON.stringify(module)}; ${statements}`;
    const args = ['--disable-warning=ExperimentalWarning', '--input-type=module', '--eval', program];
    const { stdout } = await promisify(execFile)(process.execPath, args);
    return stdout;
  }

  it('loses no line when the process ends', async () => {
    expect(await outputOf("createLogger('info').info('last words'); process.exit(0);")).to.include(
      '"msg":"last words"',
    );
  });

  it('writes nothing below its level', async () => {
    expect(await outputOf("const log = createLogger('warn'); log.info('no'); log.warn('yes');")).to.match(
      /^[^\n]*"yes"[^\n]*\n$/,
    );
  });

  it('comes to an end with errors that cause each other', async () => {
    const lines: string[] = [];
    const error = new Error('a');
    error.cause = error;
    createLogger('info', { write: (line) => void lines.push(line) }).error({ err: error }, 'failed');
    expect(lines).to.have.length(1);
  });
});

import { once } from 'node:events';
import { Agent, request, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect } from 'chai';
import express, { type RequestHandler } from 'express';
import { ApiError, type ErrorCode } from '../../src/core/errors.ts';
import { errorHandler } from '../../src/http/error-handler.ts';
import { factsOf } from '../../src/telemetry/reply-facts.ts';
import type { RequestEnd, RequestFacts, RequestObserver } from '../../src/telemetry/facts.ts';
import { observe } from '../support/observe.ts';
import { useRealSockets } from '../support/real-sockets.ts';
import { useHeldTime } from '../support/held-time.ts';

interface Told {
  readonly facts: RequestFacts;
  readonly end: RequestEnd;
}

describe('observeRequests', () => {
  useRealSockets();

  let server: Server;
  let url: string;
  let begun: RequestFacts[];
  let ended: Told[];
  let next: PromiseWithResolvers<Told>;

  beforeEach(() => {
    begun = [];
    ended = [];
    next = Promise.withResolvers();
  });

  afterEach(async () => {
    server.closeAllConnections();
    server.close();
    await once(server, 'close');
  });

  async function open(route: RequestHandler): Promise<void> {
    const observer: RequestObserver = {
      begin: (facts) => void begun.push(facts),
      end(facts, end) {
        ended.push({ facts, end });
        next.resolve({ facts, end });
      },
    };
    const app = express();
    app.use(observe(undefined, observer), route, errorHandler);
    server = app.listen(0, '127.0.0.1');
    await once(server, 'listening');
    url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  }

  describe('with its time', () => {
    const passTime = useHeldTime();

    it('tells of each request once when it begins and once when it is over', async () => {
      const asked = Promise.withResolvers<void>();
      await open((_req, res) => {
        expect(ended).to.have.length(0);
        expect(factsOf(res)).to.equal(begun[0]);
        setTimeout(() => res.end('done'), 30);
        asked.resolve();
      });
      const asking = fetch(url);
      await asked.promise;
      await passTime(30);
      await (await asking).text();
      const { facts, end } = await next.promise;
      expect(facts).to.equal(begun[0]);
      expect(end).to.include({ outcome: 'answered', status: 200, requestId: `req_${'1'.repeat(32)}` });
      expect(end.durationMs).to.be.closeTo(30, 1e-6);
      expect([begun.length, ended.length]).to.deep.equal([1, 1]);
    });
  });

  const endpoints: Readonly<Record<string, RequestFacts['endpoint']>> = {
    '/api/v1/responses': 'responses',
    '/v1/responses/': 'responses',
    '/V1/Responses?query=/v1/models': 'responses',
    '/v1/responsesx': 'other',
    '/v1/chat/completions': 'chat.completions',
    '/v1/chat': 'other',
    '/v1/models': 'models',
    '/v1/models/a/b': 'models',
    '/v1/requests/req_1/cancel': 'requests',
    '/api/v1/usage': 'usage',
    '/v1/key': 'key',
    '/v1/keys': 'other',
    '/v1/embeddings': 'passthrough',
    '/api/v1/embeddings/more': 'passthrough',
    '/v1/embeddingsx': 'other',
    '/healthz': 'health',
    '/readyz': 'health',
    '/metrics': 'health',
    '/': 'other',
    '/x/v1/models': 'other',
  };
  for (const [path, endpoint] of Object.entries(endpoints)) {
    it(`takes ${path} for ${endpoint}`, async () => {
      await open((_req, res) => void res.end());
      await (await fetch(url + path)).text();
      expect(begun[0]?.endpoint).to.equal(endpoint);
    });
  }

  const outcomes: readonly { code: ErrorCode; backend: RequestFacts['backend']; outcome: RequestEnd['outcome'] }[] = [
    { code: 'duplicate_request', backend: 'not asked', outcome: 'duplicate' },
    { code: 'request_cancelled', backend: 'answered', outcome: 'cancelled' },
    { code: 'client_disconnected', backend: 'asked', outcome: 'aborted' },
    { code: 'rate_limit_exceeded', backend: 'not asked', outcome: 'rejected' },
    { code: 'rate_limit_exceeded', backend: 'asked', outcome: 'failed' },
    { code: 'upstream_error', backend: 'answered', outcome: 'failed' },
  ];
  for (const { code, backend, outcome } of outcomes) {
    it(`says ${outcome} of ${code} where the backend was ${backend}`, async () => {
      await open((_req, res, next) => {
        factsOf(res).backend = backend;
        next(new ApiError(code));
      });
      await (await fetch(url)).text();
      const { facts, end } = await next.promise;
      expect(end.outcome).to.equal(outcome);
      expect(facts.errorCode).to.equal(code);
    });
  }

  it('keeps the reason why a reply was broken off', async () => {
    await open((_req, res) => {
      res.write('x');
      factsOf(res).errorCode = 'gateway_interrupted';
      factsOf(res).backend = 'answered';
      res.destroy();
    });
    await fetch(url)
      .then((reply) => reply.text())
      .catch(() => undefined);
    const { facts, end } = await next.promise;
    expect([facts.errorCode, end.outcome]).to.deep.equal(['gateway_interrupted', 'failed']);
  });

  it('counts the bytes of one reply, on a connection that had others', async () => {
    await open((_req, res) => void res.end('x'.repeat(1000)));
    const agent = new Agent({ keepAlive: true, maxSockets: 1 });
    for (let count = 0; count < 3; count++) {
      next = Promise.withResolvers();
      const req = request(url, { agent });
      req.end();
      const [reply] = (await once(req, 'response')) as [NodeJS.ReadableStream];
      reply.resume();
      await once(reply, 'end');
      expect((await next.promise).end.bytes).to.be.within(1100, 1400);
    }
    agent.destroy();
  });
});

import { once } from 'node:events';
import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect } from 'chai';
import express from 'express';
import { pino } from 'pino';
import { authenticate, callerOf, type AuthenticateOptions, type Caller } from '../../src/http/authenticate.ts';
import { errorHandler } from '../../src/http/error-handler.ts';
import { requestLogging } from '../../src/http/logging.ts';

describe('authenticate', () => {
  let server: Server;
  let url: string;
  let callers: Caller[];
  let nowMs: number;
  /** What the route behind answers. */
  let status: number;

  afterEach(async () => {
    server.closeAllConnections();
    server.close();
    await once(server, 'close');
  });

  async function open(options: Partial<AuthenticateOptions> = {}): Promise<void> {
    callers = [];
    nowMs = 0;
    status = 200;
    const app = express();
    app.set('trust proxy', 1);
    app.use(requestLogging(pino({ level: 'silent' })));
    app.use(
      authenticate({
        mode: 'passthrough',
        apiKeys: [],
        upstreamApiKey: null,
        toIdentity: (key) => [`identity of ${key}`],
        nowMs: () => nowMs,
        ...options,
      }),
    );
    app.use((req, res) => {
      if (req.method !== 'OPTIONS') callers.push(callerOf(res));
      res.status(status).json({});
    });
    app.use(errorHandler);
    server = app.listen(0, '127.0.0.1');
    await once(server, 'listening');
    url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
  }

  function ask(authorization?: string, headers: Record<string, string> = {}, method = 'POST'): Promise<Response> {
    return fetch(url, { method, headers: { ...(authorization !== undefined && { authorization }), ...headers } });
  }

  async function codeOf(response: Response): Promise<string> {
    const { error } = (await response.json()) as { error?: { code: string } };
    return `${response.status} ${error?.code ?? ''}`.trim();
  }

  const refused: { name: string; authorization?: string; code: string }[] = [
    { name: 'no header', code: '401 missing_api_key' },
    { name: 'an empty header', authorization: '', code: '401 missing_api_key' },
    { name: 'Bearer alone', authorization: 'Bearer ', code: '401 missing_api_key' },
    { name: 'another scheme', authorization: 'Basic dXNlcjpwYXNz', code: '401 missing_api_key' },
    { name: 'a key without a scheme', authorization: 'sk-1', code: '401 missing_api_key' },
    { name: 'a key with a space in it', authorization: 'Bearer sk 1', code: '401 invalid_api_key' },
    { name: 'a key that is not ASCII', authorization: 'Bearer sk-é', code: '401 invalid_api_key' },
    { name: 'a key that is too long', authorization: `Bearer ${'k'.repeat(4097)}`, code: '401 invalid_api_key' },
  ];

  for (const mode of ['passthrough', 'static'] as const) {
    for (const { name, authorization, code } of refused) {
      it(`refuses ${name} in ${mode} mode`, async () => {
        await open({ mode, apiKeys: ['sk-1'] });
        const response = await ask(authorization);
        expect(response.headers.get('www-authenticate')).to.equal('Bearer');
        expect(response.headers.get('x-should-retry')).to.equal('false');
        expect(await codeOf(response)).to.equal(code);
        expect(callers).to.deep.equal([]);
      });
    }
  }

  it('never says in its refusal what was sent', async () => {
    await open({ mode: 'static', apiKeys: ['sk-1'] });
    expect(await (await ask('Bearer canary')).text()).not.to.include('canary');
  });

  it('lets a preflight through without a key', async () => {
    await open({ mode: 'static', apiKeys: ['sk-1'] });
    expect((await fetch(url, { method: 'OPTIONS' })).status).to.equal(200);
  });

  describe('in passthrough mode', () => {
    it("hands the caller's own key on, and knows the caller by its identity", async () => {
      await open();
      await ask('bearer  sk-1 ');
      expect(callers).to.deep.equal([
        { identity: ['identity of sk-1'], backendHeaders: { authorization: 'Bearer sk-1' } },
      ]);
    });

    it('hands on which account of the key is meant', async () => {
      await open();
      await ask('Bearer sk-1', { 'openai-organization': 'org-1', 'openai-project': 'x'.repeat(300), cookie: 'a=b' });
      expect(callers[0]?.backendHeaders).to.deep.equal({
        authorization: 'Bearer sk-1',
        'openai-organization': 'org-1',
      });
    });

    it('takes a key of 4096 characters', async () => {
      await open();
      expect((await ask(`Bearer ${'k'.repeat(4096)}`)).status).to.equal(200);
    });

    it('holds up an address whose keys the backend has refused too often', async () => {
      await open();
      status = 401;
      for (let n = 0; n < 30; n++) await ask(`Bearer sk-${n}`);
      callers.length = 0;
      const response = await ask('Bearer sk-31');
      expect(response.headers.get('retry-after')).to.equal('60');
      expect(await codeOf(response)).to.equal('429 rate_limit_exceeded');
      expect(callers).to.deep.equal([]);
    });

    it('does not hold up a key which the backend has taken', async () => {
      await open();
      await ask('Bearer sk-good');
      status = 401;
      for (let n = 0; n < 30; n++) await ask('Bearer sk-bad');
      status = 200;
      expect((await ask('Bearer sk-good')).status).to.equal(200);
    });

    it('does not take what was answered without the backend for its word on the key', async () => {
      await open();
      await ask('Bearer sk-stranger', {}, 'GET');
      status = 401;
      for (let n = 0; n < 30; n++) await ask('Bearer sk-bad');
      expect((await ask('Bearer sk-stranger')).status).to.equal(429);
    });

    it('holds up a key which the backend has taken and then refused', async () => {
      await open();
      await ask('Bearer sk-1');
      status = 401;
      for (let n = 0; n < 30; n++) await ask('Bearer sk-1');
      expect((await ask('Bearer sk-1')).status).to.equal(429);
    });

    it('takes no other failure for a sign of a wrong key', async () => {
      await open();
      status = 429;
      for (let n = 0; n < 40; n++) await ask('Bearer sk-1');
      status = 200;
      expect((await ask('Bearer sk-2')).status).to.equal(200);
    });
  });

  describe('in static mode', () => {
    const options = { mode: 'static', apiKeys: ['sk-1', 'sk-2'], upstreamApiKey: 'sk-up' } as const;

    for (const key of options.apiKeys) {
      it(`takes ${key}, and shows the backend its own key`, async () => {
        await open(options);
        await ask(`Bearer ${key}`, { 'openai-organization': 'org-1' });
        expect(callers).to.deep.equal([
          { identity: [`identity of ${key}`], backendHeaders: { authorization: 'Bearer sk-up' } },
        ]);
      });
    }

    for (const key of ['sk-3', 'sk-', 'sk-11', 'SK-1']) {
      it(`refuses ${key}`, async () => {
        await open(options);
        expect(await codeOf(await ask(`Bearer ${key}`))).to.equal('401 invalid_api_key');
      });
    }

    it('shows the backend no key when there is none', async () => {
      await open({ ...options, upstreamApiKey: null });
      await ask('Bearer sk-1');
      expect(callers[0]?.backendHeaders).to.deep.equal({});
    });

    it('holds up an address that guesses', async () => {
      await open(options);
      for (let n = 0; n < 30; n++) await ask('Bearer guess');
      expect(await codeOf(await ask('Bearer guess'))).to.equal('429 rate_limit_exceeded');
      expect(await codeOf(await ask())).to.equal('429 rate_limit_exceeded');
    });

    it('lets a listed key in from an address that somebody else guesses from', async () => {
      await open(options);
      for (let n = 0; n < 31; n++) await ask('Bearer guess');
      expect((await ask('Bearer sk-1')).status).to.equal(200);
    });

    it('does not hold up another address', async () => {
      await open(options);
      for (let n = 0; n < 31; n++) await ask('Bearer guess', { 'x-forwarded-for': '203.0.113.1' });
      const response = await ask('Bearer guess', { 'x-forwarded-for': '203.0.113.2' });
      expect(response.status).to.equal(401);
    });

    it('lets the address try again after a minute', async () => {
      await open(options);
      for (let n = 0; n < 31; n++) await ask('Bearer guess');
      nowMs += 60_000;
      expect((await ask('Bearer guess')).status).to.equal(401);
    });
  });
});

describe('callerOf', () => {
  it('throws where nobody has been let in', () => {
    expect(() => callerOf({} as never)).to.throw('the route stands before authenticate');
  });
});

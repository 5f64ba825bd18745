import crypto from 'node:crypto';
import { once } from 'node:events';
import { request, type IncomingMessage, type Server } from 'node:http';
import { syncBuiltinESMExports } from 'node:module';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { expect } from 'chai';
import express from 'express';
import { ApiError } from '../../src/core/errors.ts';
import type { Caller } from '../../src/accounts/caller.ts';
import {
  authenticate,
  callerOf,
  createAuthenticator,
  type AuthenticateOptions,
} from '../../src/access/authenticate.ts';
import { errorHandler } from '../../src/http/error-handler.ts';
import type { StoredKey } from '../../src/core/books/keys.ts';
import { factsOf } from '../../src/telemetry/reply-facts.ts';
import type { RequestFacts } from '../../src/telemetry/facts.ts';
import { newStoredKey } from '../support/keys.ts';
import { observe } from '../support/observe.ts';
import { turn } from '../support/time.ts';

describe('authenticate', () => {
  let server: Server;
  let url: string;
  let callers: Caller[];
  let nowMs: number;
  /** What the route behind answers, and whether the backend has. */
  let status: number;
  let backend: RequestFacts['backend'];
  let accepted: Set<string>;
  /** What the gateway has issued, by hash, and how often that was asked for. */
  let keys: Map<string, StoredKey>;
  let lookups: number;

  afterEach(async () => {
    server.closeAllConnections();
    server.close();
    await once(server, 'close');
  });

  async function open(options: Partial<AuthenticateOptions> = {}): Promise<void> {
    callers = [];
    nowMs = 0;
    status = 200;
    backend = 'answered';
    keys = new Map();
    accepted = new Set();
    lookups = 0;
    const app = express();
    app.set('trust proxy', 1);
    app.use(observe());
    app.use(
      authenticate(
        createAuthenticator({
          authMode: 'passthrough',
          apiKeys: [],
          accounts: {
            async findKeyByHash([hash]) {
              lookups += 1;
              return keys.get(hash);
            },
          },
          acceptedCallers: {
            has: (caller) => caller.some((name) => accepted.has(name)),
            add: ([name]) => void accepted.add(name),
            delete: ([name]) => void accepted.delete(name),
          },
          identities: {
            caller: (key) => [`identity of ${key}`],
            keySecret: (text) => [`hash of ${text}`],
            keyMark: 'a mark',
            keyHolder: (keyId) => [keyId],
          },
          nowMs: () => nowMs,
          ...options,
        }),
      ),
    );
    app.use((req, res) => {
      factsOf(res).backend = backend;
      if (req.method !== 'OPTIONS') {
        const caller = callerOf(res);
        callers.push(caller);
        if (backend === 'answered' && status < 400) caller.noteAccepted?.();
      }
      res.status(status).json({});
    });
    app.use(errorHandler);
    server = app.listen(0, '127.0.0.1');
    await once(server, 'listening');
    url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
  }

  function ask(authorization?: string, headers: Record<string, string> = {}): Promise<Response> {
    return fetch(url, {
      method: 'POST',
      headers: { ...(authorization !== undefined && { authorization }), ...headers },
    });
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

  for (const mode of ['passthrough', 'static', 'managed'] as const) {
    for (const { name, authorization, code } of refused) {
      it(`refuses ${name} in ${mode} mode`, async () => {
        await open({ authMode: mode, apiKeys: ['sk-1'] });
        const response = await ask(authorization);
        expect(response.headers.get('www-authenticate')).to.equal('Bearer');
        expect(response.headers.get('x-should-retry')).to.equal('false');
        expect(await codeOf(response)).to.equal(code);
        expect(callers).to.deep.equal([]);
      });
    }
  }

  for (const mode of ['static', 'managed'] as const) {
    it(`never says in its refusal what was sent in ${mode} mode`, async () => {
      await open({ authMode: mode });
      const secret = `rgk_${'canary12'.repeat(5)}`;
      expect(await (await ask(`Bearer ${secret}`)).text()).not.to.include('canary');
    });
  }

  for (const { second, answer } of [
    { second: 'Bearer one', answer: '200' },
    { second: 'Bearer two', answer: '400 invalid_request' },
  ]) {
    it(`answers ${answer} to "Bearer one" with "${second}" as a second header`, async () => {
      await open();
      const headers = ['host', 'x', 'Authorization', 'Bearer one', 'authorization', second];
      const [reply] = (await once(request(url, { headers }).end(), 'response')) as [IncomingMessage];
      const { error } = JSON.parse(await text(reply)) as { error?: { code: string; param: string; message: string } };
      expect(`${reply.statusCode} ${error?.code ?? ''}`.trim()).to.equal(answer);
      expect(error?.param ?? 'Authorization').to.equal('Authorization');
      expect(callers.map(({ identity }) => identity[0])).to.deep.equal(error ? [] : ['identity of one']);
    });
  }

  it('lets a preflight through without a key', async () => {
    await open({ authMode: 'static', apiKeys: ['sk-1'] });
    expect((await fetch(url, { method: 'OPTIONS' })).status).to.equal(200);
  });

  describe('in passthrough mode', () => {
    it("hands the caller's own key on, and knows the caller by its identity", async () => {
      await open();
      await ask('bearer  sk-1 ');
      expect(callers.map(withoutHolder)).to.deep.equal([
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

    it('does not take what was answered without the backend for a word of it on the key', async () => {
      await open();
      backend = 'not asked';
      await ask('Bearer sk-stranger');
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

    for (const { name, failing, answeredBy } of [
      { name: 'a 400 of the backend', failing: 400, answeredBy: 'asked' },
      { name: 'a 403 of the backend', failing: 403, answeredBy: 'asked' },
      { name: 'a 429 of the backend', failing: 429, answeredBy: 'asked' },
      { name: 'a 500 of the backend', failing: 500, answeredBy: 'asked' },
      { name: 'a body that is refused', failing: 400, answeredBy: 'not asked' },
    ] as const) {
      it(`counts ${name} for a key that was never accepted`, async () => {
        await open();
        [status, backend] = [failing, answeredBy];
        for (let n = 0; n < 30; n++) await ask(`Bearer sk-${n}`);
        expect(await codeOf(await ask('Bearer sk-31'))).to.equal('429 rate_limit_exceeded');
        callers.length = 0;
      });

      it(`does not count ${name} for a key that was accepted`, async () => {
        await open();
        await ask('Bearer sk-1');
        [status, backend] = [failing, answeredBy];
        for (let n = 0; n < 40; n++) await ask('Bearer sk-1');
        [status, backend] = [200, 'answered'];
        expect((await ask('Bearer sk-2')).status).to.equal(200);
      });
    }

    it('does not count what the gateway itself could not serve', async () => {
      await open();
      [status, backend] = [503, 'not asked'];
      for (let n = 0; n < 40; n++) await ask('Bearer sk-1');
      status = 200;
      expect((await ask('Bearer sk-2')).status).to.equal(200);
    });

    it('takes shares for the network of a key until the backend accepts it', async () => {
      await open();
      await ask('Bearer sk-1', { 'x-forwarded-for': '2001:db8:1:2:3::4' });
      const [caller] = callers;
      expect(caller?.holder()).to.deep.equal({ name: 'identity of sk-1', isStranger: false });
      accepted.clear();
      expect(caller?.holder()).to.deep.equal({ name: 'network 2001:db8:1:2', isStranger: true });
    });
  });

  describe('in static mode', () => {
    const options = { authMode: 'static', apiKeys: ['sk-1', 'sk-2'] } as const;

    for (const key of options.apiKeys) {
      it(`takes ${key}, which the backend does not see`, async () => {
        await open(options);
        await ask(`Bearer ${key}`, { 'openai-organization': 'org-1' });
        expect(callers.map(withoutHolder)).to.deep.equal([{ identity: [`identity of ${key}`], backendHeaders: {} }]);
      });
    }

    for (const key of ['sk-3', 'sk-', 'sk-11', 'SK-1']) {
      it(`refuses ${key}`, async () => {
        await open(options);
        expect(await codeOf(await ask(`Bearer ${key}`))).to.equal('401 invalid_api_key');
      });
    }

    it('compares nothing but digests, each time all of them, so that the time of an answer says nothing', async () => {
      await open({ ...options, apiKeys: ['sk-1', 'sk-2', 'sk-of-another-length'] });
      const { timingSafeEqual } = crypto;
      const compared: Buffer[] = [];
      crypto.timingSafeEqual = (one, other) => {
        compared.push(Buffer.from(one as Buffer), Buffer.from(other as Buffer));
        return timingSafeEqual(one, other);
      };
      syncBuiltinESMExports();
      try {
        for (const key of ['sk-1', 'sk-2', 's', 'sk-of-another-lengt', 'none']) {
          compared.length = 0;
          await ask(`Bearer ${key}`);
          expect(
            compared.map(({ length }) => length),
            key,
          ).to.deep.equal(Array(6).fill(32));
          expect(Buffer.concat(compared).includes('sk-')).to.equal(false);
        }
      } finally {
        crypto.timingSafeEqual = timingSafeEqual;
        syncBuiltinESMExports();
      }
    });

    it('holds up an address that guesses', async () => {
      await open(options);
      for (let n = 0; n < 30; n++) await ask('Bearer guess');
      expect(await codeOf(await ask('Bearer guess'))).to.equal('429 rate_limit_exceeded');
      expect(await codeOf(await ask())).to.equal('429 rate_limit_exceeded');
    });

    it('lets a short key in, first seen in a network, only while nobody guesses there', async () => {
      await open({ ...options, apiKeys: ['short', 'as-long-as-it-must-be'] });
      for (let n = 0; n < 31; n++) await ask('Bearer guess', { 'x-forwarded-for': '203.0.113.1' });
      const from = (network: string, key: string) => ask(`Bearer ${key}`, { 'x-forwarded-for': network });
      expect((await from('203.0.113.1', 'short')).status).to.equal(429);
      expect((await from('203.0.113.1', 'as-long-as-it-must-be')).status).to.equal(200);
      expect((await from('203.0.113.2', 'short')).status).to.equal(200);
      expect((await from('203.0.113.1', 'short')).status).to.equal(429);
      for (let n = 0; n < 31; n++) await from('203.0.113.2', 'guess');
      expect((await from('203.0.113.2', 'short')).status, 'used in its network before').to.equal(200);
    });

    it('lets a listed key in from an address that somebody else guesses from', async () => {
      await open(options);
      await ask('Bearer sk-1');
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

  describe('in managed mode', () => {
    const options = { authMode: 'managed' } as const;
    const secretOf = (number: number): string => `rgk_${String(number).padStart(40, '0')}`;
    const SECRET = secretOf(1);

    function issue(overrides: Partial<StoredKey> = {}, secret = SECRET): StoredKey {
      const key = newStoredKey(overrides);
      keys.set(`hash of ${secret}`, key);
      return key;
    }

    it('knows the caller by the id of the key, which the backend does not see', async () => {
      await open(options);
      const key = issue();
      expect((await ask(`Bearer ${SECRET}`, { 'openai-organization': 'org-1' })).status).to.equal(200);
      expect(callers.map(withoutHolder)).to.deep.equal([{ identity: [key.keyId], backendHeaders: {}, key }]);
    });

    const refusals: readonly { name: string; key: Partial<StoredKey> | undefined; message: string }[] = [
      { name: 'a key that was never issued', key: undefined, message: 'The API key is not valid.' },
      { name: 'a disabled key', key: { isDisabled: true }, message: 'The API key is disabled.' },
      { name: 'an expired key', key: { expiresAtMs: 1 }, message: 'The API key has expired.' },
    ];
    for (const { name, key, message } of refusals) {
      it(`refuses ${name}, and tells its owner`, async () => {
        await open(options);
        nowMs = 1;
        if (key !== undefined) issue(key);
        const response = await ask(`Bearer ${SECRET}`);
        expect(response.status).to.equal(401);
        expect(await response.json()).to.deep.equal({
          error: { message, type: 'authentication_error', param: '', code: 'invalid_api_key' },
        });
        expect(callers).to.deep.equal([]);
      });
    }

    it('does not look for what is no secret of ours', async () => {
      await open(options);
      expect(await codeOf(await ask('Bearer sk-1'))).to.equal('401 invalid_api_key');
      expect(lookups).to.equal(0);
    });

    it('lets in a good key that it sees for the first time from an address of many wrong ones', async () => {
      await open(options);
      issue({}, secretOf(100));
      for (let n = 0; n < 40; n++) await ask(`Bearer ${secretOf(n)}`);
      expect(await codeOf(await ask(`Bearer ${secretOf(41)}`))).to.equal('429 rate_limit_exceeded');
      expect((await ask(`Bearer ${secretOf(100)}`)).status).to.equal(200);
    });

    it('looks for 16 secrets at once, and holds up nobody else by a burst', async () => {
      let atOnce = 0;
      let most = 0;
      const full = Promise.withResolvers<void>();
      const accounts: AuthenticateOptions['accounts'] = {
        async findKeyByHash([hash]) {
          most = Math.max(most, ++atOnce);
          if (atOnce === 16) full.resolve();
          await full.promise;
          await turn(5);
          atOnce -= 1;
          return keys.get(hash);
        },
      };
      await open({ ...options, accounts });
      issue({}, secretOf(500));
      const burst = Array.from({ length: 200 }, (_, n) => ask(`Bearer ${secretOf(n)}`));
      const other = await ask(`Bearer ${secretOf(500)}`, { 'x-forwarded-for': '203.0.113.2' });
      expect(other.status).to.equal(200);
      const codes = await Promise.all(burst.map(async (asked) => codeOf(await asked)));
      expect(codes.filter((code) => code === '429 rate_limit_exceeded')).to.have.lengthOf(170);
      expect(most).to.equal(16);
    });

    it('lets in many good keys that it sees for the first time, all at once', async () => {
      await open(options);
      for (let n = 0; n < 100; n++) issue({}, secretOf(n));
      const asked = Array.from({ length: 100 }, (_, n) => ask(`Bearer ${secretOf(n)}`));
      const statuses = (await Promise.all(asked)).map((response) => response.status);
      expect(new Set(statuses)).to.deep.equal(new Set([200]));
    });

    it('does not hold up a key that was taken before', async () => {
      await open(options);
      issue({}, secretOf(100));
      await ask(`Bearer ${secretOf(100)}`);
      for (let n = 0; n < 40; n++) await ask(`Bearer ${secretOf(n)}`);
      expect((await ask(`Bearer ${secretOf(100)}`)).status).to.equal(200);
    });

    it('holds up a key that was taken before and is disabled now', async () => {
      await open(options);
      const key = issue();
      await ask(`Bearer ${SECRET}`);
      keys.set(`hash of ${SECRET}`, { ...key, isDisabled: true });
      for (let n = 0; n < 31; n++) await ask(`Bearer ${SECRET}`);
      expect(await codeOf(await ask(`Bearer ${SECRET}`))).to.equal('429 rate_limit_exceeded');
      expect(lookups).to.equal(33);
    });

    it('does not take a store that is out of order for a wrong key', async () => {
      await open({
        ...options,
        accounts: { findKeyByHash: () => Promise.reject(new ApiError('store_unavailable')) },
      });
      for (let n = 0; n < 31; n++)
        expect(await codeOf(await ask(`Bearer ${SECRET}`))).to.equal('503 store_unavailable');
    });
  });
});

function withoutHolder({
  holder: _holder,
  noteAccepted: _accepted,
  ...caller
}: Caller): Omit<Caller, 'holder' | 'noteAccepted'> {
  return caller;
}

describe('callerOf', () => {
  it('throws where nobody has been let in', () => {
    expect(() => callerOf({} as never)).to.throw('the route stands before authenticate');
  });
});

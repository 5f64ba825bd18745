import { once } from 'node:events';
import { request, type IncomingMessage } from 'node:http';
import { text } from 'node:stream/consumers';
import { expect } from 'chai';
import { issueSecret } from '../../src/accounts/keys.ts';
import { ApiError } from '../../src/core/errors.ts';
import type { GatewayOverrides } from '../../src/gateway.ts';
import type { OpenApiDocument } from '../../src/openapi/openapi.ts';
import { createIdentities } from '../../src/identity/identities.ts';
import { openStore } from '../../src/store/open.ts';
import type { Store } from '../../src/core/books/store.ts';
import { startScriptedBackend, type Reply as BackendReply, type ScriptedBackend } from '../support/backend.ts';
import { speakTo } from '../support/web-socket.ts';
import { readDescription, type Description, type Reply } from '../support/described-gateway.ts';
import { GATEWAY_SECRET, openManagedGateway, type IssuedKey, type ManagedGateway } from '../support/managed.ts';
import { newGroupDraft } from '../support/keys.ts';
import { useRealSockets } from '../support/real-sockets.ts';

const ADMIN_TOKEN = 'admin-token-of-this-test';
const METRICS_TOKEN = 'metrics-token-of-this-test';
const SETTINGS = {
  ADMIN_TOKEN,
  METRICS_TOKEN,
  MAX_BODY_BYTES: '4000',
  DRAIN_TIMEOUT_MS: '0',
};
const COMPLETION = { choices: [{ index: 0, message: { content: 'Hi' }, finish_reason: 'stop' }] };
const CHUNK = { choices: [{ index: 0, delta: { content: 'Hi' }, finish_reason: 'stop' }] };

const HANDSHAKE = 'get /api/v1/responses';
const HANDSHAKE_HEADERS = {
  connection: 'upgrade',
  upgrade: 'websocket',
  'sec-websocket-version': '13',
  'sec-websocket-key': 'dGhlIHNhbXBsZSBub25jZQ==',
};
const CREATE = 'post /api/v1/responses';
const COUNT = 'post /api/v1/responses/input_tokens';
const COMPACT = 'post /api/v1/responses/compact';
const CHAT = 'post /api/v1/chat/completions';
/** What asks a model, and leaves a record. */
const RECORDED = [CREATE, COMPACT, CHAT];
const RESPONSE = { model: 'm', input: 'Hello' };
const COMPLETE = { model: 'm', messages: [{ role: 'user', content: 'Hello' }] };

/** How a request is sent; what is absent is as a client that does all right would send it. */
interface Call {
  readonly path?: string;
  /** Null sends none. */
  readonly token?: string | null;
  readonly body?: object | string;
  readonly headers?: Readonly<Record<string, string>>;
}

/** A compaction offers no tools. */
const WRONG_TOOL = {
  code: 'unsupported_tool',
  call: { body: { ...RESPONSE, tools: [{ type: 'web_search' }], tool_choice: { type: 'web_search' } } },
};

/** What a request is refused for, and the count of its input as well. */
const REFUSED_ALIKE: readonly { code: string; call: Call }[] = [
  { code: 'unsupported_parameter', call: { body: { ...RESPONSE, background: true } } },
  { code: 'previous_response_not_found', call: { body: { ...RESPONSE, previous_response_id: 'resp_1' } } },
];

/** Where only the query can name what is not there. */
const UNKNOWN = new Map([
  ['get /admin/v1/keys', `?after=key_${'0'.repeat(32)}`],
  ['get /admin/v1/groups', `?after=group_${'0'.repeat(32)}`],
  ['get /admin/v1/requests', '?group=nobody'],
  ['get /admin/v1/usage', '?group=nobody'],
  ['get /admin/v1/usage/totals', '?group=nobody'],
]);
/** Found wherever the gateway issues keys. */
const ISSUED = ['get /api/v1/key', 'post /admin/v1/keys', 'post /admin/v1/groups'];

interface ErrorCase {
  readonly code: string;
  readonly operation: string;
  readonly call?: Call;
  readonly reply?: BackendReply;
}

type KeyWishes = Parameters<ManagedGateway['issue']>[0];

describe('the API description', () => {
  useRealSockets();

  let backend: ScriptedBackend;
  let gateway: ManagedGateway;
  let issued: IssuedKey;
  let groupId: string;
  let description: Description;
  /** By the settings of their gateways, since reading one takes long. */
  const descriptions = new Map<string, Description>();
  /** Thrown by every call of the store, while it is set. */
  let storeFailure: Error | undefined;
  /** By operation, the codes of the errors that came. */
  const seen = new Map<string, Set<string>>();

  beforeEach(async () => {
    backend = await startScriptedBackend();
    storeFailure = undefined;
    await open();
  });

  afterEach(async () => {
    await gateway.close();
    await backend.close();
  });

  async function reopen(settings: Record<string, string> = {}, key?: KeyWishes): Promise<void> {
    await gateway.close();
    await open(settings, key);
  }

  async function open(
    settings: Record<string, string> = {},
    key?: KeyWishes,
    overrides?: GatewayOverrides,
  ): Promise<void> {
    gateway = await openManagedGateway({ UPSTREAM_BASE_URL: backend.baseUrl, ...SETTINGS, ...settings }, overrides);
    issued = await gateway.issue(key);
    ({ groupId } = await gateway.store.createGroup(newGroupDraft()));
    const name = JSON.stringify(settings);
    const shown = async () => (await (await fetch(`${gateway.url}/openapi.json`)).json()) as OpenApiDocument;
    description = descriptions.get(name) ?? readDescription(await shown());
    descriptions.set(name, description);
  }

  /** Sends it, and holds what comes against the description. Returns the status and the code of the error. */
  async function ask(
    operation: string,
    call: Call = {},
  ): Promise<{ status: number; code: string | undefined; text: string }> {
    const [method = '', template = ''] = operation.split(' ');
    const path =
      call.path ??
      template
        .replace('{model}', 'm')
        .replace('{guide}', 'settings')
        .replace('{group_id}', groupId)
        .replace('/admin/v1/requests/{request_id}', `/admin/v1/requests/req_${'0'.repeat(32)}`)
        .replaceAll(/\{\w+\}/g, issued.key.keyId);
    const token = call.token === undefined ? tokenFor(template) : call.token;
    if (operation === HANDSHAKE && call.path === undefined) return shakeHands(token, call.headers);
    const body = call.body ?? bodyFor(operation);
    const reply = await fetch(gateway.url + path, {
      method: method.toUpperCase(),
      headers: {
        ...(token !== null && { authorization: `Bearer ${token}` }),
        ...(body !== undefined && { 'content-type': 'application/json' }),
        ...call.headers,
      },
      ...(body !== undefined && { body: typeof body === 'string' ? body : JSON.stringify(body) }),
    });
    const text = await reply.text();
    const { status, headers } = reply;
    return { status, code: note(operation, { status, headers, text }), text };
  }

  async function shakeHands(token: string | null, headers: Call['headers']) {
    const asked = request(`${gateway.url}/api/v1/responses`, {
      headers: { ...(token !== null && { authorization: `Bearer ${token}` }), ...HANDSHAKE_HEADERS, ...headers },
    }).end();
    const [reply] = (await Promise.race([once(asked, 'response'), once(asked, 'upgrade')])) as [IncomingMessage];
    const status = reply.statusCode ?? 0;
    if (status === 101) reply.socket.destroy();
    const told = status === 101 ? '' : await text(reply);
    const { 'content-type': contentType = '' } = reply.headers;
    const code = note(HANDSHAKE, { status, headers: new Headers({ 'content-type': contentType }), text: told });
    return { status, code, text: told };
  }

  /** Holds it against the description, and keeps the code of an error in mind, which it returns. */
  function note(operation: string, reply: Reply): string | undefined {
    const code = description.check(operation, reply) ?? ownCode(reply.text);
    if (reply.status < 400 || code === undefined) return code;
    if (!description.codesOf(operation).includes(code)) throw new Error(`${operation} does not describe ${code}`);
    if (!seen.has(operation)) seen.set(operation, new Set());
    seen.get(operation)?.add(code);
    return code;
  }

  /** Two keys, which `fetch` would send as one header. Returns the code of the error. */
  async function askWithTwoKeys(operation: string): Promise<string | undefined> {
    const [method = '', path = ''] = operation.split(' ');
    const asked = request(gateway.url + path, {
      method,
      headers: ['host', 'localhost', 'authorization', 'Bearer one', 'authorization', 'Bearer two'],
    }).end();
    const [reply] = (await once(asked, 'response')) as [IncomingMessage];
    return note(operation, {
      status: reply.statusCode ?? 0,
      headers: new Headers({ 'content-type': 'application/json' }),
      text: await text(reply),
    });
  }

  function tokenFor(path: string): string {
    if (path.startsWith('/admin')) return ADMIN_TOKEN;
    return path === '/metrics' ? METRICS_TOKEN : issued.secret;
  }

  function bodyFor(operation: string): object | undefined {
    if (operation === CREATE || operation === COUNT || operation === COMPACT) return RESPONSE;
    if (operation === CHAT) return COMPLETE;
    if (operation.endsWith('/keys') && operation.startsWith('post')) return { name: 'one more key' };
    if (operation.endsWith('/groups') && operation.startsWith('post')) return { name: 'one more group' };
    if (operation.endsWith('/credits')) return { amount: '1' };
    return operation.startsWith('patch') ? { name: 'another name' } : undefined;
  }

  const operations = () => description.operations;
  const withCode = (code: string) => operations().filter((operation) => description.codesOf(operation).includes(code));

  async function start(): Promise<{ id: string }> {
    backend.reply({ json: COMPLETION });
    const { text } = await ask(CREATE);
    return { id: (JSON.parse(text) as { id: string }).id };
  }

  it('holds for the answer of every path', async () => {
    const { id } = await start();
    backend.reply({ sse: [CHUNK] });
    expect((await ask(CREATE, { body: { ...RESPONSE, stream: true } })).text).to.include('response.completed');
    const fromBackend = new Set([CHAT, COMPACT, 'get /api/v1/models', 'get /api/v1/models/{model}']);
    for (const operation of operations()) {
      if (operation === CREATE || operation.startsWith('delete')) continue;
      if (fromBackend.has(operation)) backend.reply({ json: { ...COMPLETION, object: 'list', data: [], id: 'm' } });
      const record = operation.includes('{request_id}');
      const { status } = await ask(
        operation,
        record ? { path: operation.replace(/^\w+ /, '').replace('{request_id}', id) } : {},
      );
      expect(status, operation).to.be.oneOf(operation === HANDSHAKE ? [101] : [200, 201]);
    }
    await ask('delete /admin/v1/keys/{key_id}');
    await ask('delete /admin/v1/groups/{group_id}');
  });

  it('holds for a stream that fails', async () => {
    backend.reply(async ({ start, sse, cut }) => {
      start();
      await sse({ choices: [{ index: 0, delta: { content: 'Hi' } }] });
      cut();
    });
    const { status, text } = await ask(CREATE, { body: { ...RESPONSE, stream: true } });
    expect([status, text.includes('response.failed')]).to.deep.equal([200, true]);
  });

  it('holds for a cancel, and for the request that is cancelled', async () => {
    for (const [index, operation] of RECORDED.entries()) {
      backend.always(({ hang }) => hang());
      const waiting = ask(operation, { headers: { 'idempotency-key': 'k' } });
      await backend.request(index + 1);
      const { text } = await ask('get /api/v1/requests', { headers: { 'idempotency-key': 'k' } });
      const { request_id: id } = JSON.parse(text) as { request_id: string };
      const cancelled = await ask('post /api/v1/requests/{request_id}/cancel', {
        path: `/api/v1/requests/${id}/cancel`,
      });
      expect([cancelled.status, (await waiting).code]).to.deep.equal([202, 'request_cancelled']);
      expect((await ask(operation, { headers: { 'idempotency-key': 'k' } })).code).to.equal('duplicate_request');
    }
  });

  describe('holds for every error', () => {
    for (const { code, call } of [
      { code: 'missing_api_key', call: { token: null } },
      { code: 'invalid_api_key', call: { token: 'wrong' } },
    ]) {
      it(code, async () => {
        for (const operation of withCode(code)) expect((await ask(operation, call)).code, operation).to.equal(code);
      });
    }

    it('rate_limit_exceeded', async () => {
      for (let failures = 0; failures < 30; failures++) await ask('get /api/v1/usage', { token: 'wrong' });
      for (let failures = 0; failures < 30; failures++) await ask('get /admin/v1/usage', { token: 'wrong' });
      for (const operation of withCode('rate_limit_exceeded')) {
        expect((await ask(operation, { token: 'wrong' })).code, operation).to.equal('rate_limit_exceeded');
      }
    });

    for (const [code, failure] of [
      ['store_unavailable', new ApiError('store_unavailable')],
      ['internal_error', new Error('a mistake of ours')],
    ] as const) {
      it(code, async () => {
        const store = failing(
          await openStore({ databaseUrl: ':memory:', recordRetentionDays: 30, clock: Date.now }),
          () => storeFailure,
        );
        await gateway.close();
        await open({}, {}, { store });
        storeFailure = failure;
        // A key which nobody has looked up yet.
        const token = issueSecret(createIdentities(GATEWAY_SECRET, null).keySecret).text;
        for (const operation of withCode(code)) {
          const call = operation.includes('/admin') ? {} : { token };
          expect((await ask(operation, call)).code, operation).to.equal(code);
        }
      });
    }

    it('gateway_draining', async () => {
      await reopen({ DRAIN_TIMEOUT_MS: '60000' });
      const { promise: released, resolve: release } = Promise.withResolvers<void>();
      backend.reply(async ({ start, end }) => {
        await released;
        start(200, { 'content-type': 'application/json' });
        end(JSON.stringify(COMPLETION));
      });
      const waiting = ask(CREATE);
      await backend.request(1);
      const drained = gateway.drain();
      for (const operation of withCode('gateway_draining')) {
        expect((await ask(operation)).code, operation).to.equal('gateway_draining');
      }
      expect((await ask('get /readyz')).status).to.equal(503);
      release();
      expect((await waiting).status).to.equal(200);
      await drained;
    });

    it('gateway_interrupted', async () => {
      backend.always(({ hang }) => hang());
      const waiting = RECORDED.map((operation) => ask(operation));
      await backend.request(waiting.length);
      await gateway.drain();
      for (const { code } of await Promise.all(waiting)) expect(code).to.equal('gateway_interrupted');
    });

    it('server_overloaded', async () => {
      // Nobody has its share before the capacity is used up.
      await reopen({ MAX_CONCURRENT_REQUESTS: '1', MAX_WEBSOCKETS: '1' });
      const { secret } = await gateway.issue();
      backend.always(({ hang }) => hang());
      const waiting = ask(CREATE);
      await backend.request(1);
      const speaker = await speakTo(gateway.url, { headers: { authorization: `Bearer ${issued.secret}` } });
      for (const operation of withCode('server_overloaded')) {
        expect((await ask(operation, { token: secret })).code, operation).to.equal('server_overloaded');
        expect((await ask(operation)).code, operation).to.equal('concurrency_limit_exceeded');
      }
      speaker.close();
      await gateway.drain();
      await waiting;
    });

    it('upstream_unreachable', async () => {
      await reopen({ UPSTREAM_BASE_URL: 'http://127.0.0.1:1/v1' });
      for (const operation of withCode('upstream_unreachable')) {
        expect((await ask(operation)).code, operation).to.equal('upstream_unreachable');
      }
    });

    it('upstream_timeout', async () => {
      await reopen({ FIRST_BYTE_TIMEOUT_MS: '1' });
      for (const operation of withCode('upstream_timeout')) {
        backend.reply(({ hang }) => hang());
        expect((await ask(operation)).code, operation).to.equal('upstream_timeout');
      }
    });

    it('not_found', async () => {
      for (const operation of withCode('not_found')) {
        if (operation === CREATE || operation === COMPACT) continue;
        const path = operation.split(' ')[1]?.replace(/\{\w+\}/, `key_${'0'.repeat(32)}`) ?? '';
        const query = UNKNOWN.get(operation) ?? '';
        const needsIssuedKeys = ISSUED.includes(operation);
        const missing = { text: '<html>', status: 404 };
        if (operation.includes('/models')) backend.reply(missing);
        // The list is asked as well.
        if (operation.includes('/models/')) backend.reply(missing);
        if (!needsIssuedKeys)
          expect((await ask(operation, { path: path + query })).code, operation).to.equal('not_found');
      }
    });

    it('not_found, of keys where the gateway issues none', async () => {
      await reopen({ AUTH_MODE: 'passthrough' });
      for (const operation of ISSUED) {
        expect((await ask(operation)).code, operation).to.equal('not_found');
      }
    });

    it('upstream_invalid_response', async () => {
      for (const operation of withCode('upstream_invalid_response')) {
        backend.reply({ json: {}, status: 307 });
        expect((await ask(operation)).code, operation).to.equal('upstream_invalid_response');
      }
    });

    it('request_not_found', async () => {
      for (const operation of withCode('request_not_found')) {
        const path = operation.split(' ')[1]?.replace('{request_id}', `req_${'0'.repeat(32)}`) ?? '';
        const call = { path, headers: { 'idempotency-key': 'of no request' } };
        expect((await ask(operation, call)).code, operation).to.equal('request_not_found');
      }
    });

    it('invalid_request, with two keys', async () => {
      for (const operation of withCode('invalid_request')) {
        expect(await askWithTwoKeys(operation), operation).to.equal('invalid_request');
      }
    });

    it('invalid_request', async () => {
      for (const operation of withCode('invalid_request')) {
        if (/\/(?:key|models|backends|limits|prices)$/.test(operation) || operation === HANDSHAKE) continue;
        const [method = '', path = ''] = operation.split(' ');
        const wrong = path.includes('{') ? path.replace(/\{\w+\}/, '%E0') : `${path}?limit=0&per=week`;
        const body = method === 'post' ? '[]' : undefined;
        const call = { path: wrong, ...(body !== undefined && { body }) };
        expect((await ask(operation, call)).code, operation).to.equal('invalid_request');
      }
    });

    it('of a body', async () => {
      for (const operation of withCode('invalid_json')) {
        const errorOf = async (call: Call) => (await ask(operation, call)).code;
        const has = (code: string) => description.codesOf(operation).includes(code);
        expect(await errorOf({ body: '{' })).to.equal('invalid_json');
        expect(await errorOf({ body: `{"a":"${'x'.repeat(70_000)}"}` })).to.equal('payload_too_large');
        expect(await errorOf({ body: '{}', headers: { 'content-type': 'text/plain' } })).to.equal(
          'unsupported_media_type',
        );
        expect(await errorOf({ body: '{}', headers: { 'content-encoding': 'rot13' } })).to.equal(
          'unsupported_content_encoding',
        );
        if (has('missing_required_parameter'))
          expect(await errorOf({ body: '{}' })).to.equal('missing_required_parameter');
      }
    });

    it('of a rate, of funds, of a model and of a field', async () => {
      const priceless = { model: 'no-price' };
      await reopen({}, { limits: { requestsPerMinute: 1 } });
      for (const operation of RECORDED) {
        backend.reply({ json: COMPLETION });
        await ask(operation);
        expect((await ask(operation)).code).to.equal('rate_limit_exceeded');
      }
      await reopen({}, { creditsMicro: 0 });
      for (const operation of RECORDED) {
        expect((await ask(operation)).code).to.equal('insufficient_credits');
        expect((await ask(operation, { body: { ...bodyFor(operation), ...priceless } })).code).to.equal('forbidden');
      }
      const unbounded = { body: { ...bodyFor(CHAT), best_of: 2 } };
      expect((await ask(CHAT, unbounded)).code).to.equal('unsupported_parameter');
      await reopen({}, { limits: { spendPerDayMicro: 0 } });
      for (const operation of RECORDED) expect((await ask(operation)).code).to.equal('spend_limit_exceeded');
      await reopen({}, { models: ['another'] });
      for (const operation of withCode('model_not_found')) {
        expect((await ask(operation)).code, operation).to.equal('model_not_found');
      }
    });

    for (const operation of [CREATE, COMPACT]) {
      it(`insufficient_quota: ${operation}`, async () => {
        await reopen({ AUTH_MODE: 'passthrough' });
        backend.reply(refusal(429, { code: 'insufficient_quota' }));
        expect((await ask(operation)).code).to.equal('insufficient_quota');
      });
    }

    it('that one request is refused for', async () => {
      const badKey = { headers: { 'idempotency-key': 'x'.repeat(256) } };
      const ofResponses: readonly Omit<ErrorCase, 'operation'>[] = [
        { code: 'invalid_idempotency_key', call: badKey },
        { code: 'context_length_exceeded', reply: refusal(400, { code: 'context_length_exceeded' }) },
        { code: 'content_filter', reply: refusal(400, { code: 'content_filter' }) },
        { code: 'not_found', reply: refusal(404, { code: 'something_else' }) },
        { code: 'invalid_request', reply: refusal(422) },
        { code: 'rate_limit_exceeded', reply: refusal(429) },
        { code: 'upstream_error', reply: refusal(500) },
        { code: 'upstream_error', reply: refusal(503) },
        { code: 'upstream_invalid_response', reply: { text: '<html>' } },
        ...REFUSED_ALIKE,
      ];
      const cases: readonly ErrorCase[] = [
        ...[CREATE, COMPACT].flatMap((operation) => ofResponses.map((each) => ({ ...each, operation }))),
        ...[CREATE, COUNT].map((operation) => ({ ...WRONG_TOOL, operation })),
        ...REFUSED_ALIKE.map((each) => ({ ...each, operation: COUNT })),
        { code: 'forbidden', operation: HANDSHAKE, call: { headers: { origin: 'https://elsewhere.example' } } },
        { code: 'method_not_allowed', operation: HANDSHAKE, call: { path: '/api/v1/responses' } },
        { code: 'invalid_idempotency_key', operation: CHAT, call: badKey },
        { code: 'invalid_idempotency_key', operation: 'get /api/v1/requests', call: badKey },
        { code: 'upstream_error', operation: CHAT, reply: refusal(401) },
        { code: 'upstream_error', operation: 'get /api/v1/models', reply: refusal(401) },
        { code: 'upstream_error', operation: 'get /api/v1/models/{model}', reply: refusal(401) },
        { code: 'not_found', operation: 'get /api/v1/models', reply: { text: '<html>', status: 404 } },
        { code: 'upstream_invalid_response', operation: 'get /api/v1/models', reply: { text: '<html>' } },
      ];
      for (const { code, operation, call, reply } of cases) {
        if (reply !== undefined) backend.reply(reply);
        expect((await ask(operation, call)).code, `${operation} ${JSON.stringify(call ?? reply)}`).to.equal(code);
      }
    });

    it('duplicate_request, of an entry in a ledger', async () => {
      const entry = { body: { amount: '1', reference: 'invoice-1' } };
      for (const operation of ['post /admin/v1/keys/{key_id}/credits', 'post /admin/v1/groups/{group_id}/credits']) {
        await ask(operation, entry);
        expect((await ask(operation, entry)).code).to.equal('duplicate_request');
      }
    });

    it('duplicate_request, of a name', async () => {
      const named = { body: { name: 'taken' } };
      for (const kind of ['key', 'group']) {
        await ask(`post /admin/v1/${kind}s`, named);
        for (const operation of [`post /admin/v1/${kind}s`, `patch /admin/v1/${kind}s/{${kind}_id}`]) {
          expect((await ask(operation, named)).code, operation).to.equal('duplicate_request');
        }
      }
    });

    it('that it names, and names no other', () => {
      const unseen = operations().flatMap((operation) =>
        description
          .codesOf(operation)
          .flatMap((code) => (seen.get(operation)?.has(code) === true ? [] : [`${operation}: ${code}`])),
      );
      expect(unseen).to.deep.equal([]);
    });
  });
});

/** The code of an error in the gateway's own form. */
function ownCode(text: string): string | undefined {
  try {
    const { error } = JSON.parse(text) as { error?: { code?: string } | null };
    return error?.code;
  } catch {
    return undefined;
  }
}

function refusal(status: number, error: object = {}): BackendReply {
  return { json: { error: { message: 'no', type: 'x', param: null, ...error } }, status };
}

function failing(store: Store, failure: () => Error | undefined): Store {
  return new Proxy(store, {
    get(target, name: keyof Store) {
      const call = target[name] as ((...given: unknown[]) => unknown) | undefined;
      // Whoever awaits a store asks it for `then`.
      if (call === undefined) return undefined;
      return (...given: unknown[]) => {
        const thrown = name === 'close' ? undefined : failure();
        return thrown === undefined ? call(...given) : Promise.reject(thrown);
      };
    },
  });
}

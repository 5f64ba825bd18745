/** What an operator reads of each request, whatever becomes of it. */

import { expect } from 'chai';
import { createLogger } from '../../src/telemetry/log.ts';
import { callerOf, type Caller } from '../records/caller.ts';
import { answer, stream, text } from '../records/chunks.ts';
import { startScriptedBackend, type ScriptedBackend } from '../support/backend.ts';
import { openManagedGateway, type ManagedGateway } from '../support/managed.ts';
import { useRealSockets } from '../support/real-sockets.ts';
import { until } from '../support/time.ts';

const REQUEST = { model: 'm', input: 'Hello' };
const STREAM = { ...REQUEST, stream: true };
const TOKENS = { inputTokens: 11, outputTokens: 7 };

interface Ways {
  readonly backend: ScriptedBackend;
  readonly caller: Caller;
  readonly complete: (stream: boolean) => Promise<Response>;
}

const CASES: readonly {
  name: string;
  make: (ways: Ways) => Promise<unknown>;
  expected: { readonly msg: string; readonly [field: string]: unknown };
  /** What the line must not have. */
  absent?: readonly string[];
}[] = [
  {
    name: 'an answer in JSON',
    make: async ({ caller }) => (await caller.create(REQUEST)).text(),
    expected: { msg: 'answered', endpoint: 'responses', model: 'm', stream: false, status: 200, ...TOKENS },
    absent: ['errorCode'],
  },
  {
    name: 'a stream',
    make: async ({ caller }) => (await caller.create(STREAM)).text(),
    expected: { msg: 'answered', endpoint: 'responses', model: 'm', stream: true, status: 200, ...TOKENS },
    absent: ['errorCode'],
  },
  {
    name: 'a chat completion',
    make: async ({ complete }) => (await complete(false)).text(),
    expected: { msg: 'answered', endpoint: 'chat.completions', model: 'm', stream: false, status: 200, ...TOKENS },
  },
  {
    name: 'a streamed chat completion',
    make: async ({ complete }) => (await complete(true)).text(),
    expected: { msg: 'answered', endpoint: 'chat.completions', model: 'm', stream: true, status: 200, ...TOKENS },
  },
  {
    name: 'a request that is refused',
    make: async ({ caller }) => (await caller.create({ model: 'm' })).text(),
    expected: { msg: 'rejected', status: 400, errorCode: 'missing_required_parameter', level: 30 },
    absent: ['model', 'inputTokens', 'firstOutputMs'],
  },
  {
    name: 'a failure of the backend',
    make: async ({ caller, backend }) => {
      backend.reply({ json: { error: { message: 'no' } }, status: 500 });
      return (await caller.create(REQUEST)).text();
    },
    expected: { msg: 'failed', model: 'm', status: 502, errorCode: 'upstream_error', level: 50 },
  },
  {
    name: 'a failure in the middle of a stream',
    make: async ({ caller, backend }) => {
      backend.reply(stream([text('Hel')], 'cut'));
      return (await caller.create(STREAM)).text();
    },
    expected: { msg: 'failed', model: 'm', status: 200, errorCode: 'upstream_error', level: 50 },
  },
  {
    name: 'a cancel',
    make: async ({ caller, backend }) => {
      backend.reply(stream([text('Hel')], 'hang'));
      const reply = await caller.create(STREAM);
      await (await caller.cancel(reply.headers.get('x-request-id') ?? '')).text();
      return reply.text();
    },
    expected: { msg: 'cancelled', model: 'm', status: 200, errorCode: 'request_cancelled', level: 30 },
  },
  {
    name: 'a client that goes away',
    make: async ({ caller, backend }) => {
      backend.reply(stream([text('Hel')], 'hang'));
      const client = new AbortController();
      await caller.create(STREAM, { signal: client.signal });
      client.abort();
    },
    expected: { msg: 'aborted', model: 'm', stream: true, status: 200, errorCode: 'client_disconnected', level: 30 },
  },
];

describe('the log', () => {
  useRealSockets();

  let backend: ScriptedBackend;
  let gateway: ManagedGateway;
  let apiKey: string;
  let lines: Readonly<Record<string, unknown>>[];

  beforeEach(async () => {
    lines = [];
    backend = await startScriptedBackend();
    backend.always(answer());
    const log = createLogger('info', { write: (line) => void lines.push(JSON.parse(line)) });
    gateway = await openManagedGateway({ UPSTREAM_BASE_URL: backend.baseUrl }, { log });
    apiKey = (await gateway.issue()).secret;
  });

  afterEach(async () => {
    await gateway.close();
    await backend.close();
  });

  const requestLines = (): typeof lines => lines.filter((line) => 'requestId' in line);

  for (const { name, make, expected, absent = [] } of CASES) {
    it(`has one line for ${name}`, async () => {
      const caller = callerOf(gateway.url, apiKey);
      const complete = (stream: boolean): Promise<Response> =>
        fetch(`${gateway.url}/v1/chat/completions`, {
          method: 'POST',
          headers: { authorization: `Bearer ${apiKey}`, 'content-type': 'application/json' },
          body: JSON.stringify({ model: 'm', messages: [{ role: 'user', content: 'Hello' }], stream }),
        });
      await make({ backend, caller, complete });
      const found = await lineWith(expected);
      expect(requestLines()).to.have.length(expected.msg === 'cancelled' ? 2 : 1);
      expect(found['key']).to.be.a('string').and.to.have.length.within(4, 16);
      expect(apiKey.startsWith(String(found['key']))).to.equal(true);
      for (const field of absent) expect(found).to.not.have.property(field);
    });
  }

  it('has the line of a duplicate under the id of the original', async () => {
    const caller = callerOf(gateway.url, apiKey);
    for (let count = 0; count < 2; count++) {
      await (await caller.create(REQUEST, { headers: { 'idempotency-key': 'once' } })).text();
    }
    const duplicate = await lineWith({ msg: 'duplicate', status: 409, errorCode: 'duplicate_request', level: 30 });
    expect(duplicate['requestId']).to.equal(requestLines()[0]?.['requestId']);
  });

  it('says that the gateway has stopped in the middle of what was passed on', async () => {
    backend.reply(({ hang }) => hang());
    const headers = { authorization: `Bearer ${apiKey}` };
    const reply = fetch(`${gateway.url}/v1/models`, { headers }).catch(() => undefined);
    await backend.request(1);
    await gateway.close();
    await reply;
    await lineWith({ msg: 'failed', errorCode: 'gateway_interrupted', status: 503, level: 50 });
  });

  it('knows no key where nobody has shown one', async () => {
    await (await fetch(`${gateway.url}/v1/models`)).text();
    expect(await lineWith({ msg: 'rejected', errorCode: 'missing_api_key' })).to.not.have.property('key');
  });

  /** The line that has these fields, as soon as it is there. */
  async function lineWith(fields: object): Promise<Readonly<Record<string, unknown>>> {
    const find = () =>
      requestLines().find((line) => Object.entries(fields).every(([field, value]) => line[field] === value));
    await until(() => find() !== undefined);
    return find() ?? {};
  }
});

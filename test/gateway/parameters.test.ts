/** Parameters of chat completions, and those of the servers behind them, in requests for responses. */

import { expect } from 'chai';
import { DIALECTS } from '../../src/core/dialects.ts';
import { answer } from '../records/chunks.ts';
import { callerOf, readError } from '../records/caller.ts';
import { startScriptedBackend, type ScriptedBackend } from '../support/backend.ts';
import { openGateway, type TestGateway } from '../support/gateway.ts';
import { openManagedGateway } from '../support/managed.ts';
import { useRealSockets } from '../support/real-sockets.ts';

const HEADER = 'x-ignored-parameters';
const VALUES: Readonly<Record<string, unknown>> = {
  stop: ['END', null],
  logit_bias: { '50256': -100 },
  chat_template_kwargs: { enable_thinking: false, tools: null },
  structured_outputs: { json: { type: 'object', default: null } },
};

describe('parameters that the Responses format does not have', () => {
  useRealSockets();

  let backend: ScriptedBackend;
  let gateway: TestGateway;

  beforeEach(async () => {
    backend = await startScriptedBackend();
    backend.always(answer('Hello'));
  });

  afterEach(async () => {
    await gateway.close();
    await backend.close();
  });

  async function open(dialect: string) {
    gateway = await openGateway({ UPSTREAM_BASE_URL: backend.baseUrl, UPSTREAM_DIALECT: dialect });
    return callerOf(gateway.url);
  }

  const sent = () => (backend.requests.at(-1)?.body ?? {}) as Readonly<Record<string, unknown>>;

  for (const dialect of ['vllm', 'sglang'] as const) {
    it(`reach ${dialect} with the same bytes on both endpoints`, async () => {
      const caller = await open(dialect);
      const fields = Object.fromEntries(
        DIALECTS[dialect].parameters.map((name, index) => [name, VALUES[name] ?? index]),
      );
      const messages = [{ role: 'user', content: 'Hi' }];
      const chat = await fetch(`${gateway.url}/api/v1/chat/completions`, {
        method: 'POST',
        headers: { authorization: 'Bearer k', 'content-type': 'application/json' },
        body: JSON.stringify({ model: 'm', messages, stream: true, ...fields }),
      });
      await chat.text();
      const { stream_options: _asked, ...expected } = sent();
      for (const body of [fields, { extra_body: fields }]) {
        const reply = await caller.create({ model: 'm', input: 'Hi', stream: true, ...body });
        await reply.text();
        expect(reply.headers.get(HEADER)).to.equal(null);
        const { stream_options: _own, ...found } = sent();
        const inOrder = Object.fromEntries(Object.keys(expected).map((name) => [name, found[name]]));
        expect(JSON.stringify(inOrder)).to.equal(JSON.stringify(expected));
        expect(found).to.have.all.keys(Object.keys(expected));
      }
    });
  }

  for (const [size, padding] of Object.entries({ 'a small body': '', 'a large body': 'x'.repeat(300_000) })) {
    it(`keep the digits of long integers in ${size}`, async () => {
      await open('vllm');
      const fields = [
        '"seed":9223372036854775807',
        '"top_k":-18446744073709551616',
        '"chat_template_kwargs":{"ids":[12345678901234567890,1e300,7],"id":"12345678901234567890"}',
      ].join();
      const bodies = {
        '/api/v1/chat/completions': `{"model":"m","messages":[{"role":"user","content":"Hi${padding}"}],${fields}}`,
        '/api/v1/responses': `{"model":"m","input":"Hi${padding}","seed":1,${fields}}`,
        '/api/v1/responses?': `{"model":"m","input":"Hi${padding}","extra_body":{${fields}}}`,
      };
      for (const [path, body] of Object.entries(bodies)) {
        const headers = { authorization: 'Bearer k', 'content-type': 'application/json' };
        const reply = await fetch(gateway.url + path, { method: 'POST', headers, body });
        expect(reply.status, await reply.text()).to.equal(200);
        for (const field of fields.split(/,(?=")/)) expect(backend.requests.at(-1)?.text, path).to.include(field);
      }
    });

    it(`keep the digits of long integers in the schemas of ${size}`, async () => {
      const schema = '{"type":"object","properties":{"id":{"type":"integer","maximum":9223372036854775807}}}';
      const body = `{"model":"m","input":"Hi${padding}",
        "tools":[{"type":"function","name":"find","parameters":${schema}},
          {"type":"namespace","name":"n","description":"d","tools":[{"type":"function","name":"look","parameters":${schema}}]}],
        "text":{"format":{"type":"json_schema","name":"found","schema":${schema}}}}`;
      await open('vllm');
      const headers = { authorization: 'Bearer k', 'content-type': 'application/json' };
      const reply = await fetch(`${gateway.url}/api/v1/responses`, { method: 'POST', headers, body });
      const echoed = await reply.text();
      expect(reply.status, echoed).to.equal(200);
      const count = (text = '') => text.split('"maximum":9223372036854775807}').length - 1;
      expect(count(backend.requests.at(-1)?.text)).to.equal(3);
      expect(count(echoed)).to.equal(3);
    });
  }

  it('are named where they have no effect, with what to write instead, and do not reach openai', async () => {
    const caller = await open('openai');
    const ignored = { max_tokens: 1, response_format: { type: 'json_object' }, n: 2, top_k: 5, 'x\r\ny': 1 };
    const reply = await caller.create({ model: 'm', input: 'Hi', seed: 7, ...ignored });
    await reply.text();
    expect(reply.headers.get(HEADER)).to.equal(
      'max_tokens (use max_output_tokens), response_format (use text.format), n, top_k, x__y',
    );
    expect(sent()).to.have.all.keys('model', 'messages', 'stream', 'seed');
  });

  it('are a 400 where a reservation could not bound them', async () => {
    gateway = await openGateway({ UPSTREAM_BASE_URL: backend.baseUrl });
    const managed = await openManagedGateway({ UPSTREAM_BASE_URL: backend.baseUrl, UPSTREAM_DIALECT: 'vllm' });
    try {
      const { secret } = await managed.issue({ creditsMicro: 1_000_000 });
      const caller = callerOf(managed.url, secret);
      for (const fields of [{ min_tokens: 9 }, { extra_body: { ignore_eos: true } }]) {
        const reply = await caller.create({ model: 'm', input: 'Hi', ...fields });
        expect(await readError(reply)).to.include({ code: 'unsupported_parameter' });
      }
      expect(backend.requests).to.have.length(0);
      expect((await caller.create({ model: 'm', input: 'Hi', top_k: 5 })).status).to.equal(200);
    } finally {
      await managed.close();
    }
  });
});

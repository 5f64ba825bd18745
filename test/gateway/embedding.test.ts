import { PassThrough } from 'node:stream';
import { expect } from 'chai';
import nock from 'nock';
import { pino } from 'pino';
import type { ChatRequest } from '../../src/core/chat.ts';
import { toUniquePart } from '../../src/core/ids.ts';
import { createGateway, readConfig, type Gateway, type GatewayOverrides } from '../../src/gateway.ts';
import type { ResponseResource } from '../../src/contract/types.ts';
import { chunkOf } from '../support/machine.ts';
import { backendOf } from '../support/scripted-backend.ts';
import { expectWellFormed, parseEvents } from '../support/well-formed.ts';

/** As README shows it to those who test their own programs against the gateway: with mocha, and nock as the backend. */
describe('a gateway within another program', () => {
  const settings = {
    UPSTREAM_BASE_URL: 'http://backend.test/v1',
    DATABASE_URL: ':memory:',
    PORT: '0',
    LOG_LEVEL: 'silent',
  };
  let opened: Gateway[];

  beforeEach(() => {
    opened = [];
  });

  afterEach(async () => {
    for (const gateway of opened) await gateway.close();
  });

  async function open(overrides: GatewayOverrides = {}): Promise<string> {
    const gateway = await createGateway(readConfig(settings), overrides);
    opened.push(gateway);
    return (await gateway.listen()).url;
  }

  it('asks the backend that nock plays', async () => {
    const url = await open();
    const asked = nock('http://backend.test', { reqheaders: { authorization: 'Bearer key' } })
      .post('/v1/chat/completions', { model: 'm', messages: [{ role: 'user', content: 'Hello' }], stream: false })
      .reply(200, { choices: [{ message: { content: 'Hi!' }, finish_reason: 'stop' }] });
    const reply = await create(url);
    expect(((await reply.json()) as ResponseResource).output_text).to.equal('Hi!');
    asked.done();
  });

  it('streams what nock plays as a stream', async () => {
    const url = await open();
    const sse = [chunkOf({ content: 'Hi' }), chunkOf({ content: '!' }), chunkOf({}, 'stop')];
    nock('http://backend.test')
      .post('/v1/chat/completions')
      .reply(200, sse.map((chunk) => `data: ${JSON.stringify(chunk)}\n\n`).join(''), {
        'content-type': 'text/event-stream',
      });
    const reply = await create(url, { stream: true });
    expect(expectWellFormed(parseEvents(await reply.text())).output_text).to.equal('Hi!');
  });

  it('passes on the error that nock plays', async () => {
    const url = await open();
    nock('http://backend.test')
      .post('/v1/chat/completions')
      .reply(429, { error: { message: 'Slow down.' } }, { 'retry-after': '3' });
    const reply = await create(url);
    expect(reply.status).to.equal(429);
    expect(reply.headers.get('retry-after')).to.equal('3');
  });

  it('takes a backend that is a function', async () => {
    const asked: ChatRequest[] = [];
    const backend = backendOf([chunkOf({ content: 'Hi!' }, 'stop')], (request) => asked.push(request));
    const url = await open({ backend });
    const reply = await create(url);
    expect(((await reply.json()) as ResponseResource).output_text).to.equal('Hi!');
    expect(asked.map(({ model }) => model)).to.deep.equal(['m']);
  });

  it('takes a clock and a source of ids, so that its answers are the same in every run', async () => {
    const unique = '0123456789abcdef0123456789abcdef';
    const url = await open({ nowMs: () => 1_790_000_000_000, newUniquePart: () => toUniquePart(unique) });
    nock('http://backend.test')
      .post('/v1/chat/completions')
      .reply(200, { choices: [{ message: { content: 'Hi!' }, finish_reason: 'stop' }] });
    expect(await (await create(url)).json()).to.deep.include({
      id: `resp_${unique}`,
      created_at: 1_790_000_000,
      completed_at: 1_790_000_000,
    });
  });

  it('takes a logger, and tells it neither keys nor content', async () => {
    const lines = new PassThrough();
    const url = await open({ log: pino({ level: 'trace' }, lines) });
    nock('http://backend.test')
      .post('/v1/chat/completions')
      .reply(200, { choices: [{ message: { content: 'canary-answer' }, finish_reason: 'stop' }] });
    await (await create(url, { input: 'canary-prompt' }, 'canary-key')).text();
    await opened[0]?.close();
    const log = String(lines.read());
    expect(log).to.include('"path":"/api/v1/responses"');
    expect(log).to.not.include('canary');
  });

  it('keeps its records to itself', async () => {
    const [one, other] = [await open(), await open()];
    nock('http://backend.test')
      .post('/v1/chat/completions')
      .reply(200, { choices: [{ message: { content: 'Hi!' }, finish_reason: 'stop' }] });
    await (await create(one)).text();
    const counts = [];
    for (const url of [one, other]) {
      const reply = await fetch(`${url}/api/v1/requests`, { headers: { authorization: 'Bearer key' } });
      counts.push(((await reply.json()) as { data: unknown[] }).data.length);
    }
    expect(counts).to.deep.equal([1, 0]);
  });

  it('is gone after close, which may be called twice', async () => {
    const url = await open();
    await Promise.all([opened[0]?.close(), opened[0]?.close()]);
    const failure: unknown = await fetch(url).catch((error: unknown) => error);
    expect(failure).to.have.nested.property('cause.code', 'ECONNREFUSED');
  });
});

function create(url: string, request: object = {}, key = 'key'): Promise<Response> {
  return fetch(`${url}/api/v1/responses`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: JSON.stringify({ model: 'm', input: 'Hello', ...request }),
  });
}

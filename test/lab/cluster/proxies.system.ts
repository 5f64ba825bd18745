/** The guide's configurations of proxies, which would hold a stream back or hide a client's leave with other lines. */

import { expect } from 'chai';
import { finish, text } from '../../records/chunks.ts';
import { blocksRunAs } from '../../docs/blocks.ts';
import { startScriptedBackend, type Script, type ScriptedBackend } from '../../support/backend.ts';
import { openGateway, type TestGateway } from '../../support/gateway.ts';
import { useRealSockets } from '../../support/real-sockets.ts';
import { speakTo } from '../../support/web-socket.ts';
import { openBalancers, openProxy, type Balancer, type Proxy } from './balancers.ts';

/** Says ` last` once the first word has arrived. */
function inHalves(hasFirst: Promise<void>): Script {
  return async ({ sse, end }) => {
    await sse(text('first'));
    await hasFirst;
    await sse(text(' last'), finish('stop'), '[DONE]');
    end();
  };
}

describe('a stream through a proxy of the guide', () => {
  useRealSockets();

  let backend: ScriptedBackend;
  let gateway: TestGateway | undefined;
  let proxy: Proxy | undefined;

  beforeEach(async () => {
    backend = await startScriptedBackend();
  });

  afterEach(async () => {
    await gateway?.close();
    await proxy?.close();
    await backend.close();
    gateway = undefined;
  });

  const blockFor = (language: string): string =>
    blocksRunAs('proxy').find((block) => block.language === language)?.code ?? '';

  /** The backend sends no second word before the client has the first one. */
  async function expectLive(url: string): Promise<void> {
    const hasFirst = Promise.withResolvers<void>();
    backend.reply(inHalves(hasFirst.promise));
    const headers = { authorization: 'Bearer k', 'content-type': 'application/json', 'accept-encoding': 'gzip' };
    const body = JSON.stringify({ model: 'm', input: 'Hi', stream: true });
    const reply = await fetch(`${url}/api/v1/responses`, { method: 'POST', headers, body });
    let said = '';
    for await (const piece of reply.body?.pipeThrough(new TextDecoderStream()) ?? []) {
      said += piece;
      if (said.includes('"delta":"first"')) hasFirst.resolve();
    }
    expect(said).to.include('"delta":" last"').and.to.include('event: response.completed');
  }

  it('is live with nginx between the gateway and the backend', async function () {
    const { host } = new URL(backend.baseUrl);
    proxy = await openProxy('nginx', blockFor('nginx').replace('10.0.0.21:8000', host));
    if (proxy === undefined) return this.skip();
    gateway = await openGateway({ UPSTREAM_BASE_URL: `${proxy.url}/v1` });
    await expectLive(gateway.url);
  });

  it('is live with Caddy in front of the gateway, which compresses JSON', async function () {
    gateway = await openGateway({ UPSTREAM_BASE_URL: backend.baseUrl });
    const site = `gateway.example.com {\n${blockFor('caddyfile')}\nreverse_proxy ${new URL(gateway.url).host}\n}`;
    proxy = await openProxy('Caddy', site);
    if (proxy === undefined) return this.skip();
    await expectLive(proxy.url);
    const reply = await fetch(`${proxy.url}/openapi.json`, { headers: { 'accept-encoding': 'gzip' } });
    expect(reply.headers.get('content-encoding')).to.equal('gzip');
    await reply.body?.cancel();
  });
});

describe('a client of a load balancer of the guide', () => {
  useRealSockets();

  let backend: ScriptedBackend;
  let gateway: TestGateway;
  let balancers: readonly Balancer[];

  before(async () => {
    backend = await startScriptedBackend();
    backend.always(({ hang }) => hang());
    gateway = await openGateway({ UPSTREAM_BASE_URL: backend.baseUrl });
    const port = Number(new URL(gateway.url).port);
    balancers = await openBalancers([port, port]);
  });

  after(async () => {
    for (const balancer of balancers) await balancer.close();
    await gateway.close();
    await backend.close();
  });

  /** Skips the test where it is not installed. */
  function balancerFor(test: Mocha.Context, name: string): Balancer {
    return balancers.find((one) => one.name === name) ?? test.skip();
  }

  for (const name of ['nginx', 'HAProxy', 'Caddy']) {
    for (const stream of [false, true]) {
      it(`that leaves ends its ${stream ? 'stream' : 'JSON answer'} at the backend, with ${name}`, async function () {
        const balancer = balancerFor(this, name);
        const controller = new AbortController();
        const asked = backend.request(backend.requests.length + 1);
        const headers = { authorization: 'Bearer k', 'content-type': 'application/json' };
        const body = JSON.stringify({ model: 'm', input: 'Hi', stream });
        const init = { method: 'POST', headers, body, signal: controller.signal };
        const reply = fetch(`${balancer.url}/api/v1/responses`, init).catch(() => undefined);
        const { closed } = await asked;
        controller.abort();
        await reply;
        expect(await closed).to.include({ aborted: true });
      });
    }

    it(`reads an answer over a WebSocket while it comes, with ${name}`, async function () {
      const balancer = balancerFor(this, name);
      const hasFirst = Promise.withResolvers<void>();
      backend.reply(inHalves(hasFirst.promise));
      const client = await speakTo(balancer.url);
      client.send({ type: 'response.create', model: 'm', input: 'Hi' });
      let event = await client.next();
      while (!('delta' in event)) event = await client.next();
      hasFirst.resolve();
      while (event.type !== 'response.completed') event = await client.next();
      client.close();
      await client.closed;
    });

    it(`that leaves ends its answer over a WebSocket at the backend, with ${name}`, async function () {
      const balancer = balancerFor(this, name);
      const client = await speakTo(balancer.url);
      const asked = backend.request(backend.requests.length + 1);
      client.send({ type: 'response.create', model: 'm', input: 'Hi' });
      const { closed } = await asked;
      client.close();
      expect(await closed).to.include({ aborted: true });
      expect(await client.closed).to.include({ code: 1005 });
    });
  }
});

import { once } from 'node:events';
import type { IncomingMessage } from 'node:http';
import { json } from 'node:stream/consumers';
import { expect } from 'chai';
import { WebSocket as Ws } from 'ws';
import { createLogger } from '../../src/telemetry/log.ts';
import { answer } from '../records/chunks.ts';
import { startScriptedBackend, type ScriptedBackend } from '../support/backend.ts';
import { openGateway, type TestGateway } from '../support/gateway.ts';
import { useRealSockets } from '../support/real-sockets.ts';

const KEY = 'canary-key';
const PROTOCOLS = ['responses', `openai-insecure-api-key.${KEY}`];

/** As web pages have to do it, which cannot set the header; with the WebSocket of browsers, which Node has too. */
describe('a WebSocket whose key is among its subprotocols', () => {
  useRealSockets();

  let backend: ScriptedBackend;
  let gateway: TestGateway;
  let log: string;

  beforeEach(async () => {
    log = '';
    backend = await startScriptedBackend();
    backend.always(answer());
    gateway = await openGateway(
      { UPSTREAM_BASE_URL: backend.baseUrl, AUTH_MODE: 'static', API_KEYS: KEY, LOG_LEVEL: 'trace' },
      { log: createLogger('trace', { write: (line) => void (log += line) }) },
    );
  });

  afterEach(async () => {
    await gateway.close();
    await backend.close();
  });

  const address = (): string => `${gateway.url.replace(/^http/, 'ws')}/api/v1/responses`;

  /** Resolves with the protocol that was agreed on; rejects when there is no connection. */
  async function open(protocols: string[]): Promise<string> {
    const socket = new WebSocket(address(), protocols);
    const { promise, resolve, reject } = Promise.withResolvers<string>();
    socket.addEventListener('open', () => resolve(socket.protocol));
    socket.addEventListener('error', () => reject(new Error('refused')));
    return promise.finally(() => socket.close());
  }

  it('is answered', async () => {
    const socket = new WebSocket(address(), PROTOCOLS);
    await once(socket, 'open');
    socket.send(JSON.stringify({ type: 'response.create', model: 'm', input: 'Hello' }));
    const types: string[] = [];
    const { promise: ended, resolve: end } = Promise.withResolvers<void>();
    socket.addEventListener('message', ({ data }) => {
      types.push((JSON.parse(String(data)) as { type: string }).type);
      if (types.at(-1) === 'response.completed') end();
    });
    await ended;
    socket.close();
    expect(types[0]).to.equal('response.created');
    expect(log).not.to.include('canary');
  });

  for (const protocols of [PROTOCOLS, PROTOCOLS.toReversed(), ['realtime', ...PROTOCOLS]]) {
    it(`agrees on the first of "${protocols.join(', ')}" that is no key`, async () => {
      expect(await open(protocols)).to.equal(protocols.find((protocol) => !protocol.includes(KEY)));
    });
  }

  it('says nothing of the key in its reply, also where there is nothing else to agree on', async () => {
    const socket = new Ws(address(), PROTOCOLS[1] ?? '');
    // It takes no connection for one without a protocol, as a browser does not.
    socket.on('error', () => undefined);
    const [{ statusCode, headers }] = (await once(socket, 'upgrade')) as [IncomingMessage];
    expect([statusCode, JSON.stringify(headers).includes('canary')]).to.deep.equal([101, false]);
    socket.terminate();
  });

  const refused = [
    { name: 'another key', protocols: ['responses', 'openai-insecure-api-key.wrong'], code: 'invalid_api_key' },
    { name: 'an empty one', protocols: ['responses', 'openai-insecure-api-key.'], code: 'missing_api_key' },
    { name: 'none', protocols: ['responses'], code: 'missing_api_key' },
  ];
  for (const { name, protocols, code } of refused) {
    it(`is refused with ${name}`, async () => {
      expect(await refusalOf(new Ws(address(), protocols))).to.equal(`401 ${code}`);
    });
  }

  it('goes by the header where there is one', async () => {
    const socket = new Ws(address(), PROTOCOLS, { headers: { authorization: 'Bearer wrong' } });
    expect(await refusalOf(socket)).to.equal('401 invalid_api_key');
  });

  it('is nothing that counts over HTTP', async () => {
    const reply = await fetch(`${gateway.url}/api/v1/requests`, {
      headers: { 'sec-websocket-protocol': PROTOCOLS.join(', ') },
    });
    expect(reply.status).to.equal(401);
  });
});

async function refusalOf(socket: Ws): Promise<string> {
  const [, reply] = (await once(socket, 'unexpected-response')) as [unknown, IncomingMessage];
  const { error } = (await json(reply)) as { error: { code: string } };
  return `${reply.statusCode} ${error.code}`;
}

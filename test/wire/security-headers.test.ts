import { connect } from 'node:net';
import { text } from 'node:stream/consumers';
import { expect } from 'chai';
import { startScriptedBackend, type ScriptedBackend } from '../support/backend.ts';
import { openGateway, type TestGateway } from '../support/gateway.ts';
import { useRealSockets } from '../support/real-sockets.ts';

const ALWAYS = {
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'no-referrer',
  'cross-origin-resource-policy': 'same-origin',
};
const API_POLICY = "default-src 'none'; frame-ancestors 'none'; sandbox";

describe('the security headers', () => {
  useRealSockets();

  let backend: ScriptedBackend;
  let gateway: TestGateway;

  beforeEach(async () => {
    backend = await startScriptedBackend();
    gateway = await openGateway({
      UPSTREAM_BASE_URL: backend.baseUrl,
      PASSTHROUGH_PATHS: '/v1/files',
      CORS_ORIGINS: '*',
    });
  });

  afterEach(async () => {
    await gateway.close();
    await backend.close();
  });

  for (const { name, path, init, status } of [
    { name: 'health', path: '/healthz', status: 200 },
    { name: 'a path that does not exist', path: '/nothing', status: 404 },
    { name: 'a refusal', path: '/api/v1/requests', status: 401 },
    {
      name: 'a preflight',
      path: '/api/v1/responses',
      init: { method: 'OPTIONS', headers: { origin: 'https://a.example', 'access-control-request-method': 'POST' } },
      status: 204,
    },
  ]) {
    it(`are on ${name}`, async () => {
      const reply = await fetch(gateway.url + path, init);
      const headers = Object.fromEntries(reply.headers);
      expect(reply.status).to.equal(status);
      expect(headers).to.include({ ...ALWAYS, 'content-security-policy': API_POLICY });
      expect(headers).not.to.have.any.keys('x-powered-by', 'server', 'strict-transport-security');
    });
  }

  it('are on a stream', async () => {
    backend.reply({ sse: [{ choices: [{ index: 0, delta: { content: 'Hi' }, finish_reason: 'stop' }] }] });
    const reply = await gateway.create({ model: 'm', input: 'Hello', stream: true });
    await reply.text();
    expect(reply.headers.get('content-type')).to.match(/^text\/event-stream/);
    expect(Object.fromEntries(reply.headers)).to.include({ ...ALWAYS, 'content-security-policy': API_POLICY });
  });

  it('are our own where the backend has others, so that a page of the backend is none of ours', async () => {
    backend.reply({
      text: '<script>top.sessionStorage</script>',
      headers: {
        'content-type': 'text/html',
        'content-security-policy': 'default-src *',
        'x-content-type-options': 'sniff',
        'cross-origin-resource-policy': 'cross-origin',
        'referrer-policy': 'unsafe-url',
      },
    });
    const reply = await gateway.get('/v1/files/1/content');
    expect(reply.headers.get('content-type')).to.equal('text/html');
    expect(Object.fromEntries(reply.headers)).to.include({ ...ALWAYS, 'content-security-policy': API_POLICY });
  });

  it('are on what is not even HTTP', async () => {
    const socket = connect(Number(new URL(gateway.url).port), '127.0.0.1');
    socket.write('HELLO\r\n\r\n');
    const reply = await text(socket);
    expect(reply)
      .to.include('x-content-type-options: nosniff\r\n')
      .and.include(`content-security-policy: ${API_POLICY}\r\n`);
  });
});

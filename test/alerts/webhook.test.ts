import { lookup } from 'node:dns';
import { expect } from 'chai';
import { createHmac } from 'node:crypto';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { isIPv6, type AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { openWebhook, type Webhook, type WebhookOptions } from '../../src/alerts/webhook.ts';
import type { Alert } from '../../src/contract/operator-types.ts';
import { startForwardProxy } from '../support/forward-proxy.ts';
import { useHeldTime } from '../support/held-time.ts';
import { useRealSockets } from '../support/real-sockets.ts';
import { allArrived, until } from '../support/time.ts';

const SECRET = `whsec_${Buffer.alloc(24, 7).toString('base64')}`;
const ALERT: Alert = {
  type: 'store.failing',
  timestamp: '2026-09-21T12:00:00.000Z',
  gateway: 'a',
  data: { store: 'sqlite' },
};

describe('the webhook', () => {
  useRealSockets();

  const pass = useHeldTime();
  let server: Server;
  let url: string;
  let received: { readonly headers: IncomingMessage['headers']; readonly body: string }[];
  let answer: (res: ServerResponse) => void;
  let results: string[];
  let logged: { readonly message: string; readonly problem: unknown }[];
  let webhook: Webhook;

  beforeEach(async () => {
    [received, results, logged] = [[], [], []];
    answer = (res) => res.end();
    server = createServer((req, res) => {
      void receive(req, res);
    });
    await new Promise<void>((resolve) => {
      server.listen(0, '127.0.0.1', resolve);
    });
    url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/hook`;
    webhook = open();
  });
  afterEach(async () => {
    await webhook.close();
    server.closeAllConnections();
    server.close();
  });

  async function receive(req: IncomingMessage, res: ServerResponse): Promise<void> {
    received.push({ headers: req.headers, body: await text(req) });
    answer(res);
  }

  function open(overrides: Partial<WebhookOptions> = {}): Webhook {
    const note = (fields: Readonly<Record<string, unknown>>, message: string) =>
      void logged.push({ message, problem: fields['problem'] });
    return openWebhook({
      lookup,
      url,
      secret: SECRET,
      nowMs: () => 1_790_000_000_999,
      log: { warn: note, error: note },
      count: (_alert, result) => results.push(result),
      ...overrides,
    });
  }

  it('posts the alert with its id, the time and a signature over both and the body', async () => {
    webhook.send('alert_1', ALERT);
    await until(() => results.length === 1);
    const [{ headers, body } = { headers: {}, body: '' }] = received;
    expect(results).to.deep.equal(['sent']);
    expect(JSON.parse(body)).to.deep.equal(ALERT);
    expect(headers).to.include({
      'content-type': 'application/json',
      'webhook-id': 'alert_1',
      'webhook-timestamp': '1790000000',
    });
    const signed = createHmac('sha256', Buffer.alloc(24, 7)).update(`alert_1.1790000000.${body}`).digest('base64');
    expect(headers['webhook-signature']).to.equal(`v1,${signed}`);
  });

  it('goes through a proxy with TLS alone, as nobody here knows where the proxy leads', async () => {
    const proxy = await startForwardProxy();
    const through = { proxy: { url: `http://127.0.0.1:${proxy.port}` } };
    const { port } = server.address() as AddressInfo;
    webhook = open({ url: `https://hooks.test:${port}/x`, ...through });
    webhook.send('alert_1', ALERT);
    await until(() => logged.length === 1);
    expect(proxy.seen).to.deep.equal([`CONNECT hooks.test:${port}`]);
    await webhook.close();
    webhook = open({ url: 'http://hooks.test/x', ...through });
    webhook.send('alert_2', ALERT);
    await until(() => logged.length === 3);
    expect(logged[2]?.problem).to.match(/ALERT_WEBHOOK_URL leads through a proxy without https/);
    expect(proxy.seen).to.have.length(1);
    await proxy.close();
  });

  it('tries again after 1 s, 2 s and so on, and sends the next one after it', async () => {
    const statuses = [500, 404];
    answer = (res) => {
      res.statusCode = statuses.shift() ?? 204;
      res.end();
    };
    for (const id of ['alert_1', 'alert_2']) webhook.send(id, ALERT);
    for (const [count, waitMs] of [
      [1, 1000],
      [2, 2000],
    ] as const) {
      await until(() => logged.length === count);
      await pass(waitMs - 1);
      expect(received).to.have.length(count);
      await pass(1);
    }
    await until(() => results.length === 2);
    expect(received.map(({ headers }) => headers['webhook-id'])).to.deep.equal([
      'alert_1',
      'alert_1',
      'alert_1',
      'alert_2',
    ]);
    expect(results).to.deep.equal(['sent', 'sent']);
  });

  it('gives up after 8 tries, and says so', async () => {
    answer = (res) => {
      res.statusCode = 503;
      res.end();
    };
    webhook.send('alert_1', ALERT);
    for (const [tries, waitS] of [1, 2, 4, 8, 16, 32, 60].entries()) {
      await until(() => logged.length === tries + 1);
      await pass(waitS * 1000);
    }
    await until(() => results.length === 1);
    expect(results).to.deep.equal(['failed']);
    expect(received).to.have.length(8);
    expect(logged.at(-1)).to.deep.equal({ message: 'the alert was given up', problem: 'it answers 503' });
  });

  it('follows no redirect', async () => {
    answer = (res) => {
      res.writeHead(307, { location: `${url}/other` });
      res.end();
    };
    webhook.send('alert_1', ALERT);
    await until(() => logged.length === 1);
    expect(logged[0]?.problem).to.equal('it answers 307, and redirects are not followed');
    expect(received).to.have.length(1);
  });

  it('waits ten seconds for an answer', async () => {
    answer = () => undefined;
    webhook.send('alert_1', ALERT);
    await until(() => received.length === 1);
    await pass(10_000);
    await until(() => logged.length === 1);
    expect(logged[0]?.problem).to.equal('it does not answer within 10 s');
  });

  it('waits no longer than that for the end of an answer whose status is there', async () => {
    const hasBegun = Promise.withResolvers<void>();
    answer = (res) => void res.writeHead(200).write('x', () => hasBegun.resolve());
    webhook.send('alert_1', ALERT);
    await hasBegun.promise;
    await allArrived();
    expect(results).to.deep.equal([]);
    await pass(10_000);
    await until(() => results.length === 1);
    expect(results).to.deep.equal(['sent']);
  });

  it('reads no more than the beginning of an answer without an end', async () => {
    answer = (res) => {
      const write = (): void => {
        while (res.write('x'.repeat(10_000)));
      };
      res.on('drain', write);
      write();
    };
    webhook.send('alert_1', ALERT);
    await until(() => results.length === 1);
    expect(results).to.deep.equal(['sent']);
  });

  it('lets a hundred alerts wait, and drops what comes beyond them and what waits at the end', async () => {
    answer = () => undefined;
    for (let at = 0; at < 101; at += 1) {
      expect(webhook.hasRoom()).to.equal(at < 100);
      webhook.send(`alert_${at}`, ALERT);
    }
    expect(results).to.deep.equal(['dropped']);
    await webhook.close();
    expect(logged.at(-1)?.message).to.equal('the gateway ends with alerts that were not sent');
    webhook.send('alert_late', ALERT);
    expect(new Set(results)).to.deep.equal(new Set(['dropped']));
  });

  it('does not say the secret, the address or the data in the log', async () => {
    answer = (res) => res.destroy();
    webhook.send('alert_1', ALERT);
    await until(() => logged.length === 1);
    expect(JSON.stringify(logged)).to.not.contain(SECRET).and.not.contain('/hook');
  });

  const cases = [
    { name: 'a public address', url: 'http://8.8.8.8/' },
    { name: 'a public address of IPv6', url: 'http://[2001:4860:4860::8888]/' },
    { name: 'a name of a public address', url: 'http://a.test/', at: '8.8.8.8' },
    { name: 'a public address within one of IPv6', url: 'http://[::ffff:8.8.8.8]/' },
    { name: 'a name of a public address behind NAT64', url: 'http://a.test/', at: '64:ff9b::808:808' },
    { name: 'a name of a public address behind 6to4', url: 'http://a.test/', at: '2002:808:808::1' },
    {
      name: 'a name with two addresses, of which one is public',
      url: 'http://a.test/',
      at: '127.0.0.1',
      also: '8.8.8.8',
    },
  ];
  for (const { name, at = '', also, url } of cases) {
    it(`does not connect to ${name} without TLS`, async () => {
      const other = open({
        url,
        lookup: (_host, _how, callback) =>
          callback(
            null,
            [at, also ?? at].map((address) => ({ address, family: isIPv6(address) ? 6 : 4 })),
          ),
      });
      other.send('alert_1', ALERT);
      await until(() => logged.length === 1);
      expect(logged[0]?.problem).to.equal('ALERT_WEBHOOK_URL leads to a public address without https://');
      await other.close();
      expect(results).to.deep.equal(['dropped']);
    });
  }

  it('connects to a name of a private address that is allowed', async () => {
    const other = open({
      url: url.replace('127.0.0.1', 'receiver.test'),
      lookup: (_host, _how, callback) => callback(null, [{ address: '127.0.0.1', family: 4 }]),
    });
    other.send('alert_1', ALERT);
    await until(() => results.length === 1);
    expect(results).to.deep.equal(['sent']);
    await other.close();
  });
});

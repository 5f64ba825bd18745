import { once } from 'node:events';
import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect } from 'chai';
import express from 'express';
import { ApiError } from '../../src/core/errors.ts';
import { showHealth, showReadiness } from '../../src/http/operate.ts';

describe('operate', () => {
  let server: Server;
  let url: string;
  let draining: boolean;
  let checkWritable: () => Promise<string | undefined>;
  let said: string[];

  beforeEach(async () => {
    draining = false;
    checkWritable = () => Promise.resolve('new');
    said = [];
    const log = { warn: (_fields: object, message: string) => said.push(message) };
    const app = express();
    const running = {
      get leaving() {
        return draining;
      },
    };
    app.get('/healthz', showHealth);
    const store = { checkWritable: () => checkWritable() };
    app.get('/readyz', showReadiness({ store, running, marks: ['new', 'old'], log }));
    server = app.listen(0, '127.0.0.1');
    await once(server, 'listening');
    url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  });

  afterEach(async () => {
    server.closeAllConnections();
    server.close();
    await once(server, 'close');
  });

  async function ask(path: string): Promise<unknown> {
    const response = await fetch(`${url}${path}`);
    return { status: response.status, cache: response.headers.get('cache-control'), body: await response.json() };
  }

  it('is healthy, whatever the store says', async () => {
    checkWritable = () => Promise.reject(new ApiError('store_unavailable'));
    expect(await ask('/healthz')).to.deep.equal({ status: 200, cache: 'no-store', body: { status: 'ok' } });
  });

  it('is ready when a record could be written', async () => {
    expect(await ask('/readyz')).to.deep.equal({
      status: 200,
      cache: 'no-store',
      body: { status: 'ready', checks: { accepting: true, store: true, secret: true } },
    });
  });

  it('is not ready while it drains', async () => {
    draining = true;
    expect(await ask('/readyz')).to.deep.include({
      status: 503,
      body: { status: 'not ready', checks: { accepting: false, store: true, secret: true } },
    });
  });

  it('is not ready when no record could be written, and does not say why', async () => {
    checkWritable = () => Promise.reject(new Error('/var/canary is full'));
    expect(await ask('/readyz')).to.deep.include({
      status: 503,
      body: { status: 'not ready', checks: { accepting: true, store: false, secret: true } },
    });
  });

  for (const mark of ['old', undefined]) {
    it(`is ready where the database ${mark === undefined ? 'has no mark' : 'is marked with the previous secret'}`, async () => {
      checkWritable = () => Promise.resolve(mark);
      expect(await ask('/readyz')).to.include({ status: 200 });
    });
  }

  it('is not ready while the database belongs to another secret, and says so in the log once', async () => {
    checkWritable = () => Promise.resolve('of another gateway');
    const notReady = {
      status: 503,
      body: { status: 'not ready', checks: { accepting: true, store: true, secret: false } },
    };
    expect(await ask('/readyz')).to.deep.include(notReady);
    expect(await ask('/readyz')).to.deep.include(notReady);
    expect(said).to.deep.equal(['the database belongs to another GATEWAY_SECRET now; start with that one']);
    checkWritable = () => Promise.resolve('new');
    expect(await ask('/readyz')).to.include({ status: 200 });
  });
});

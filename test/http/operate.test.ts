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
  let checkWritable: () => Promise<void>;

  beforeEach(async () => {
    draining = false;
    checkWritable = () => Promise.resolve();
    const app = express();
    const running = {
      get draining() {
        return draining;
      },
    };
    app.get('/healthz', showHealth);
    app.get('/readyz', showReadiness({ store: { checkWritable: () => checkWritable() }, running }));
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
      body: { status: 'ready', checks: { accepting: true, store: true } },
    });
  });

  it('is not ready while it drains', async () => {
    draining = true;
    expect(await ask('/readyz')).to.deep.include({
      status: 503,
      body: { status: 'not ready', checks: { accepting: false, store: true } },
    });
  });

  it('is not ready when no record could be written, and does not say why', async () => {
    checkWritable = () => Promise.reject(new Error('/var/canary is full'));
    expect(await ask('/readyz')).to.deep.include({
      status: 503,
      body: { status: 'not ready', checks: { accepting: true, store: false } },
    });
  });
});

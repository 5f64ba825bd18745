import { once } from 'node:events';
import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect } from 'chai';
import express from 'express';
import { ApiError } from '../../src/core/errors.ts';
import type { BackendState } from '../../src/backend/backends.ts';
import { showHealth, showReadiness } from '../../src/http/operate.ts';
import { onlyBackend } from '../support/only-backend.ts';

const COUNTS = { up: 1, trial: 0, resting: 1, draining: 0 };
const STATE: Omit<BackendState, 'state'> = {
  spec: onlyBackend(),
  restMs: 0,
  reason: null,
  running: 0,
  waiting: 0,
  answered: 0,
  failed: 0,
  cancelled: 0,
  rests: 0,
  addresses: [],
};

describe('operate', () => {
  let server: Server;
  let url: string;
  let draining: boolean;
  let areFull: boolean;
  let checkWritable: () => Promise<string | undefined>;
  let said: string[];
  let states: BackendState['state'][];
  let reason: BackendState['reason'];

  beforeEach(async () => {
    draining = false;
    areFull = false;
    checkWritable = () => Promise.resolve('new');
    said = [];
    states = ['up', 'resting'];
    reason = 'upstream_unreachable';
    const log = { info: () => undefined, warn: (_fields: object, message: string) => said.push(message) };
    const app = express();
    const running = {
      get leaving() {
        return draining;
      },
    };
    app.get('/healthz', showHealth);
    const backends = {
      states: () => states.map((state) => ({ ...STATE, state, reason: state === 'up' ? null : reason })),
    };
    const store = { checkWritable: () => checkWritable() };
    const connections = { areFull: () => areFull };
    app.get('/readyz', showReadiness({ store, running, marks: ['new', 'old'], backends, log, connections }));
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
      body: {
        status: 'ready',
        checks: { accepting: true, connections: true, store: true, secret: true, backend: true },
        backends: COUNTS,
      },
    });
  });

  it('is not ready while it drains', async () => {
    draining = true;
    expect(await ask('/readyz')).to.deep.include({
      status: 503,
      body: {
        status: 'not ready',
        checks: { accepting: false, connections: true, store: true, secret: true, backend: true },
        backends: COUNTS,
      },
    });
  });

  it('is not ready when no record could be written, and does not say why', async () => {
    checkWritable = () => Promise.reject(new Error('/var/canary is full'));
    expect(await ask('/readyz')).to.deep.include({
      status: 503,
      body: {
        status: 'not ready',
        checks: { accepting: true, connections: true, store: false, secret: true, backend: true },
        backends: COUNTS,
      },
    });
  });

  it('is not ready while clients have all connections', async () => {
    areFull = true;
    expect(await ask('/readyz')).to.have.nested.include({ status: 503, 'body.checks.connections': false });
  });

  it('is not ready while no backend can be reached', async () => {
    states = ['resting', 'resting', 'draining'];
    expect(await ask('/readyz')).to.deep.include({
      status: 503,
      body: {
        status: 'not ready',
        checks: { accepting: true, connections: true, store: true, secret: true, backend: false },
        backends: { up: 0, trial: 0, resting: 2, draining: 1 },
      },
    });
    states = ['trial', 'resting'];
    expect(await ask('/readyz')).to.include({ status: 200 });
  });

  it('is ready while all backends rest for answers that requests may have provoked', async () => {
    states = ['resting', 'resting'];
    reason = 'upstream_error';
    expect(await ask('/readyz')).to.include({ status: 200 });
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
      body: {
        status: 'not ready',
        checks: { accepting: true, connections: true, store: true, secret: false, backend: true },
        backends: COUNTS,
      },
    };
    expect(await ask('/readyz')).to.deep.include(notReady);
    expect(await ask('/readyz')).to.deep.include(notReady);
    expect(said).to.deep.equal(['the database belongs to another GATEWAY_SECRET now; start with that one']);
    checkWritable = () => Promise.resolve('new');
    expect(await ask('/readyz')).to.include({ status: 200 });
  });
});

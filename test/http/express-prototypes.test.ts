import { once } from 'node:events';
import { createServer } from 'node:http';
import { expect } from 'chai';
import express from 'express';
import { serverClassesOf } from '../../src/http/express-prototypes.ts';
import { closeServer, listen } from '../../src/http/server.ts';
import { useRealSockets } from '../support/real-sockets.ts';

describe('the requests and replies of an application', () => {
  useRealSockets();

  it('have its prototypes before it sees them, and what Express adds', async () => {
    const app = express();
    const server = createServer(serverClassesOf(app));
    const url = await listen(server, { host: '127.0.0.1', port: 0 });
    const seen = once(server, 'request');
    const reply = fetch(`${url}/path?a=1`);
    const [req, res] = await seen;
    expect(Object.getPrototypeOf(req)).to.equal(app.request);
    expect(Object.getPrototypeOf(res)).to.equal(app.response);
    app.get(
      '/path',
      (request, response) => void response.status(201).json({ path: request.path, app: request.app === app }),
    );
    app(req, res);
    expect(await (await reply).json()).to.deep.equal({ path: '/path', app: true });
    expect((await reply).status).to.equal(201);
    await closeServer(server);
  });
});

/** What a page of another origin can do with the console. */

import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect } from 'chai';
import { useConsole } from './scene.ts';

describe('a page of another origin', () => {
  const scene = useConsole();
  let server: Server;
  let origin: string;

  beforeEach(async () => {
    server = createServer((req, res) => {
      res.setHeader('content-type', 'text/html');
      res.end(req.url === '/' ? '' : 'a page that may be framed');
    });
    await new Promise<void>((resolve) => {
      server.listen(0, '127.0.0.1', resolve);
    });
    origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    scene.tolerate(new RegExp(`asked elsewhere: ${origin}/|frame-ancestors 'none'|status of 40`));
  });
  afterEach(() => {
    server.closeAllConnections();
    server.close();
  });

  for (const element of ['iframe', 'embed']) {
    it(`frames no page of the gateway by <${element}>`, async () => {
      const page = await scene.openOperator('keys');
      await page.goto(`${origin}/`);
      const own = [`${origin}/frame`];
      const ofGateway = ['/', '/docs', '/console/', '/console/operator/', '/api/v1/models'].map(
        (path) => scene.gateway.url + path,
      );
      const shown: string[] = [];
      for (const url of [...own, ...ofGateway]) {
        const isOver = page.waitForEvent('framenavigated', (frame) => frame !== page.mainFrame());
        await page.evaluate(
          ([name, address]) => {
            const framing = document.createElement(name);
            framing.setAttribute('src', address);
            document.body.replaceChildren(framing);
          },
          [element, url] as const,
        );
        if ((await isOver).url() === url) shown.push(url);
      }
      expect(shown).to.deep.equal(own);
    });
  }

  it('has no hold of the console in a window that it has opened', async () => {
    const page = await scene.openOperator('keys');
    await page.goto(`${origin}/`);
    const opening = page.context().waitForEvent('page');
    const opened = await page.evaluateHandle((url) => window.open(url), `${scene.gateway.url}/console/operator/`);
    const popup = await opening;
    await popup.waitForLoadState();
    expect(await popup.evaluate(() => window.opener)).to.equal(null);
    expect(await opened.evaluate((popup) => popup?.closed)).to.equal(true);
  });
});

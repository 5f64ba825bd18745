/** What a slow network makes of the console. */

import { expect } from 'chai';
import type { Page, Request } from 'playwright-core';
import { useConsole } from './scene.ts';

const MOST_BYTES = 40_000;

describe('the console on a slow network', () => {
  const scene = useConsole();

  for (const { path, title } of [
    { path: '/console/', title: 'Enter your API key' },
    { path: '/console/operator/', title: 'Enter the admin token' },
  ]) {
    it(`shows the form of ${path} after two round trips and ${MOST_BYTES} bytes, without a library`, async () => {
      const page = await scene.open();
      const document = await (await fetch(scene.gateway.url + path)).text();
      const named = [...document.matchAll(/(?:src|href)="([^"#]+\.(?:js|css|svg))"/g)].map(
        ([, link]) => new URL(link ?? '', scene.gateway.url + path).href,
      );
      // The page and what it names itself are there, and nothing that these ask for.
      const isThere = (url: string) => url === scene.gateway.url + path || named.includes(url);
      const sizes: Promise<number>[] = [];
      page.on('requestfinished', (request) => isThere(request.url()) && sizes.push(sizeOf(request)));
      await page.route('**/*', (route) => (isThere(route.request().url()) ? route.continue() : undefined));
      await page.goto(scene.gateway.url + path, { waitUntil: 'commit' });
      await page.getByRole('heading', { name: title }).waitFor();
      await page.getByRole('button', { name: 'Continue' }).waitFor();
      const bytes = (await Promise.all(sizes)).reduce((sum, size) => sum + size, 0);
      expect(bytes).to.be.within(1, MOST_BYTES);
      expect(named.filter((url) => url.includes('vendor'))).to.deep.equal([]);
      await page.unrouteAll({ behavior: 'ignoreErrors' });
    });
  }

  it('says that it loads a view, and shows it whole', async () => {
    const page = await scene.open();
    const held = await hold(page, '**/requests-view.js');
    await page.evaluate(() => (location.hash = '#/requests'));
    await scene.enterKey(page);
    await page.locator('#view-loading', { hasText: 'Loading …' }).waitFor();
    expect(await page.getByRole('heading', { name: 'Requests' }).count()).to.equal(0);
    held.release();
    await page.getByRole('heading', { name: 'Requests' }).waitFor();
    await page.locator('#view-loading').waitFor({ state: 'hidden' });
  });

  it('says so when a view cannot be loaded', async () => {
    scene.tolerate(/ERR_FAILED|Failed to fetch dynamically imported module/);
    const page = await scene.open();
    await page.route('**/usage-view.js', (route) => route.abort());
    await scene.enter(page);
    await page.getByRole('link', { name: 'Usage' }).click();
    await page.getByText('This page could not be loaded.').waitFor();
  });

  it('says that a key is checked, and takes no second click', async () => {
    const page = await scene.open();
    const held = await hold(page, '**/api/v1/models');
    await scene.enterKey(page);
    expect(await page.getByRole('button', { name: 'Checking …' }).isDisabled()).to.equal(true);
    held.release();
    await page.getByRole('heading', { name: 'Try it' }).waitFor();
  });
});

async function sizeOf(request: Request): Promise<number> {
  const { responseBodySize, responseHeadersSize } = await request.sizes();
  return responseBodySize + responseHeadersSize;
}

async function hold(page: Page, url: string): Promise<{ readonly release: () => void }> {
  const released = Promise.withResolvers<void>();
  await page.route(url, async (route) => {
    await released.promise;
    await route.continue();
  });
  return { release: released.resolve };
}

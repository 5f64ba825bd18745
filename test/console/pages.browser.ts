import { expect } from 'chai';
import type { Page } from 'playwright-core';
import { until } from '../support/time.ts';
import { expectGoodLooks } from './looks.ts';
import { useConsole } from './scene.ts';

describe('the looks of the pages beside the console', () => {
  const scene = useConsole();

  const open = async (path: string): Promise<Page> => {
    const page = await scene.open();
    await page.goto(scene.gateway.url + path);
    return page;
  };

  it('show where to go from here', async () => {
    const page = await open('/');
    await page.getByRole('heading', { name: 'The first request' }).waitFor();
    await expectGoodLooks(page, 'landing');
  });

  it('show the API', async () => {
    const page = await open('/docs/api');
    for (const name of ['CreateResponse', 'InputImage'])
      await page.locator('summary', { hasText: name }).first().click();
    // All operations and all schemas are made alike, and more of them would take minutes.
    await page.evaluate(() => {
      const isShown = (place: Element) => place.querySelector('details[open]') !== null;
      const rest = [...document.querySelectorAll('.operation, details:has(> .schema)')].slice(3);
      for (const place of rest) if (!place.matches('[open]') && !isShown(place)) place.remove();
    });
    await expectGoodLooks(page, 'api');
  });

  it('list the guides, and find what somebody looks for', async () => {
    const page = await open('/docs');
    await page.getByLabel('Search all docs').fill('timeout');
    await page.getByRole('link', { name: 'IDLE_TIMEOUT_MS', exact: true }).first().waitFor();
    await expectGoodLooks(page, 'docs');
  });

  it('show a guide', async () => {
    const page = await open('/docs/settings');
    await page.getByRole('heading', { name: 'Settings' }).waitFor();
    await expectGoodLooks(page, 'guide');
  });

  for (const guide of ['readme', 'decisions', 'from-chat-completions']) {
    it(`show code, figures and tables within the page: ${guide}`, async () => {
      const page = await open(`/docs/${guide}`);
      await page.getByLabel('Search all docs').waitFor();
      await expectGoodLooks(page, guide);
    });
  }
});

describe('the pages beside the console', () => {
  const scene = useConsole();

  it('lead to each other, and to the console', async () => {
    const page = await scene.open();
    await page.goto(scene.gateway.url);
    const bar = page.getByRole('navigation', { name: 'Pages' });
    await bar.getByRole('link', { name: 'API', exact: true }).click();
    await page.getByRole('heading', { name: 'API', exact: true }).waitFor();
    await bar.getByRole('link', { name: 'Docs' }).click();
    await page.getByRole('heading', { name: 'Docs', exact: true }).waitFor();
    await page.getByRole('link', { name: 'Settings' }).click();
    await page.getByRole('heading', { name: 'Settings', exact: true }).waitFor();
    await bar.getByRole('link', { name: 'Console' }).click();
    await scene.enter(page);
    await page.getByRole('link', { name: 'Docs' }).click();
    await page.getByRole('heading', { name: 'Docs' }).waitFor();
  });

  it('fold the list of all pages above the text on a phone', async () => {
    const page = await scene.open({ viewport: { width: 390, height: 844 } });
    await page.goto(`${scene.gateway.url}/docs/settings`);
    const topOf = async (name: string) =>
      (await page.getByRole('heading', { name, exact: true }).boundingBox())?.y ?? Number.NaN;
    expect(await topOf('Settings')).to.be.lessThan(844);
    const list = page.getByRole('navigation', { name: 'Docs' });
    expect(await list.isVisible()).to.equal(false);
    await page.getByText('All pages').click();
    await list.getByRole('link', { name: 'Timeouts' }).click();
    await until(async () => (await topOf('Timeouts')) >= 0 && (await topOf('Timeouts')) <= 844);
  });

  it('copy the code that a button belongs to', async () => {
    const page = await scene.open({ permissions: ['clipboard-read', 'clipboard-write'] });
    await page.goto(`${scene.gateway.url}/docs/readme`);
    const example = page.locator('.copied', { hasText: '"input": "Hello!"' }).first();
    // It says so for a moment only.
    const told = page.waitForFunction(() =>
      [...document.querySelectorAll('.copied button')].some(({ textContent }) => textContent === 'Copied'),
    );
    await example.getByRole('button', { name: 'Copy' }).click();
    await told;
    expect(await page.evaluate(() => navigator.clipboard.readText())).to.match(
      /^export GATEWAY_API_KEY=demo\ncurl http:\/\/127[^]*"input": "Hello!"[^]*'$/,
    );
  });

  it('have a list of all pages beside each, with the headings of this one', async () => {
    const page = await scene.open();
    await page.goto(`${scene.gateway.url}/docs/settings`);
    const list = page.getByRole('navigation', { name: 'Docs' });
    await list.getByRole('link', { name: 'Timeouts' }).click();
    await page.waitForURL(/#timeouts$/);
    await list.getByRole('link', { name: 'Clients', exact: true }).click();
    await page.getByRole('heading', { name: 'Clients', exact: true }).waitFor();
    expect(await list.locator('[aria-current]').textContent()).to.equal('Clients');
  });

  it('find a word in the text of any guide from any page, and lead there', async () => {
    const page = await scene.open();
    await page.goto(`${scene.gateway.url}/docs/api`);
    const search = page.getByLabel('Search all docs');
    await search.fill('no such words xyzzy');
    await page.getByText('Nothing found.').waitFor();
    await search.fill('PgBouncer');
    const found = page.locator('.found li', { hasText: 'Connection poolers' });
    expect(await found.locator('mark').allTextContents()).to.include('PgBouncer');
    await search.fill('idle_timeout settings');
    await page.locator('.found').getByRole('link', { name: 'IDLE_TIMEOUT_MS', exact: true }).waitFor();
    await search.press('Enter');
    await page.waitForURL(/\/docs\/settings#\w*idle_timeout_ms$/);
    await search.fill('logs settings');
    await page.locator('.found').getByRole('link', { name: 'Logs, metrics and alerts' }).click();
    await page.waitForURL(/\/docs\/settings#logs-metrics-and-alerts$/);
    expect(await search.inputValue()).to.equal('');
  });

  it('say so when the texts cannot be loaded, and load them the next time', async () => {
    scene.tolerate(/ERR_FAILED/);
    const page = await scene.open();
    await page.goto(`${scene.gateway.url}/docs`);
    await page.route('**/search.json', (route) => route.abort());
    const search = page.getByLabel('Search all docs');
    await search.fill('t');
    await page.getByText('The docs could not be loaded.').waitFor();
    await page.unroute('**/search.json');
    await search.fill('timeouts settings');
    await page.getByRole('link', { name: 'Timeouts', exact: true }).waitFor();
  });

  it('lead from the former places of the API description to the present ones', async () => {
    const page = await scene.open();
    await page.goto(`${scene.gateway.url}/docs#createResponse`);
    await page.waitForURL(/\/docs\/api#createResponse$/);
  });

  it('open a schema for whoever follows a link to it', async () => {
    const page = await scene.open();
    await page.goto(`${scene.gateway.url}/docs/api`);
    const property = page.locator('#schema-CreateResponse').getByText('max_output_tokens', { exact: true });
    expect(await property.isVisible()).to.equal(false);
    await page.locator('#createResponse ~ p').getByRole('link', { name: 'CreateResponse' }).click();
    await property.waitFor();
  });
});

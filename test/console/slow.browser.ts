/** The views on a network with a latency that people notice, as of a phone in a train. */

import { expect } from 'chai';
import type { Page, Request } from 'playwright-core';
import { newGroupDraft } from '../support/keys.ts';
import { until } from '../support/time.ts';
import { inHalves, useConsole } from './scene.ts';

const SLOW = { offline: false, latency: 400, downloadThroughput: 50_000, uploadThroughput: 50_000 };
/** What a list says that has no row. Nobody may read it before the gateway has said so. */
const NOTHING = /No (key|group|request|requests|entry|price|backend|process|name) /;
const KEY = { name: 'Ada’s key', creditsMicro: 12_000_000 };

declare global {
  /** What the page has said, whenever that was different from the frame before. */
  var said: string[];
  /** How often something has changed while the page said that it loads: a busy browser may paint none of these. */
  var loads: number;
}

/** Makes the network slow, and keeps what people read meanwhile. */
async function slowDown(page: Page): Promise<void> {
  const session = await page.context().newCDPSession(page);
  await session.send('Network.emulateNetworkConditions', SLOW);
  await page.evaluate(() => {
    globalThis.loads = 0;
    const look = () => (globalThis.loads += Number(document.body.innerText.includes('Loading …')));
    new MutationObserver(look).observe(document.body, { subtree: true, childList: true, attributes: true });
    globalThis.said = [];
    const note = () => {
      const text = document.body.innerText;
      if (text !== globalThis.said.at(-1)) globalThis.said.push(text);
      requestAnimationFrame(note);
    };
    note();
  });
}

/** Does something whose answer takes its time. Throws unless the page says that it loads, and does not say that there is nothing. */
async function expectPatience(page: Page, act: () => Promise<void>): Promise<void> {
  const before = await page.evaluate(() => ({ frames: globalThis.said.length, loads: globalThis.loads }));
  await act();
  const { said, loads } = await page.evaluate(
    (from) => ({ said: globalThis.said.slice(from), loads: globalThis.loads }),
    before.frames,
  );
  expect(loads).to.be.above(before.loads);
  expect(said.filter((text) => NOTHING.test(text))).to.deep.equal([]);
}

/** What is on its way now, as promises of its end. */
function watchRequests(page: Page) {
  const running = new Set<Request>();
  page.on('request', (request) => running.add(request));
  const remove = (request: Request) => void running.delete(request);
  page.on('requestfinished', remove);
  page.on('requestfailed', remove);
  return {
    async untilTheseEnd() {
      const these = [...running];
      await until(() => these.every((request) => !running.has(request)));
    },
  };
}

describe('the console on a slow network', () => {
  const scene = useConsole({ key: KEY });
  let page: Page;

  beforeEach(async () => {
    await scene.create({ model: 'm', input: 'Hi' });
    page = await scene.open();
    await scene.enter(page);
    await slowDown(page);
  });

  it('says that it loads, and never that there is nothing', async () => {
    await expectPatience(page, async () => {
      await page.getByRole('link', { name: 'Requests' }).click();
      await page.getByRole('row', { name: 'succeeded' }).waitFor();
      await page.getByText('Live').waitFor();
    });
    await expectPatience(page, async () => {
      await page.getByLabel('Status').selectOption('succeeded');
      await page.getByText('Live').waitFor();
    });
    await expectPatience(page, async () => {
      await page.getByLabel('Find by id').fill((await page.locator('#requests-rows a').getAttribute('data-id')) ?? '');
      await page.keyboard.press('Enter');
      await page.getByRole('dialog').getByText('succeeded', { exact: true }).waitFor();
    });
    await page.keyboard.press('Escape');
    await expectPatience(page, async () => {
      await page.getByRole('link', { name: 'Usage' }).click();
      await page.locator('canvas').first().waitFor();
    });
  });

  it('shows the view that was asked for last, whatever comes late', async () => {
    const requests = watchRequests(page);
    for (const view of ['Requests', 'Usage', 'Try it', 'Usage', 'Requests']) {
      await page.getByRole('link', { name: view }).click();
    }
    await requests.untilTheseEnd();
    await page.getByRole('row', { name: 'succeeded' }).waitFor();
    await page.waitForFunction(
      () =>
        [...document.querySelectorAll('main > section:not([hidden]) h1')].map((h1) => h1.textContent).join() ===
        'Requests',
    );
  });

  it('shows the record that was opened last', async () => {
    await scene.create({ model: 'priced-1', input: 'Hi' });
    await page.getByRole('link', { name: 'Requests' }).click();
    const ids = page.locator('#requests-rows a');
    await ids.nth(1).waitFor();
    const [last = '', first = ''] = await ids.evaluateAll((all) =>
      all.map((link) => link.getAttribute('data-id') ?? ''),
    );
    const requests = watchRequests(page);
    await page.getByLabel('Find by id').fill(first);
    await page.keyboard.press('Enter');
    await page.keyboard.press('Escape');
    await page.getByLabel('Find by id').fill(last);
    await page.keyboard.press('Enter');
    await requests.untilTheseEnd();
    const dialog = page.getByRole('dialog');
    await dialog.getByText('succeeded', { exact: true }).waitFor();
    await dialog.getByText(last, { exact: true }).waitFor();
    await page.keyboard.press('Escape');
    await page.getByLabel('Find by id').fill(first);
    await page.keyboard.press('Enter');
    await page.keyboard.press('Escape');
    await requests.untilTheseEnd();
    expect(await dialog.count()).to.equal(0);
  });

  it('sends a request once, however often somebody asks', async () => {
    const seen = Promise.withResolvers<void>();
    const before = scene.backend.requests.length;
    scene.backend.reply(inHalves(seen.promise));
    await page.getByLabel('Input', { exact: true }).fill('Hi');
    for (let times = 0; times < 3; times++) await page.keyboard.press('ControlOrMeta+Enter');
    await page.getByRole('region', { name: 'Answer' }).getByText('Half').waitFor();
    seen.resolve();
    await page.getByText('Completed in').waitFor();
    expect(scene.backend.requests.length).to.equal(before + 1);
  });
});

describe('the operator’s console on a slow network', () => {
  const scene = useConsole({ key: KEY });
  const views = [
    { view: 'Requests', shown: 'Ada’s key' },
    { view: 'Usage', shown: '100' },
    { view: 'Groups', shown: 'Research' },
    { view: 'Keys', shown: 'Ada’s key' },
    { view: 'Backends', shown: 'up' },
    { view: 'Prices', shown: 'priced*' },
    { view: 'Limits', shown: 'MAX_WEBSOCKETS' },
  ];
  let page: Page;

  const link = (view: string) => page.locator('#links').getByRole('link', { name: view, exact: true });

  beforeEach(async () => {
    await scene.create({ model: 'm', input: 'Hi' });
    await scene.managed.store.createGroup(newGroupDraft({ name: 'Research', creditsMicro: 5_000_000 }));
    page = await scene.openOperator('limits');
    await slowDown(page);
  });

  it('says that it loads, and never that there is nothing', async () => {
    for (const { view, shown } of views) {
      await expectPatience(page, async () => {
        await link(view).click();
        await page.getByRole('heading', { name: view, exact: true }).waitFor();
        await page.locator('#view-content').getByText(shown).first().waitFor();
      });
    }
    for (const [view, name] of [
      ['Requests', 'm'],
      ['Keys', 'Ada’s key'],
      ['Groups', 'Research'],
    ] as const) {
      await link(view).click();
      const row = page.getByRole('row').filter({ has: page.getByText(name, { exact: true }) });
      await row.getByRole('link').first().waitFor();
      await expectPatience(page, async () => {
        await row.getByRole('link').first().click();
        await page.locator('dl.details').waitFor();
        await page.getByText('Loading …').waitFor({ state: 'hidden' });
      });
    }
  });

  it('shows the view that was asked for last, whatever comes late', async () => {
    const requests = watchRequests(page);
    for (const { view } of [...views, ...views.toReversed()]) await link(view).click();
    await requests.untilTheseEnd();
    await page.getByRole('row', { name: 'succeeded' }).waitFor();
    await page.getByRole('heading', { name: 'Requests', exact: true }).waitFor();
    await page.waitForFunction(() => document.querySelectorAll('table').length === 1);
  });

  it('shows what the last filter finds', async () => {
    scene.backend.reply({ json: {}, status: 500 });
    await scene.create({ model: 'm', input: 'Hi' });
    await link('Requests').click();
    await page.getByRole('row').nth(2).waitFor();
    const requests = watchRequests(page);
    for (const state of ['cancelled', 'failed', 'succeeded']) await page.getByLabel('Status').selectOption(state);
    await requests.untilTheseEnd();
    await page.locator('#view-status', { hasText: 'Live' }).waitFor();
    expect(await page.locator('tbody .state').allTextContents()).to.deep.equal(['succeeded']);
  });

  it('makes a key once, and waits for its secret', async () => {
    await link('Keys').click();
    await page.getByRole('link', { name: 'Ada’s key' }).waitFor();
    const answered = Promise.withResolvers<void>();
    let made = 0;
    await page.route('**/admin/v1/keys', async (route) => {
      made++;
      await answered.promise;
      await route.continue();
    });
    await page.getByRole('button', { name: 'Create a key' }).click();
    await page.getByRole('dialog').getByLabel('Name').fill('Dora');
    for (let times = 0; times < 3; times++) await page.keyboard.press('Enter');
    await page.getByRole('button', { name: 'One moment …' }).waitFor();
    // Whoever leaves now would never see the secret.
    await page.keyboard.press('Escape');
    expect(await page.getByRole('button', { name: 'Cancel' }).isEnabled()).to.equal(false);
    answered.resolve();
    await page.getByRole('button', { name: 'I have saved it' }).click();
    await page.getByRole('link', { name: 'Dora' }).waitFor();
    expect(made).to.equal(1);
  });

  it('says in the dialog that nothing was changed, and takes it again', async () => {
    scene.tolerate(/ERR_FAILED/);
    await link('Keys').click();
    await page.getByRole('link', { name: 'Ada’s key' }).click();
    await page.getByRole('button', { name: 'Disable' }).click();
    await page.route('**/admin/v1/keys/*', (route) => route.abort());
    await page.keyboard.press('Tab');
    await page.getByRole('dialog').getByRole('button', { name: 'Disable' }).click();
    await page.getByRole('dialog').getByText('The gateway does not answer.').waitFor();
    await page.unroute('**/admin/v1/keys/*');
    await page.getByRole('dialog').getByRole('button', { name: 'Disable' }).click();
    await page.getByText('disabled', { exact: true }).waitFor();
  });
});

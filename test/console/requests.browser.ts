import { expect } from 'chai';
import type { Page } from 'playwright-core';
import { useRealSockets } from '../support/real-sockets.ts';
import { useConsole } from './scene.ts';

declare global {
  /** How often the page has asked since it cannot be seen. */
  var asked: number;
}

describe('“Requests”', () => {
  useRealSockets();
  const scene = useConsole();
  let page: Page;

  beforeEach(async () => {
    page = await scene.open();
    await scene.enter(page);
  });

  const look = () => scene.go(page, 'Requests');
  const rows = () => page.locator('#requests-rows tr');
  const run = (model: string) => scene.create({ model, input: 'Hi' });

  it('says what to do while there is none', async () => {
    await look();
    await page.getByText('No requests yet.').waitFor();
  });

  it('appear and change by themselves', async () => {
    const seen = Promise.withResolvers<void>();
    await look();
    await page.getByText('No requests yet.').waitFor();
    scene.backend.reply(async (stage) => {
      await seen.promise;
      stage.start(400, {});
      stage.end();
    });
    const running = run('slow-model');
    await page.getByRole('row', { name: 'processing slow-model' }).waitFor();
    seen.resolve();
    await page.getByRole('row', { name: 'failed invalid_request slow-model' }).waitFor();
    await running;
  });

  it('show tokens and how they ended', async () => {
    await run('one-model');
    await look();
    await page.getByRole('row', { name: /succeeded one-model responses 1,200 \/ 345 [\d.]+ m?s$/ }).waitFor();
  });

  it('are filtered by status and by model', async () => {
    await run('one-model');
    await run('other-model');
    scene.backend.reply({ json: {}, status: 400 });
    await run('other-model');
    await look();
    await page.waitForFunction(() => document.querySelectorAll('#requests-rows tr').length === 3);
    await page.getByLabel('Status').selectOption('succeeded');
    await page.waitForFunction(() => document.querySelectorAll('#requests-rows tr').length === 2);
    await page.getByRole('combobox', { name: 'Model' }).fill('one-model');
    await page.waitForFunction(() => document.querySelectorAll('#requests-rows tr').length === 1);
    expect(await rows().textContent()).to.include('one-model');
    await page.getByLabel('Status').selectOption('cancelled');
    await page.getByText('No requests match these filters.').waitFor();
  });

  it('go back in pages, and again to the newest', async () => {
    for (let at = 0; at < 27; at++) await run(`model-${at}`);
    await look();
    await page.getByRole('button', { name: 'Older' }).click();
    await page.getByRole('cell', { name: 'model-0' }).waitFor();
    expect(await rows().count()).to.equal(2);
    expect(await page.getByRole('button', { name: 'Older' }).isDisabled()).to.equal(true);
    await page.getByRole('button', { name: 'Newest' }).click();
    await page.getByRole('cell', { name: 'model-26' }).waitFor();
    expect(await rows().count()).to.equal(25);
  });

  it('are opened and closed by the keyboard, and the focus comes back', async () => {
    scene.backend.reply({ json: { error: { message: 'no' } }, status: 400 });
    await run('one-model');
    await look();
    await rows().getByRole('link').focus();
    await page.keyboard.press('Enter');
    const dialog = page.getByRole('dialog');
    await dialog.getByText('(invalid_request)').waitFor();
    await dialog.getByText('As JSON').click();
    const record = JSON.parse((await dialog.locator('pre').textContent()) ?? '') as Record<string, unknown>;
    expect(record).to.include({ object: 'request', model: 'one-model', status: 'failed' });
    await page.keyboard.press('Escape');
    await dialog.waitFor({ state: 'hidden' });
    expect(await page.evaluate(() => document.activeElement?.getAttribute('data-id'))).to.equal(record['request_id']);
  });

  it('are cancelled from their details', async () => {
    scene.backend.reply((stage) => stage.hang());
    const running = run('slow-model');
    await look();
    await rows().getByText('slow-model').click();
    const dialog = page.getByRole('dialog');
    await dialog.getByText('As JSON').click();
    await dialog.getByRole('button', { name: 'Cancel this request' }).click();
    await dialog.getByText('cancelled', { exact: true }).waitFor();
    // Whoever has opened it sees it change.
    await dialog.getByText('"status": "cancelled"').waitFor();
    expect(await running).to.include('request_cancelled');
    await dialog.getByRole('button', { name: 'Close' }).click();
    await page.getByRole('row', { name: 'cancelled slow-model' }).waitFor();
  });

  it('tell why they failed, and what to do about it', async () => {
    scene.backend.reply({ json: {}, status: 500 });
    await run('one-model');
    await look();
    await page.getByRole('row', { name: 'failed upstream_error one-model' }).click();
    await page.getByRole('dialog').getByText('Try again. If it keeps failing, the operator').waitFor();
  });

  it('tell a limit of the backend as that of the backend', async () => {
    scene.backend.reply({ json: { error: { message: 'Slow down.' } }, status: 429 });
    await run('one-model');
    await look();
    await page.getByRole('row', { name: 'failed rate_limit_exceeded one-model' }).click();
    await page.getByRole('dialog').getByText("The backend's rate limit is reached. (rate_limit_exceeded)").waitFor();
    await page.getByRole('dialog').getByText('The limit is the backend’s, not the gateway’s.').waitFor();
  });

  it('leave the address to the view that is looked at next', async () => {
    await look();
    await page.getByText('Live').waitFor();
    await page.getByRole('combobox', { name: 'Model' }).fill('other-model');
    await page.evaluate(() => (location.hash = '#/usage'));
    await page.getByRole('heading', { name: 'Usage' }).waitFor();
    // By then it has waited for more to be typed.
    await page.evaluate(() => new Promise((resolve) => setTimeout(resolve, 400)));
    expect(new URL(page.url()).hash).to.equal('#/usage');
  });

  it('have an address each, which is found by the id too', async () => {
    await run('one-model');
    await run('other-model');
    await look();
    await page.getByRole('combobox', { name: 'Model' }).fill('other-model');
    await page.waitForURL(/#\/requests\?model=other-model$/);
    await page.waitForFunction(() => document.querySelectorAll('#requests-rows tr').length === 1);
    await rows().getByRole('link').click();
    await page.waitForURL(/#\/requests\/req_[0-9a-f]+\?model=other-model$/);
    const id = /req_[0-9a-f]+/.exec(page.url())?.[0] ?? '';
    await page.reload();
    const dialog = page.getByRole('dialog');
    await dialog.getByText(id, { exact: true }).waitFor();
    await page.keyboard.press('Escape');
    await page.waitForURL(/#\/requests\?model=other-model$/);
    expect(await page.getByRole('combobox', { name: 'Model' }).inputValue()).to.equal('other-model');
    await page.getByLabel('Find by id').fill(id.replace('req_', 'resp_'));
    await page.keyboard.press('Enter');
    await dialog.getByText(id, { exact: true }).waitFor();
    await dialog.getByRole('button', { name: 'Close' }).click();
    await page.getByLabel('Find by id').fill('one-model');
    await page.keyboard.press('Enter');
    await page.getByText('An id begins with req_ or resp_.').waitFor();
  });

  it('are not those of another key', async () => {
    scene.tolerate(/status of 404/);
    await page.goto(`${scene.gateway.url}/console/#/requests/req_${'0'.repeat(32)}`);
    await page.getByRole('dialog').getByText('This key has no such request.').waitFor();
  });

  it('suggest the models of the backend and those that were asked for', async () => {
    await run('rare-model');
    await look();
    const options = page.locator('#requests-models option');
    await options.nth(3).waitFor({ state: 'attached' });
    const names = await options.evaluateAll((all) => all.map((one) => one.getAttribute('value')));
    expect(names).to.deep.equal(['big-model', 'm', 'rare-model', 'small-model']);
  });

  it('are asked for no more while nobody can see the page', async () => {
    await look();
    await page.getByText('No requests yet.').waitFor();
    // Also when the page is hidden while an answer is on its way.
    const held = Promise.withResolvers<void>();
    const onItsWay = page.waitForRequest(/api\/v1\/requests/);
    await page.route('**/api/v1/requests*', async (route) => {
      await held.promise;
      await route.continue();
    });
    await onItsWay;
    // Counted where it is asked, since the news of a request comes late.
    await page.evaluate(() => {
      const ask = globalThis.fetch;
      globalThis.asked = 0;
      globalThis.fetch = (...given) => {
        globalThis.asked += 1;
        return ask(...given);
      };
      Object.defineProperty(document, 'hidden', { value: true, configurable: true });
      document.dispatchEvent(new Event('visibilitychange'));
    });
    held.resolve();
    await page.waitForTimeout(2500);
    expect(await page.evaluate(() => globalThis.asked)).to.equal(0);
    await page.evaluate(() => {
      Object.defineProperty(document, 'hidden', { value: false });
      document.dispatchEvent(new Event('visibilitychange'));
    });
    await page.waitForFunction(() => globalThis.asked > 0);
  });

  it('are asked for again when the gateway is back', async () => {
    scene.tolerate(/ERR_FAILED/);
    await look();
    await page.getByText('Live').waitFor();
    await page.route('**/api/v1/requests*', (route) => route.abort());
    await page.getByText('The gateway does not answer. Is it still running?').waitFor();
    await page.unroute('**/api/v1/requests*');
    await page.getByText('Live').waitFor();
    await page.locator('#requests-problem').waitFor({ state: 'hidden' });
  });
});

describe('the times of “Requests”', () => {
  useRealSockets();
  const scene = useConsole();

  it('are those of UTC wherever the browser is, and say so', async () => {
    await scene.create({ model: 'm', input: 'Hi' });
    const page = await scene.open({ timezoneId: 'Asia/Kolkata' });
    await scene.enter(page);
    await scene.go(page, 'Requests');
    await page.getByRole('columnheader', { name: 'Time (UTC)' }).waitFor();
    const [day = ''] = new Date(scene.nowMs()).toISOString().split('T');
    const time = page.locator('#requests-rows time');
    const shown = await time.textContent();
    const exact = (await time.getAttribute('datetime')) ?? '';
    expect(exact).to.include(day);
    expect(shown).to.include(exact.slice(11, 19));
    await page.locator('#requests-rows a').click();
    await page
      .getByRole('dialog')
      .getByText(`${exact.slice(11, 19)} UTC`)
      .first()
      .waitFor();
  });
});

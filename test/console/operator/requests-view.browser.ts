import { expect } from 'chai';
import type { Page } from 'playwright-core';
import { until } from '../../support/time.ts';
import { expectGoodLooks } from '../looks.ts';
import { chunk, inHalves, useConsole } from '../scene.ts';

const HOUR_MS = 3_600_000;

describe('the requests of the operator', () => {
  const scene = useConsole({ key: { name: 'Ada’s key', creditsMicro: 12_000_000 } });
  const rowsOf = (page: Page) => page.locator('tbody tr');

  async function failOnce(): Promise<void> {
    scene.backend.reply({ json: {}, status: 500 });
    await scene.create({ model: 'm', input: 'Hi' });
  }

  it('are those of all callers, live, with the names of their keys', async () => {
    const bob = await scene.managed.issue({ name: 'Bob' });
    await scene.create({ model: 'm', input: 'Hi' });
    const page = await scene.openOperator('requests');
    await page.getByRole('row', { name: 'Ada’s key' }).waitFor();
    await scene.gateway.create({ model: 'm', input: 'Hi' }, { headers: { authorization: `Bearer ${bob.secret}` } });
    await page.getByRole('row', { name: 'Bob' }).getByText('succeeded').waitFor();
    expect(await rowsOf(page).count()).to.equal(2);
  });

  it('keep the focus, and a click that has begun, while they change', async () => {
    const seen = Promise.withResolvers<void>();
    scene.backend.reply(inHalves(seen.promise));
    const reply = scene.create({ model: 'm', input: 'Hi', stream: true });
    await until(() => scene.backend.requests.some(({ path }) => path.endsWith('/chat/completions')));
    const page = await scene.openOperator('requests');
    await page.getByRole('row', { name: 'processing' }).waitFor();
    const link = rowsOf(page).last().getByRole('link').first();
    await link.focus();
    await scene.create({ model: 'm', input: 'Hi' });
    await page.waitForFunction(() => document.querySelectorAll('tbody tr').length === 2);
    const href = await link.getAttribute('href');
    expect(await page.evaluate(() => document.activeElement?.getAttribute('href'))).to.equal(href);
    await link.hover();
    await page.mouse.down();
    seen.resolve();
    await reply;
    await rowsOf(page).last().getByText('succeeded').waitFor();
    await page.mouse.up();
    await page.waitForURL((url) => url.hash === href);
  });

  it('are found by state, error, model, key and time, at an address that can be kept', async () => {
    scene.agoMs = 5 * HOUR_MS;
    await scene.create({ model: 'priced-one', input: 'Hi' });
    scene.agoMs = 0;
    await scene.create({ model: 'm', input: 'Hi' });
    await failOnce();
    const bob = await scene.managed.issue({ name: 'Bob' });
    await scene.gateway.create({ model: 'm', input: 'Hi' }, { headers: { authorization: `Bearer ${bob.secret}` } });
    const page = await scene.openOperator('requests');
    const expectOne = async (label: string, text: string) => {
      const field = page.getByRole('form', { name: 'Filters' }).getByLabel(label);
      await (label === 'Status' ? field.selectOption(text) : field.fill(text));
      await page.keyboard.press('Enter');
      await page.waitForFunction(() => document.querySelectorAll('tbody tr').length === 1);
      await page.reload();
      await page.waitForFunction(() => document.querySelectorAll('tbody tr').length === 1);
      expect(await field.inputValue()).to.equal(text);
      await page.getByRole('link', { name: 'Requests', exact: true }).click();
      await page.waitForFunction(() => document.querySelectorAll('tbody tr').length === 4);
    };
    await expectOne('Status', 'failed');
    await expectOne('Error code', 'upstream_error');
    await expectOne('Model', 'priced-one');
    const then = new Date(scene.nowMs() - 3 * HOUR_MS);
    const local = new Date(then.getTime() - then.getTimezoneOffset() * 60_000).toISOString().slice(0, 19);
    await expectOne('Until', local);
    await page.getByRole('form', { name: 'Filters' }).getByLabel('Key').fill('Ada’s key');
    await page.keyboard.press('Enter');
    await page.waitForURL(/key=Ada/);
    await page.waitForFunction(() => document.querySelectorAll('tbody tr').length === 3);
  });

  it('are found by a part of the name of a key, unless several have it', async () => {
    await scene.create({ model: 'm', input: 'Hi' });
    for (const name of ['team-1', 'team-2']) await scene.managed.issue({ name });
    const page = await scene.openOperator('requests');
    const key = page.getByRole('form', { name: 'Filters' }).getByLabel('Key');
    await key.focus();
    await page.waitForFunction(
      () => document.activeElement?.parentElement?.querySelector('datalist')?.childElementCount === 3,
    );
    await key.fill('team');
    await page.keyboard.press('Enter');
    await page.getByText('Several match: team-2, team-1').waitFor();
    await rowsOf(page).getByText('succeeded').waitFor();
    await key.fill('ada');
    await page.keyboard.press('Enter');
    await page.waitForURL(/key=Ada/);
    expect(await key.inputValue()).to.equal('Ada’s key');
    await page.getByText('Several match').waitFor({ state: 'hidden' });
  });

  it('say which filter is wrong', async () => {
    scene.tolerate(/status of 40[04]/);
    const page = await scene.openOperator('requests?error_code=nonsense');
    await page.getByText('error_code must be the code of an error').waitFor();
    await page.getByRole('form', { name: 'Filters' }).getByLabel('Error code').fill('');
    await page.getByRole('form', { name: 'Filters' }).getByLabel('Key').fill('nobody');
    await page.keyboard.press('Enter');
    await page.getByText('There is no key with this id, prefix or name.').waitFor();
    await page.getByText('No results.').waitFor();
    // It is not asked again, so nothing is on its way.
    for (const text of ['Loading …', 'Trying again …']) expect(await page.getByText(text).count()).to.equal(0);
    expect(await page.locator('[aria-busy=true]').count()).to.equal(0);
  });

  it('are opened by their id or by that of the response, each at its own address', async () => {
    const response = JSON.parse(await scene.create({ model: 'm', input: 'Hi' })) as { id: string };
    const page = await scene.openOperator('requests');
    await page.getByLabel('Find by id').fill(response.id);
    await page.keyboard.press('Enter');
    await page.getByText(response.id.replace('resp_', 'req_'), { exact: true }).waitFor();
    await page.getByText('1,200 (1,000 cached, 150 written to the cache)').waitFor();
    await page.reload();
    await page.getByRole('link', { name: 'Ada’s key' }).waitFor();
    await page.goBack();
    await rowsOf(page).first().getByText('succeeded').click();
    await page.waitForURL(/#\/requests\/req_/);
  });

  it('are cancelled from their page', async () => {
    const seen = Promise.withResolvers<void>();
    scene.backend.reply(inHalves(seen.promise));
    const reply = scene.create({ model: 'm', input: 'Hi', stream: true });
    const page = await scene.openOperator('requests?status=processing');
    await rowsOf(page).getByText('processing').click();
    await page.getByRole('button', { name: 'Cancel this request' }).click();
    await page.getByText('cancelled', { exact: true }).waitFor();
    seen.resolve();
    expect(await reply).to.include('"status":"cancelled"');
    await page.getByRole('button', { name: 'Cancel this request' }).waitFor({ state: 'hidden' });
  });

  it('come page by page', async () => {
    for (let made = 0; made < 30; made++) await scene.create({ model: 'm', input: 'Hi' });
    const page = await scene.openOperator('requests');
    await page.getByRole('link', { name: 'Older' }).click();
    await page.waitForFunction(() => document.querySelectorAll('tbody tr').length === 5);
    await page.getByRole('link', { name: 'Newest' }).click();
    await page.waitForFunction(() => document.querySelectorAll('tbody tr').length === 25);
  });

  it('look well on each screen, by day and by night', async () => {
    for (let made = 0; made < 6; made++) await scene.create({ model: 'm', input: 'Hi' });
    await failOnce();
    const seen = Promise.withResolvers<void>();
    scene.backend.reply(async (stage) => {
      await stage.sse(chunk({ content: 'Half' }));
      await seen.promise;
      stage.end();
    });
    const running = scene.create({ model: 'm', input: 'Hi', stream: true });
    const page = await scene.openOperator('requests');
    await page.getByRole('row', { name: 'processing' }).waitFor();
    await expectGoodLooks(page, 'operator-requests');
    seen.resolve();
    await running;
    await page.getByRole('row', { name: 'upstream_error' }).getByRole('link').first().click();
    await page.getByText('As JSON').click();
    await page.getByText('Requests with this error').waitFor();
    await expectGoodLooks(page, 'operator-request');
  });
});

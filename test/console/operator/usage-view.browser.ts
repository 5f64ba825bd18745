import { expect } from 'chai';
import type { Page } from 'playwright-core';
import { newGroupDraft } from '../../support/keys.ts';
import { expectGoodLooks } from '../looks.ts';
import { useConsole } from '../scene.ts';

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;

describe('the usage of the operator', () => {
  const scene = useConsole({ key: { name: 'Ada’s key', creditsMicro: 12_000_000 } });

  async function use(): Promise<void> {
    const { groupId } = await scene.managed.store.createGroup(newGroupDraft({ name: 'Research' }));
    const { secret } = await scene.managed.issue({ name: 'Bob', groupId });
    const headers = { authorization: `Bearer ${secret}` };
    scene.agoMs = 3 * DAY_MS;
    await scene.create({ model: 'priced-one', input: 'Hi' });
    scene.agoMs = 0;
    for (let made = 0; made < 2; made++) await scene.gateway.create({ model: 'm', input: 'Hi' }, { headers });
    await scene.create({ model: 'm', input: 'Hi', stream: true });
    await scene.create({ model: 'm' });
    scene.backend.reply({ json: {}, status: 500 });
    await scene.create({ model: 'm', input: 'Hi' });
    const hour = Math.floor(scene.nowMs() / HOUR_MS);
    const counts = {
      'input:gpu-a': 12_000,
      'cached:gpu-a': 6000,
      'reachable:gpu-a': 9000,
      'moved:gpu-a': 2,
      'saved:gpu-a': 1_500_000,
    };
    await scene.managed.store.addRequestStats([{ caller: 'a caller', groupId: null, model: 'm', hour, counts }]);
  }

  const rowsOf = async (page: Page) => {
    const rows = await page.getByRole('table', { name: 'Usage' }).locator('tbody tr').all();
    return Promise.all(rows.map(async (row) => (await row.getByRole('cell').allInnerTexts()).slice(0, 3)));
  };

  it('is summed up by model, key, group and time, at an address that can be kept', async () => {
    await use();
    const page = await scene.openOperator('usage');
    await page.getByRole('link', { name: 'priced-one' }).waitFor();
    expect(await rowsOf(page)).to.deep.equal([
      ['m', '0.01455', '4'],
      ['priced-one', '0.00485', '1'],
    ]);
    const costs = page.getByRole('figure').filter({ hasText: 'Cost' });
    await costs.locator('canvas').waitFor();
    expect(await costs.locator('.legend span').allInnerTexts()).to.deep.equal(['m', 'priced-one']);
    await page.getByRole('columnheader', { name: 'Model', exact: true }).waitFor();
    await page.getByLabel('By', { exact: true }).selectOption('key');
    await page.getByRole('link', { name: 'Bob' }).waitFor();
    expect(await costs.locator('.legend span').allInnerTexts()).to.deep.equal(['Ada’s key', 'Bob']);
    await page.reload();
    await page.getByRole('link', { name: 'Bob' }).waitFor();
    await page.getByRole('link', { name: 'Ada’s key' }).waitFor();
    expect(await rowsOf(page)).to.deep.equal([
      ['Ada’s key', '0.0097', '3'],
      ['Bob', '0.0097', '2'],
    ]);
    await page.getByLabel('By', { exact: true }).selectOption('group');
    await page.getByRole('link', { name: 'Research' }).waitFor();
    await page.getByLabel('By', { exact: true }).selectOption('time');
    await page.getByRole('table', { name: 'Usage' }).getByRole('columnheader', { name: 'Day (UTC)' }).waitFor();
    const rows = page.getByRole('table', { name: 'Usage' }).locator('tbody tr');
    expect(await rows.count()).to.equal(2);
    await page.getByLabel('Time', { exact: true }).selectOption('last 24 hours');
    await page.waitForFunction(() => document.querySelectorAll('table[aria-label=Usage] tbody tr').length === 1);
    for (const chart of ['Time to first token', 'Duration of answered requests', 'Rejected requests']) {
      await page.getByRole('figure').filter({ hasText: chart }).locator('canvas').waitFor();
    }
    await page
      .getByRole('figure')
      .filter({ hasText: 'Cached share of the input by backend' })
      .locator('canvas')
      .waitFor();
    const caches = page.getByRole('table', { name: 'Prefix caches of the backends' }).locator('tbody td');
    expect(await caches.allTextContents()).to.deep.equal(['gpu-a', '12K', '6K (50%)', '9K (75%)', '2', '1.50']);
    const codes = page.getByRole('table', { name: 'Rejected by error code' }).locator('tbody tr');
    expect(await codes.allTextContents()).to.deep.equal(['missing_required_parameter1']);
  });

  it('is that of one key from its page', async () => {
    await use();
    const page = await scene.openOperator('keys');
    await page.getByRole('link', { name: 'Bob' }).click();
    await page.getByRole('heading', { name: 'Key Bob' }).waitFor();
    await page.locator('.links').getByRole('link', { name: 'Usage' }).click();
    await page.getByRole('row', { name: /^m/ }).waitFor();
    expect(await rowsOf(page)).to.deep.equal([['m', '0.0097', '2']]);
  });

  it('looks well on each screen, by day and by night', async () => {
    await use();
    const page = await scene.openOperator('usage');
    await page.getByRole('link', { name: 'priced-one' }).waitFor();
    await expectGoodLooks(page, 'operator-usage');
  });
});

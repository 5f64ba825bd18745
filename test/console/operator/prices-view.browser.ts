import { expect } from 'chai';
import { expectGoodLooks } from '../looks.ts';
import { inHalves, useConsole } from '../scene.ts';

describe('the prices and limits of the operator', () => {
  const scene = useConsole({ key: { name: 'Ada’s key' } });

  it('show what a model costs, and find it', async () => {
    const page = await scene.openOperator('prices');
    const row = page.getByRole('row', { name: 'priced*' });
    await row.waitFor();
    expect(await row.getByRole('cell').allInnerTexts()).to.deep.equal(['priced*', '2.00', '1.00', '2.00', '10.00']);
    await page.getByText('USD per million tokens').waitFor();
    await page.getByLabel('Find a model').fill('PRICED');
    expect(await page.getByRole('row').count()).to.equal(2);
    await page.getByLabel('Find a model').fill('nothing');
    await page.getByText('No models match.').waitFor();
  });

  it('show how full each limit is, while one looks', async () => {
    const ended = Promise.withResolvers<void>();
    scene.backend.reply(inHalves(ended.promise));
    const page = await scene.openOperator('limits');
    const used = page.getByRole('row', { name: 'MAX_CONCURRENT_REQUESTS' }).getByRole('cell').nth(1);
    await used.getByText('0', { exact: true }).waitFor();
    const reply = scene.create({ model: 'm', input: 'Hi', stream: true });
    await used.getByText('1', { exact: true }).waitFor();
    ended.resolve();
    await reply;
    await used.getByText('0', { exact: true }).waitFor();
  });

  it('look well on each screen, by day and by night', async () => {
    const page = await scene.openOperator('prices');
    await page.getByRole('row', { name: 'priced*' }).waitFor();
    await expectGoodLooks(page, 'operator-prices');
    await page.getByRole('link', { name: 'Limits' }).click();
    await page.getByText('MAX_WEBSOCKETS').waitFor();
    await expectGoodLooks(page, 'operator-limits');
  });
});

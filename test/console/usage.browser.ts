import { expect } from 'chai';
import { WHOLE_GATEWAY } from '../../src/core/ids.ts';
import type { Page } from 'playwright-core';
import { newGroupDraft } from '../support/keys.ts';
import { useConsole } from './scene.ts';

const HOUR_MS = 3_600_000;

describe('“Usage”', () => {
  const scene = useConsole();
  let page: Page;

  beforeEach(async () => {
    page = await scene.open();
    await scene.enter(page);
  });

  const look = () => scene.go(page, 'Usage');
  const tile = async (name: string) => {
    const all = await page.locator('#usage-totals div').allTextContents();
    return all.find((text) => text.startsWith(name))?.slice(name.length);
  };
  const tableOf = async (chart: string) => {
    const figure = page.getByRole('figure').filter({ has: page.getByText(chart, { exact: true }) });
    await figure.getByText('As a table').click();
    return figure.locator('tbody tr').allTextContents();
  };

  /** Requests which ended so many hours ago. */
  async function use(model: string, ...hoursAgo: number[]): Promise<void> {
    for (const hours of hoursAgo) {
      scene.agoMs = hours * HOUR_MS;
      await scene.create({ model, input: 'Hi' });
    }
    scene.agoMs = 0;
  }

  it('says so when nothing was used', async () => {
    await look();
    await page.getByText('No requests ended in this period.').waitFor();
    expect(await page.getByRole('figure').count()).to.equal(0);
  });

  it('adds up what was used, and shows it over time', async () => {
    await use('one-model', 0, 49, 50);
    await use('other-model', 49);
    scene.backend.reply({ json: {}, status: 500 });
    await use('one-model', 0);
    await look();
    await page.getByRole('figure').first().waitFor();
    expect([await tile('Requests'), await tile('Failed'), await tile('Input tokens')]).to.deep.equal([
      '5',
      '1 (20.0%)',
      '4.8K',
    ]);
    const requests = await tableOf('Requests');
    expect(requests).to.have.length(7);
    expect(requests.at(-1)).to.match(/2$/);
    expect(requests.reduce((sum, row) => sum + Number(/\d$/.exec(row)?.[0]), 0)).to.equal(5);
    expect((await tableOf('Errors')).at(-1)).to.match(/10$/);
  });

  it('draws each chart', async () => {
    await use('one-model', 0, 1, 2);
    await look();
    const canvas = page.getByRole('figure').locator('canvas');
    await canvas.first().waitFor();
    // Nothing has failed, so there is no chart of errors.
    expect(await canvas.count()).to.equal(4);
    const drawn = await canvas.evaluateAll((all) =>
      all.map((one) => {
        const { width, height } = one as HTMLCanvasElement;
        const { data } = (one as HTMLCanvasElement).getContext('2d')?.getImageData(0, 0, width, height) ?? { data: [] };
        return new Set(data).size > 10;
      }),
    );
    expect(drawn).to.deep.equal([true, true, true, true]);
  });

  it('shows how long requests took, and what was rejected by its code', async () => {
    await scene.create({ model: 'one-model', input: 'Hi', stream: true });
    await use('other-model', 0);
    for (let times = 0; times < 2; times += 1)
      await scene.create({ model: 'one-model', input: 'Hi', background: true });
    await scene.create({ model: 'one-model' });
    await look();
    const codes = page.getByRole('table', { name: 'Rejected by error code' }).locator('tbody tr');
    await codes.first().waitFor();
    expect(await codes.allTextContents()).to.deep.equal(['unsupported_parameter2', 'missing_required_parameter1']);
    expect((await tableOf('Rejected requests')).at(-1)).to.match(/3$/);
    expect((await tableOf('Time to first token')).at(-1)).to.match(/\d.* m?s\d.* m?s$/);
    await page.getByRole('combobox', { name: 'Model' }).selectOption('other-model');
    await page.locator('figcaption', { hasText: 'Duration of answered requests' }).waitFor();
    expect(await page.locator('figcaption', { hasText: 'Time to first token' }).isVisible()).to.equal(false);
    expect(await codes.first().isVisible(), 'they have no model').to.equal(false);
  });

  it('draws them anew when the theme or the width changes', async () => {
    await use('one-model', 0, 1, 2);
    await look();
    const canvas = page.getByRole('figure').first().locator('canvas');
    const light = await canvas.evaluate((one) => (one as HTMLCanvasElement).toDataURL());
    await page.emulateMedia({ colorScheme: 'dark' });
    await page.waitForFunction(
      (before) => (document.querySelector('figure canvas') as HTMLCanvasElement).toDataURL() !== before,
      light,
    );
    const width = await canvas.evaluate((one) => one.clientWidth);
    await page.setViewportSize({ width: 400, height: 800 });
    await page.waitForFunction((before) => (document.querySelector('canvas')?.clientWidth ?? before) < before, width);
  });

  it('is narrowed to a model and a time', async () => {
    await use('one-model', 0, 30);
    await use('other-model', 0);
    await look();
    await page.getByRole('figure').first().waitFor();
    await page.getByRole('combobox', { name: 'Model' }).selectOption('one-model');
    expect(await tile('Requests')).to.equal('2');
    await page.getByRole('combobox', { name: 'Time' }).selectOption('last 24 hours');
    await page.waitForFunction(() => document.querySelector('#usage-totals dd')?.textContent === '1');
    expect(await tableOf('Requests')).to.have.length(24);
    await page.getByRole('combobox', { name: 'Time' }).selectOption('last 12 months');
    await page.waitForFunction(() => document.querySelectorAll('#usage-charts tbody tr').length === 4 * 12);
    expect(await tile('Requests')).to.equal('2');
  });

  it('has the hours and the days of UTC wherever the browser is', async () => {
    await use('one-model', 0);
    const there = await scene.open({ timezoneId: 'Asia/Kolkata' });
    await scene.enter(there);
    await scene.go(there, 'Usage');
    await there.locator('#usage-status', { hasText: 'Day (UTC)' }).waitFor();
    await there.getByRole('combobox', { name: 'Time' }).selectOption('last 24 hours');
    await there.locator('#usage-status', { hasText: 'Hour (UTC)' }).waitFor();
    await there.getByText('As a table').first().click();
    await there.getByRole('columnheader', { name: 'Hour (UTC)' }).first().waitFor();
    expect(await there.locator('#usage-charts tbody th').first().textContent()).to.match(/ \d\d:00$/);
  });

  it('tells the values under the pointer', async () => {
    await use('one-model', 0);
    await look();
    const plot = page.getByRole('figure').first().locator('.u-over');
    const width = await plot.evaluate((one) => one.clientWidth);
    await plot.hover({ position: { x: 20, y: 20 } });
    await page.getByText(/Requests 0$/).waitFor();
    await plot.hover({ position: { x: width - 20, y: 20 } });
    await page.getByText(/Requests 1$/).waitFor();
  });
});

describe('“Usage” where the gateway issues the keys', () => {
  const limits = {
    requestsPerMinute: 60,
    tokensPerMinute: null,
    spendPerDayMicro: 5_000_000,
    spendPerWeekMicro: null,
    spendPerMonthMicro: null,
  };
  const scene = useConsole({ key: { name: 'Ada’s key', creditsMicro: 12_000_000, limits } });

  it('shows what the key may do and what is left of it, and the cost of each request', async () => {
    const page = await scene.open();
    await scene.enter(page);
    await scene.create({ model: 'm', input: 'Hi' });
    await scene.go(page, 'Usage');
    const card = page.getByRole('region', { name: 'This key Ada’s key' });
    await card.waitFor();
    // 200 × 2 + 1,000 × 1 + 345 × 10 millionths.
    expect((await card.locator('dl > div').allTextContents()).map(withoutTime)).to.deep.equal([
      'Balance11.99515 USD',
      'Spent today0.00485 USD',
      'Spent this week0.00485 USD',
      'Spent this month0.00485 USD',
      'Requests per minute59 of 60 leftresets …',
      'Spending per day4.99515 USD of 5.00 USD leftresets …',
    ]);
    expect(await page.getByText('Cost', { exact: true }).allTextContents()).to.have.length.above(1);
    await scene.go(page, 'Requests');
    await page.getByRole('row', { name: 'succeeded m' }).getByText('0.00485').waitFor();
  });

  it('shows what is left of the group of the key, and what the models cost', async () => {
    const { store } = scene.managed;
    const limits = {
      requestsPerMinute: 600,
      tokensPerMinute: null,
      spendPerDayMicro: null,
      spendPerWeekMicro: null,
      spendPerMonthMicro: null,
    };
    const { groupId } = await store.createGroup(newGroupDraft({ name: 'Research', creditsMicro: 1_000_000, limits }));
    const [key] = (await store.listKeys({ limit: 1 }))?.keys ?? [];
    if (key === undefined) throw new Error('there is no key');
    await store.updateKey(key.keyId, { groupId });
    const page = await scene.open();
    await scene.enter(page);
    await scene.go(page, 'Usage');
    await page.getByRole('heading', { name: 'Its group Research' }).waitFor();
    expect(await page.locator('#usage-group dl > div').allTextContents()).to.deep.equal([
      'Balance1.00 USD',
      'Spent today0.00 USD',
      'Spent this week0.00 USD',
      'Spent this month0.00 USD',
      'Requests per minute600 of 600 left',
    ]);
    const cap = { ...limits, requestsPerMinute: null, spendPerWeekMicro: 5_000_000 };
    await store.createGroup(newGroupDraft({ groupId: WHOLE_GATEWAY, limits: cap }));
    await page.getByRole('heading', { name: 'The whole gateway' }).waitFor();
    expect(await page.locator('#usage-gateway dl > div').allTextContents()).to.include(
      'Spending per week5.00 USD of 5.00 USD left',
    );
    await page.getByText('Prices USD per million tokens').click();
    expect(await page.locator('#usage-prices tbody tr').allTextContents()).to.deep.equal([
      'm2.001.002.0010.00',
      'priced*2.001.002.0010.00',
    ]);
  });

  it('is not shown to whoever has another key', async () => {
    scene.tolerate(/status of 401/);
    const page = await scene.open();
    await page.getByLabel('API key', { exact: true }).fill('sk-guessed');
    await page.getByRole('button', { name: 'Continue' }).click();
    await page.getByText('(401 invalid_api_key)').waitFor();
  });
});

function withoutTime(text: string): string {
  return text.replace(/(resets ).*/, '$1…');
}

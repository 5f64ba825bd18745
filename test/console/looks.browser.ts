import { expect } from 'chai';
import type { Page } from 'playwright-core';
import { DEVICES, expectGoodLooks } from './looks.ts';
import { chunk, useConsole } from './scene.ts';

const KEY = {
  name: 'Ada’s key',
  creditsMicro: 12_000_000,
  limits: { requestsPerMinute: 60, tokensPerMinute: 100_000, spendPerDayMicro: 5_000_000, spendPerMonthMicro: null },
};
const HOUR_MS = 3_600_000;
/** Each screen as it is used, on a wide and on a narrow page, by day and by night. The pictures are for people to look at. */
for (const { device, viewport } of DEVICES) {
  for (const colorScheme of ['light', 'dark'] as const) {
    describe(`the console on a ${device}, ${colorScheme}`, () => {
      const scene = useConsole({ key: KEY });
      let page: Page;

      beforeEach(async () => {
        page = await scene.open({ viewport, colorScheme, reducedMotion: 'reduce' });
      });

      async function useForDays(): Promise<void> {
        for (let at = 0; at < 24; at++) {
          scene.agoMs = (160 - 7 * at) * HOUR_MS;
          if (at % 5 === 3) scene.backend.reply({ json: {}, status: 500 });
          await scene.create({ model: 'm', input: 'Hi' });
        }
        scene.agoMs = 0;
      }

      const expectGood = (name: string) => expectGoodLooks(page, `${name}-${device}-${colorScheme}`);

      it('asks for the key', async () => {
        await page.getByRole('button', { name: 'Continue' }).waitFor();
        await expectGood('key');
      });

      it('says that a key is wrong', async () => {
        scene.tolerate(/status of 401/);
        await page.getByLabel('API key', { exact: true }).fill('wrong');
        await page.getByRole('button', { name: 'Continue' }).click();
        await page.getByText('(401 invalid_api_key)').waitFor();
        await expectGood('key-refused');
      });

      it('offers to try a request', async () => {
        await scene.enter(page);
        await page.getByText('Tools and limits').click();
        await page.getByRole('button', { name: 'Insert an example' }).click();
        await page.getByLabel('Max output tokens').fill('0');
        await page.getByRole('button', { name: 'Send' }).click();
        await expectGood('try');
      });

      it('shows an answer', async () => {
        await scene.enter(page);
        const call = {
          index: 0,
          id: 'call_1',
          type: 'function',
          function: { name: 'get_weather', arguments: '{"city":"Bonn"}' },
        };
        scene.backend.reply({
          sse: [
            chunk({ reasoning_content: 'They want to know about the weather. I had better look it up first.' }),
            ...'The weather, for a city such as Bonn, is something I have to ask for. One moment please.'
              .split(/(?<= )/)
              .map((content) => chunk({ content })),
            chunk({ tool_calls: [call] }),
            chunk({}, 'tool_calls'),
            { choices: [], usage: { prompt_tokens: 1234, completion_tokens: 45 } },
          ],
        });
        await page.getByLabel('Input').fill('What is the weather like in Bonn?');
        await page.getByText('Tools and limits').click();
        await page.getByRole('button', { name: 'Insert an example' }).click();
        await page.getByRole('button', { name: 'Send' }).click();
        await page.getByText('Completed in').waitFor();
        await page.locator('#try-events summary').nth(-2).click();
        await expectGood('answer');
      });

      it('shows a conversation over a WebSocket, compacted', async () => {
        await scene.enter(page);
        await page.getByLabel('Send over').selectOption('WebSocket');
        const input = page.getByLabel('Input', { exact: true });
        const status = page.locator('#try-status');
        await input.fill('Which books about lighthouses do you have?');
        await page.getByRole('button', { name: 'Send' }).click();
        await status.getByText('Completed in').waitFor();
        await page.getByRole('button', { name: 'Compact' }).click();
        await page.getByText(/^Compacted: about/).waitFor();
        await input.fill('And which of them are for children?');
        await page.getByRole('button', { name: 'Send' }).click();
        await page.getByText('2 turns so far, compacted.').waitFor();
        await page.getByRole('button', { name: 'Count input tokens' }).click();
        await page.getByText(/^About \d+ input tokens/).waitFor();
        await expectGood('conversation');
      });

      it('shows a failure', async () => {
        scene.tolerate(/status of 429/);
        await scene.enter(page);
        scene.backend.reply({
          json: { error: { message: 'Slow down.' } },
          status: 429,
          headers: { 'retry-after': '7' },
        });
        await page.getByLabel('Input').fill('Hello');
        await page.getByRole('button', { name: 'Send' }).click();
        await page.getByText('Slow down.').waitFor();
        await expectGood('failure');
      });

      it('lists requests', async () => {
        await useForDays();
        await scene.enter(page);
        await page.getByRole('link', { name: 'Requests' }).click();
        await page.getByRole('row').nth(1).waitFor();
        await expectGood('requests');
        await page.getByRole('cell', { name: 'failed' }).first().waitFor();
        await page.getByRole('row', { name: 'failed' }).first().getByRole('button').click();
        await page.getByText('As JSON').click();
        await expectGood('request');
      });

      it('shows the usage', async () => {
        await useForDays();
        await scene.enter(page);
        await page.getByRole('link', { name: 'Usage' }).click();
        await page.locator('canvas').first().waitFor();
        await page.getByText('As a table').first().click();
        await expectGood('usage');
      });
    });
  }
}

describe('the console without a mouse', () => {
  const scene = useConsole();

  it('begins with a link past the navigation, and tells of a change of view', async () => {
    const page = await scene.open();
    await scene.enter(page);
    await page.reload();
    await page.getByRole('heading', { name: 'Try it' }).waitFor();
    await page.evaluate(() => {
      document.body.tabIndex = -1;
      document.body.focus();
    });
    await page.keyboard.press('Tab');
    expect(await page.evaluate(() => document.activeElement?.textContent)).to.equal('Skip to the content');
    await page.keyboard.press('Enter');
    expect(await page.evaluate(() => document.activeElement?.id)).to.equal('main');
    await page.getByRole('link', { name: 'Usage' }).focus();
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { name: 'Usage' }).waitFor();
    expect(await page.evaluate(() => document.activeElement?.id)).to.equal('usage-title');
    expect(await page.title()).to.equal('Usage – Responses gateway');
    expect(await page.getByRole('link', { name: 'Usage' }).getAttribute('aria-current')).to.equal('page');
  });
});

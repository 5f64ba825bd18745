import type { Page } from 'playwright-core';
import { expectGoodLooks } from './looks.ts';
import { chunk, useConsole } from './scene.ts';

const KEY = {
  name: 'Ada’s key',
  creditsMicro: 12_000_000,
  limits: {
    requestsPerMinute: 60,
    tokensPerMinute: 100_000,
    spendPerDayMicro: 5_000_000,
    spendPerWeekMicro: null,
    spendPerMonthMicro: null,
  },
};
const HOUR_MS = 3_600_000;
const ANSWER = `## The weather of Bonn

The weather, for a city such as **Bonn**, is something that I have to ask for with \`get_weather\`. Until then:

| month | days of rain | mean |
| --- | --- | --- |
| January | 15 | 2.8 °C |
| July | 14 | 18.9 °C |

1. It rains in *every* month.
2. See [the service](https://weather.example/bonn) for more.

\`\`\`js
const weather = await getWeather({ city: 'Bonn', days: 3, units: 'metric', language: 'en', detail: 'whole' });
\`\`\`

> One moment please.
`;
/** Each screen as it is used. The pictures are for people to look at. */
describe('the screens of the console', () => {
  const scene = useConsole({ key: KEY });
  let page: Page;

  beforeEach(async () => {
    page = await scene.open();
  });

  async function useForDays(): Promise<void> {
    for (let at = 0; at < 24; at++) {
      scene.agoMs = (160 - 7 * at) * HOUR_MS;
      if (at % 5 === 3) scene.backend.reply({ json: {}, status: 500 });
      await scene.create({ model: 'm', input: 'Hi' });
    }
    scene.agoMs = 0;
  }

  it('asks for the key', async () => {
    await page.getByRole('button', { name: 'Continue' }).waitFor();
    await expectGoodLooks(page, 'key');
  });

  it('says that a key is wrong', async () => {
    scene.tolerate(/status of 401/);
    await page.getByLabel('API key', { exact: true }).fill('wrong');
    await page.getByRole('button', { name: 'Continue' }).click();
    await page.getByText('(401 invalid_api_key)').waitFor();
    await expectGoodLooks(page, 'key-refused');
  });

  it('offers to try a request', async () => {
    await scene.enter(page);
    await page.getByText('Tools and limits').click();
    await page.getByRole('button', { name: 'Insert an example' }).click();
    await page.getByLabel('Max output tokens').fill('0');
    await page.getByRole('button', { name: 'Send' }).click();
    await expectGoodLooks(page, 'try');
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
        ...ANSWER.split(/(?<= )/).map((content) => chunk({ content })),
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
    await expectGoodLooks(page, 'answer');
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
    await expectGoodLooks(page, 'conversation');
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
    await expectGoodLooks(page, 'failure');
  });

  it('lists requests', async () => {
    await useForDays();
    await scene.enter(page);
    await scene.go(page, 'Requests');
    await page.getByRole('row').nth(1).waitFor();
    await expectGoodLooks(page, 'requests');
    await page.getByRole('cell', { name: 'failed' }).first().waitFor();
    await page.getByRole('row', { name: 'failed' }).first().getByRole('link').click();
    await page.getByText('As JSON').click();
    await expectGoodLooks(page, 'request');
  });

  it('shows the usage', async () => {
    await useForDays();
    await scene.enter(page);
    await scene.go(page, 'Usage');
    await page.locator('canvas').first().waitFor();
    await page.getByText('As a table').first().click();
    await expectGoodLooks(page, 'usage');
  });
});

import { expect } from 'chai';
import type { Page } from 'playwright-core';
import type { ChatRequest } from '../../src/core/chat.ts';
import { useRealSockets } from '../support/real-sockets.ts';
import { inHalves, chunk, sendJson, USAGE, useConsole } from './scene.ts';

describe('a conversation in “Try it”', () => {
  useRealSockets();
  const scene = useConsole();
  let page: Page;

  beforeEach(async () => {
    page = await scene.open();
    await scene.enter(page);
  });

  const answer = () => page.getByRole('region', { name: 'Answer' });
  const status = () => page.locator('#try-status');
  const rows = () => page.locator('#try-events summary').allTextContents();
  const proceed = () => page.getByLabel('Continue from the last answer');
  const asked = () => (scene.backend.requests.at(-1)?.body as ChatRequest | undefined)?.messages;

  async function say(text: string): Promise<void> {
    await page.getByLabel('Input', { exact: true }).fill(text);
    await page.getByRole('button', { name: 'Send' }).click();
    // The answer before is not taken for this one.
    await status().getByText('Completed in').waitFor();
    await page.locator('#try-send:enabled').waitFor();
  }

  async function sayNext(text: string): Promise<void> {
    await proceed().check();
    await page.evaluate(() => document.querySelector('#try-status')?.replaceChildren());
    await say(text);
  }

  const turns = (...texts: readonly string[]) =>
    texts.map((content, at) => ({ role: at % 2 === 0 ? 'user' : 'assistant', content }));

  for (const transport of ['HTTP', 'WebSocket']) {
    it(`goes on over ${transport} with all that was said`, async () => {
      await page.getByLabel('Send over').selectOption(transport);
      expect(await proceed().isVisible()).to.equal(false);
      await say('One');
      await sayNext('Two');
      await sayNext('Three');
      expect(withoutThoughts(asked())).to.deep.equal(
        turns('One', 'Hello from afar', 'Two', 'Hello from afar', 'Three'),
      );
      expect(await answer().locator('[data-type=said]').allTextContents()).to.deep.equal([
        'YouOne',
        'YouTwo',
        'YouThree',
      ]);
      expect(await answer().locator('[data-type=message]').count()).to.equal(3);
      await page.getByText('3 turns so far.').waitFor();
      const scope = page.getByText('Earlier turns are left out here');
      await scope.waitFor();
      await proceed().uncheck();
      expect(await scope.isVisible()).to.equal(false);
      await say('Again');
      expect(asked()).to.deep.equal(turns('Again'));
      await page.getByText('1 turn so far.').waitFor();
    });
  }

  it('goes by the id of the latest response, as long as the WebSocket stands', async () => {
    await page.getByLabel('Send over').selectOption('WebSocket');
    await say('One');
    expect((await rows()).slice(0, 3).map(withoutTimes)).to.deep.equal([
      'WebSocket opened',
      'sent: response.create',
      'response.created',
    ]);
    const request = /req_[0-9a-f]+/.exec((await page.locator('#try-facts').textContent()) ?? '')?.[0] ?? '';
    await sayNext('Two');
    expect((await rows()).slice(0, 1).map(withoutTimes)).to.deep.equal(['WebSocket still open']);
    await page.getByText('sent: response.create').click();
    const frame = JSON.parse((await page.locator('#try-events pre').textContent()) ?? '') as Record<string, unknown>;
    expect(frame).to.include({ input: 'Two', previous_response_id: request.replace('req_', 'resp_') });
    expect(frame).not.to.have.property('store');
  });

  it('sends everything once more after a failure, which the WebSocket has not outlived in memory', async () => {
    await page.getByLabel('Send over').selectOption('WebSocket');
    await say('One');
    scene.backend.reply({
      json: { error: { message: 'Slow down.' } },
      status: 429,
      headers: { 'retry-after': '7' },
    });
    await proceed().check();
    await page.getByLabel('Input', { exact: true }).fill('Two');
    await page.getByRole('button', { name: 'Send' }).click();
    await status().getByText('Slow down. Try again in 7 s. (429 rate_limit_exceeded)').waitFor();
    await say('Three');
    expect(withoutThoughts(asked())).to.deep.equal(turns('One', 'Hello from afar', 'Three'));
    expect((await rows()).slice(0, 1).map(withoutTimes)).to.deep.equal(['WebSocket still open']);
  });

  it('stops over a WebSocket by hanging up, which reaches the backend', async () => {
    scene.backend.reply(async (stage) => {
      await stage.sse(chunk({ content: 'Half' }));
      await stage.hang();
    });
    await page.getByLabel('Send over').selectOption('WebSocket');
    await page.getByLabel('Input', { exact: true }).fill('One');
    await page.getByRole('button', { name: 'Send' }).click();
    await answer().getByText('Half').waitFor();
    await page.getByRole('button', { name: 'Stop' }).click();
    await status().getByText('Stopped after').waitFor();
    const { aborted } = (await scene.backend.requests.at(-1)?.closed) ?? { aborted: false };
    expect(aborted).to.equal(true);
    expect(await proceed().isVisible()).to.equal(false);
  });

  it('asks for nothing else while a request runs, by the keyboard neither', async () => {
    const seen = Promise.withResolvers<void>();
    scene.backend.reply(inHalves(seen.promise));
    const before = scene.backend.requests.length;
    await page.getByLabel('Input', { exact: true }).fill('One');
    await page.getByRole('button', { name: 'Send' }).click();
    await answer().getByText('Half').waitFor();
    await page.getByLabel('Input', { exact: true }).press('Control+Enter');
    expect(await page.getByRole('button', { name: 'Count input tokens' }).isEnabled()).to.equal(false);
    seen.resolve();
    await answer().getByText('Half and half').waitFor();
    await say('Two');
    expect(scene.backend.requests.length).to.equal(before + 2);
  });

  it('cancels over a WebSocket, which stays open', async () => {
    scene.backend.reply(async (stage) => {
      await stage.sse(chunk({ content: 'Half' }));
      await stage.hang();
    });
    await page.getByLabel('Send over').selectOption('WebSocket');
    await page.getByLabel('Input', { exact: true }).fill('One');
    await page.getByRole('button', { name: 'Send' }).click();
    await answer().getByText('Half').waitFor();
    await page.getByRole('button', { name: 'Cancel', exact: true }).click();
    await status().getByText('Cancelled after').waitFor();
    await say('Two');
    expect((await rows()).slice(0, 1).map(withoutTimes)).to.deep.equal(['WebSocket still open']);
  });

  it('says so when there is no WebSocket to be had', async () => {
    scene.tolerate(/WebSocket connection|ERR_CONNECTION_REFUSED/);
    await page.getByLabel('Send over').selectOption('WebSocket');
    await page.getByLabel('Input', { exact: true }).fill('One');
    await scene.gateway.close();
    await page.getByRole('button', { name: 'Send' }).click();
    await status().getByText('The gateway does not answer. Is it still running?', { exact: true }).waitFor();
  });

  it('streams over a WebSocket in any case', async () => {
    await page.getByLabel('Stream the answer').uncheck();
    await page.getByLabel('Send over').selectOption('WebSocket');
    expect(await page.getByLabel('Stream the answer').isChecked()).to.equal(true);
    expect(await page.getByLabel('Stream the answer').isEnabled()).to.equal(false);
    await page.getByLabel('Send over').selectOption('HTTP');
    expect(await page.getByLabel('Stream the answer').isEnabled()).to.equal(true);
  });

  for (const transport of ['HTTP', 'WebSocket']) {
    it(`compacts the turns so far, and goes on from the summary over ${transport}`, async () => {
      await page.getByLabel('Send over').selectOption(transport);
      expect(await page.getByRole('button', { name: 'Compact' }).isVisible()).to.equal(false);
      scene.backend.reply({ sse: [chunk({ content: 'word '.repeat(2000) }), chunk({}, 'stop')] });
      await say('One');
      scene.backend.reply((stage) =>
        sendJson(stage, { choices: [{ message: { content: 'THE SUMMARY' }, finish_reason: 'stop' }], usage: USAGE }),
      );
      await page.getByRole('button', { name: 'Compact' }).click();
      const effect = page.getByText(/^Compacted: about/);
      await effect.waitFor();
      const [before = 0, after = 0] = [...((await effect.textContent()) ?? '').matchAll(/[\d,]+/g)].map(([number]) =>
        Number(number.replace(',', '')),
      );
      expect(before).to.be.greaterThan(2000);
      expect(after).to.be.within(1, 1000);
      expect(await effect.textContent()).to.include('The summary took 1,200 in, 345 out.');
      await page.getByText('1 turn so far, compacted.').waitFor();
      expect(await answer().locator('[data-type=note]').textContent()).to.match(/^Compaction/);
      expect(await proceed().isChecked()).to.equal(true);
      await sayNext('Two');
      const told = JSON.stringify(asked());
      expect(told).to.include('THE SUMMARY').and.to.include('One').and.to.include('Two');
      expect(told).not.to.include('word word');
      await sayNext('Three');
      expect(JSON.stringify(asked())).to.include('THE SUMMARY').and.to.include('Three');
    });
  }

  it('keeps the conversation when it cannot be compacted', async () => {
    scene.tolerate(/status of 502/);
    await say('One');
    scene.backend.reply({ json: {}, status: 500 });
    await page.getByRole('button', { name: 'Compact' }).click();
    await page.getByText('(502 upstream_error)').waitFor();
    await sayNext('Two');
    expect(withoutThoughts(asked())).to.deep.equal(turns('One', 'Hello from afar', 'Two'));
  });

  it('says how many input tokens the next request has', async () => {
    await page.getByLabel('Input', { exact: true }).fill('Hello');
    const count = page.getByRole('button', { name: 'Count input tokens' });
    await count.click();
    await page.getByText('About 8 input tokens (estimated by o200k_base).').waitFor();
    await say('Hello');
    await page.getByLabel('Input', { exact: true }).fill('');
    await proceed().check();
    await count.click();
    const counted = page.getByText(/^About \d+ input tokens/);
    await counted.waitFor();
    expect(await page.evaluate(() => document.activeElement?.id)).to.equal('try-count');
    const tokens = Number(/\d+/.exec((await counted.textContent()) ?? '')?.[0]);
    expect(tokens).to.be.within(12, 60);
  });
});

function withoutTimes(row: string): string {
  return row.replace(/^[\d.]+ m?s\+[\d.]+ m?s/, '');
}

function withoutThoughts(messages: ChatRequest['messages'] | undefined): unknown {
  return messages?.map(({ role, content }) => ({ role, content }));
}

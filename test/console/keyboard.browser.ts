import { expect } from 'chai';
import type { Page } from 'playwright-core';
import { newGroupDraft } from '../support/keys.ts';
import { expectAllReachable, nameOfFocus, pressOn, tabTo, typeInto } from './keyboard.ts';
import { ADMIN_TOKEN, inHalves, useConsole } from './scene.ts';

const TIME = /^\d+ \w+,? \d\d:\d\d:\d\d$/;
const KEY = { name: 'Ada’s key', creditsMicro: 12_000_000 };

describe('the console without a mouse', () => {
  const scene = useConsole({ key: KEY });
  let page: Page;

  beforeEach(async () => {
    page = await scene.open();
  });

  /** Types the key, and goes to the view. */
  async function enter(view = ''): Promise<void> {
    await page.keyboard.type(scene.apiKey);
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { name: 'Try it' }).waitFor();
    await page.locator('#try-model[aria-busy=false]').waitFor();
    if (view === '') return;
    await pressOn(page, view, 'Enter');
    await page.getByRole('heading', { name: view, exact: true }).waitFor();
  }

  it('takes the key, and forgets it', async () => {
    // It comes with the configuration.
    await page.getByRole('link', { name: 'Enter with the admin token' }).waitFor();
    await expectAllReachable(page);
    await tabTo(page, 'API key');
    await enter();
    await pressOn(page, 'Forget key', 'Space');
    await page.getByRole('heading', { name: 'Enter your API key' }).waitFor();
    expect(await nameOfFocus(page)).to.equal('API key');
  });

  it('begins with a link past the navigation, and tells of a change of view', async () => {
    await enter();
    await pressOn(page, 'Skip to the content', 'Enter');
    expect(await page.evaluate(() => document.activeElement?.id)).to.equal('main');
    await pressOn(page, 'Usage', 'Enter');
    await page.getByRole('heading', { name: 'Usage' }).waitFor();
    expect(await nameOfFocus(page)).to.equal('Usage');
    expect(await page.title()).to.equal('Usage – Responses gateway');
    expect(await page.getByRole('link', { name: 'Usage' }).getAttribute('aria-current')).to.equal('page');
  });

  it('sends a request with every field of the form', async () => {
    await enter();
    await pressOn(page, 'Tools and limits', 'Space');
    await expectAllReachable(page);
    await pressOn(page, 'Model', 'ArrowDown', 'ArrowUp');
    await typeInto(page, 'Input', 'Say hello');
    await typeInto(page, 'Instructions (optional)', 'Be brief');
    await pressOn(page, 'Insert an example', 'Enter');
    await typeInto(page, 'Max output tokens', '50');
    await pressOn(page, 'Reasoning effort', 'ArrowDown');
    await pressOn(page, 'Send over', 'ArrowDown', 'ArrowUp');
    await pressOn(page, 'Stream the answer', 'Space');
    await pressOn(page, 'Count input tokens', 'Enter');
    await page.getByText(/^About \d+ input tokens/).waitFor();
    expect(await nameOfFocus(page)).to.equal('Count input tokens');
    await pressOn(page, 'Send', 'Enter');
    await page.getByText('Completed in').waitFor();
    expect(await nameOfFocus(page)).to.equal('Send');
    expect(scene.backend.requests.at(-1)?.body).to.deep.include({
      model: 'm',
      max_tokens: 50,
      reasoning_effort: 'none',
    });
    await pressOn(page, 'Continue from the last answer', 'Space');
    await expectAllReachable(page);
    await pressOn(page, 'Compact', 'Enter');
    await page.getByText(/^Compacted: about/).waitFor();
  });

  it('stops and cancels a request, and gets the focus back', async () => {
    await enter();
    const end = Promise.withResolvers<void>();
    for (const [button, status] of [
      ['Stop', 'Stopped after'],
      ['Cancel', 'Cancelled after'],
    ] as const) {
      scene.backend.reply(inHalves(end.promise));
      await typeInto(page, 'Input', 'Say hello');
      await page.keyboard.press('ControlOrMeta+Enter');
      await page.getByRole('region', { name: 'Answer' }).getByText('Half').waitFor();
      await pressOn(page, button, 'Space');
      await page.getByText(status).waitFor();
      expect(await nameOfFocus(page)).to.equal('Send');
    }
    end.resolve();
  });

  it('reads an answer, its events and the code', async () => {
    await enter();
    await typeInto(page, 'Input', 'Say hello');
    await page.keyboard.press('ControlOrMeta+Enter');
    await page.getByText('Completed in').waitFor();
    await expectAllReachable(page);
    await pressOn(page, 'Reasoning', 'Enter');
    await page.getByText('They greet.', { exact: true }).waitFor();
    await pressOn(page, /response\.completed$/, 'Enter');
    await page.locator('#try-events').getByText('"type": "response.completed"').waitFor();
    await pressOn(page, 'curl', 'ArrowRight', 'End', 'Home', 'ArrowLeft');
    const selected = (await page.getByRole('tab', { selected: true }).textContent()) ?? '';
    expect(await nameOfFocus(page)).to.equal(selected);
    // The panel has the name of its tab.
    await page.keyboard.press('Tab');
    expect(await nameOfFocus(page)).to.equal(selected);
    await pressOn(page, /^req_/, 'Enter');
    await page.getByRole('dialog').getByText('succeeded', { exact: true }).waitFor();
    await expectAllReachable(page);
  });

  it('finds, opens and closes a record, and comes back to where it was', async () => {
    for (let made = 0; made < 26; made++) await scene.create({ model: 'm', input: 'Hi' });
    await enter('Requests');
    await page.getByRole('row').nth(25).waitFor();
    await expectAllReachable(page);
    await tabTo(page, TIME);
    const opened = await nameOfFocus(page);
    await page.keyboard.press('Enter');
    const dialog = page.getByRole('dialog');
    await dialog.getByText('succeeded', { exact: true }).waitFor();
    const id = (await dialog.getByText(/^req_/).textContent()) ?? '';
    await expectAllReachable(page);
    await pressOn(page, 'As JSON', 'Space');
    await dialog.getByText('"object": "request"').waitFor();
    await page.keyboard.press('Escape');
    await dialog.waitFor({ state: 'hidden' });
    expect(await nameOfFocus(page)).to.equal(opened);
    await typeInto(page, 'Find by id', id);
    await page.keyboard.press('Enter');
    await dialog.getByText('succeeded', { exact: true }).waitFor();
    await pressOn(page, 'Close', 'Enter');
    await dialog.waitFor({ state: 'hidden' });
    expect(await nameOfFocus(page)).to.equal('Find by id');
    await pressOn(page, 'Older', 'Enter');
    await page.getByText('Older requests').waitFor();
    expect(await nameOfFocus(page)).to.equal('Newest');
    await page.keyboard.press('Enter');
    await page.getByText('Live').waitFor();
    expect(await nameOfFocus(page)).to.equal('Older');
    await pressOn(page, 'Status', 'ArrowDown');
    await page.getByText('No requests match these filters.').waitFor();
    await pressOn(page, 'Status', 'ArrowUp');
    await page.getByRole('row').nth(25).waitFor();
    await typeInto(page, 'Model', 'other');
    await page.getByText('No requests match these filters.').waitFor();
  });

  it('cancels a request, and stays in the dialog', async () => {
    const end = Promise.withResolvers<void>();
    scene.backend.reply(inHalves(end.promise));
    const reply = scene.create({ model: 'm', input: 'Hi', stream: true });
    await enter('Requests');
    await page.locator('#requests-rows').getByText('processing', { exact: true }).waitFor();
    await pressOn(page, TIME, 'Enter');
    await pressOn(page, 'Cancel this request', 'Space');
    await page.getByRole('dialog').getByText('cancelled', { exact: true }).waitFor();
    expect(await nameOfFocus(page)).to.equal('Close');
    await page.locator('#requests-rows').getByText('cancelled', { exact: true }).waitFor();
    await page.keyboard.press('Enter');
    await page.getByRole('dialog').waitFor({ state: 'hidden' });
    expect(await nameOfFocus(page)).to.match(TIME);
    end.resolve();
    await reply;
  });

  it('looks at the usage', async () => {
    await scene.create({ model: 'm', input: 'Hi' });
    await enter('Usage');
    await page.locator('canvas').first().waitFor();
    await pressOn(page, 'Prices USD per million tokens', 'Enter');
    await pressOn(page, /^As a table/, 'Space');
    await expectAllReachable(page);
    await pressOn(page, 'Time', 'ArrowUp');
    await page.waitForFunction(() => document.querySelectorAll('#usage-charts tbody')[0]?.children.length === 24);
    expect(await nameOfFocus(page)).to.equal('Time');
    await pressOn(page, 'Model', 'ArrowDown');
    expect(await page.locator('#usage-model').inputValue()).to.equal('m');
  });
});

describe('the operator’s console without a mouse', () => {
  const scene = useConsole({ key: KEY });
  let page: Page;

  beforeEach(async () => {
    const { groupId } = await scene.managed.store.createGroup(newGroupDraft({ name: 'Research' }));
    await scene.managed.issue({ name: 'Bob', groupId });
  });

  /** Types the token, and goes to the view. */
  async function enter(view: string): Promise<void> {
    page = await scene.open();
    await page.goto(`${scene.gateway.url}/console/operator/`);
    await page.getByRole('button', { name: 'Continue' }).waitFor();
    await page.keyboard.type(ADMIN_TOKEN);
    await page.keyboard.press('Enter');
    const live = page.locator('#view-status', { hasText: 'Live' });
    await page.getByRole('heading', { name: 'Requests' }).waitFor();
    await live.waitFor();
    await pressOn(page, view, 'Enter');
    // The first view may be the one that is wanted, but is shown anew.
    await page.locator('#view-title:focus', { hasText: view }).waitFor();
    await live.waitFor();
    expect(await nameOfFocus(page)).to.equal(view);
  }

  const dialog = () => page.getByRole('dialog');

  it('takes the token, and forgets it', async () => {
    page = await scene.open();
    await page.goto(`${scene.gateway.url}/console/operator/`);
    await page.getByRole('button', { name: 'Continue' }).waitFor();
    await expectAllReachable(page);
    await enter('Limits');
    await pressOn(page, 'Forget token', 'Space');
    await page.getByRole('heading', { name: 'Enter the admin token' }).waitFor();
    expect(await nameOfFocus(page)).to.equal('Admin token');
  });

  it('finds a request, and opens its record', async () => {
    const { id } = JSON.parse(await scene.create({ model: 'm', input: 'Hi' })) as { id: string };
    await enter('Requests');
    await page.getByRole('link', { name: 'Ada’s key' }).waitFor();
    await expectAllReachable(page);
    await typeInto(page, 'Model', 'other');
    await page.keyboard.press('Enter');
    await page.getByText('No requests match these filters.').waitFor();
    await typeInto(page, 'Model', 'm');
    await pressOn(page, 'Status', 'ArrowDown', 'ArrowDown');
    await page.waitForURL(/status=succeeded/);
    await page.getByRole('link', { name: 'Ada’s key' }).waitFor();
    for (const field of ['Error code', 'Key, by name or id', 'Group, by name or id', 'From (UTC)', 'Until (UTC)']) {
      await tabTo(page, field);
    }
    await pressOn(page, TIME, 'Enter');
    await page.getByRole('heading', { name: 'Request', exact: true }).waitFor();
    await page.getByText(id, { exact: true }).waitFor();
    await page.getByRole('link', { name: 'Ada’s key' }).waitFor();
    await expectAllReachable(page);
    await pressOn(page, 'As JSON', 'Space');
    await pressOn(page, 'All requests', 'Enter');
    await page.getByRole('heading', { name: 'Requests' }).waitFor();
    await page.getByLabel('Find by id').waitFor();
    await typeInto(page, 'Find by id', id);
    await pressOn(page, 'Open', 'Space');
    await page.getByText(id, { exact: true }).waitFor();
  });

  it('cancels a request, and keeps the focus on the page', async () => {
    const end = Promise.withResolvers<void>();
    scene.backend.reply(inHalves(end.promise));
    const reply = scene.create({ model: 'm', input: 'Hi', stream: true });
    await enter('Requests');
    await page.getByText('processing', { exact: true }).last().waitFor();
    await pressOn(page, TIME, 'Enter');
    await page.getByRole('button', { name: 'Cancel this request' }).waitFor();
    await pressOn(page, 'Cancel this request', 'Enter');
    await page.getByText('cancelled', { exact: true }).waitFor();
    expect(await nameOfFocus(page)).to.equal('All requests');
    end.resolve();
    await reply;
  });

  it('makes a key, and comes back to the button', async () => {
    await enter('Keys');
    await page.getByRole('link', { name: 'Ada’s key' }).waitFor();
    await expectAllReachable(page);
    await pressOn(page, 'Create a key', 'Enter');
    expect(await nameOfFocus(page)).to.equal('Name');
    await expectAllReachable(page);
    await page.keyboard.press('Escape');
    await dialog().waitFor({ state: 'detached' });
    expect(await nameOfFocus(page)).to.equal('Create a key');
    await page.keyboard.press('Enter');
    await page.keyboard.type('Dora');
    await typeInto(page, 'Group', 'Research');
    await page.keyboard.press('Enter');
    await page.getByText('It is shown only once').waitFor();
    expect(await nameOfFocus(page)).to.equal('Copy');
    await expectAllReachable(page);
    // Not by accident.
    await page.keyboard.press('Escape');
    await pressOn(page, 'I have saved it', 'Space');
    await dialog().waitFor({ state: 'detached' });
    expect(await nameOfFocus(page)).to.equal('Create a key');
    await typeInto(page, 'Find', 'dora');
    await page.waitForFunction(() => document.querySelectorAll('tbody tr').length === 1);
    await pressOn(page, 'Dora', 'Enter');
    await page.getByRole('heading', { name: 'Key Dora' }).waitFor();
    expect(await nameOfFocus(page)).to.equal('Key Dora');
  });

  it('changes, funds, disables, renews and deletes a key', async () => {
    await enter('Keys');
    await pressOn(page, 'Ada’s key', 'Enter');
    await page.getByRole('heading', { name: 'Ledger' }).waitFor();
    await expectAllReachable(page);
    await pressOn(page, 'Change', 'Enter');
    await typeInto(page, 'Requests per minute', '7');
    await page.keyboard.press('Enter');
    await page.getByText('7 requests/min').waitFor();
    expect(await nameOfFocus(page)).to.equal('Change');
    await pressOn(page, 'Credits', 'Space');
    await typeInto(page, 'Amount', '8');
    await page.keyboard.press('Enter');
    await page.getByText('20.00', { exact: true }).waitFor();
    expect(await nameOfFocus(page)).to.equal('Credits');
    await pressOn(page, 'Rotate secret', 'Enter');
    await pressOn(page, 'Former secret', 'ArrowUp');
    await pressOn(page, 'Rotate secret', 'Space');
    await page.getByText('It is shown only once').waitFor();
    await pressOn(page, 'I have saved it', 'Enter');
    await dialog().waitFor({ state: 'detached' });
    expect(await nameOfFocus(page)).to.equal('Rotate secret');
    await pressOn(page, 'Disable', 'Enter');
    await expectAllReachable(page);
    await pressOn(page, 'Disable', 'Enter');
    await page.getByText('disabled', { exact: true }).waitFor();
    expect(await nameOfFocus(page)).to.equal('Enable');
    await pressOn(page, 'Delete', 'Enter');
    await page.keyboard.type('Ada’s key');
    await pressOn(page, 'Delete for good', 'Enter');
    await page.getByRole('heading', { name: 'Keys' }).waitFor();
    expect(await nameOfFocus(page)).to.equal('Keys');
  });

  it('makes a group, and goes to its keys', async () => {
    await enter('Groups');
    await page.getByRole('link', { name: 'Research' }).waitFor();
    await expectAllReachable(page);
    await pressOn(page, 'Create a group', 'Space');
    await page.keyboard.type('Sales');
    await page.keyboard.press('Enter');
    await page.getByRole('link', { name: 'Sales' }).waitFor();
    expect(await nameOfFocus(page)).to.equal('Create a group');
    await pressOn(page, 'Research', 'Enter');
    await page.getByRole('heading', { name: 'Group Research' }).waitFor();
    await page.getByRole('heading', { name: 'Ledger' }).waitFor();
    await expectAllReachable(page);
    await tabTo(page, 'Delete');
    await pressOn(page, 'Keys', 'Enter');
    await page.getByRole('link', { name: 'Bob' }).waitFor();
  });

  it('sums up the usage', async () => {
    await scene.create({ model: 'm', input: 'Hi' });
    await enter('Usage');
    await page.getByRole('link', { name: 'm', exact: true }).waitFor();
    await expectAllReachable(page);
    await pressOn(page, 'Time', 'ArrowUp');
    await page.waitForURL(/span=day/);
    await pressOn(page, 'By', 'ArrowDown', 'ArrowDown');
    await page.getByRole('link', { name: 'Ada’s key' }).waitFor();
    expect(await nameOfFocus(page)).to.equal('By');
  });

  for (const { view, shown } of [
    { view: 'Backends', shown: 'up' },
    { view: 'Prices', shown: 'priced*' },
    { view: 'Limits', shown: 'MAX_CONCURRENT_REQUESTS' },
  ]) {
    it(`reaches all of “${view}”`, async () => {
      await enter(view);
      await page.getByText(shown, { exact: true }).waitFor();
      await expectAllReachable(page);
      if (view !== 'Prices') return;
      await typeInto(page, 'Find a model', 'priced');
      await page.waitForFunction(() => document.querySelectorAll('tbody tr').length === 1);
    });
  }
});

import { expect } from 'chai';
import { TEST_KEY } from '../support/gateway.ts';
import { answerAsBackend, sendJson, useConsole } from './scene.ts';

describe('the key of the console', () => {
  const scene = useConsole();

  it('is asked for first, and the focus is where it is to be typed', async () => {
    const page = await scene.open();
    await page.keyboard.type(TEST_KEY);
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { name: 'Try it' }).waitFor();
    await page.getByText('…-key').waitFor();
  });

  it('is refused with the reason of the backend, and nothing else is shown', async () => {
    scene.tolerate(/status of 401/);
    scene.backend.always((stage) => sendJson(stage, { error: { message: 'No such key here.' } }, 401));
    const page = await scene.open();
    await page.getByLabel('API key', { exact: true }).fill('wrong');
    await page.getByRole('button', { name: 'Continue' }).click();
    await page.getByText('No such key here.').waitFor();
    expect(await page.getByRole('navigation').count()).to.equal(0);
    expect(await page.getByLabel('API key', { exact: true }).getAttribute('aria-invalid')).to.equal('true');
  });

  for (const [text, problem] of [
    ['', 'Enter a key.'],
    ['a key', 'A key has no spaces'],
  ] as const) {
    it(`is not even sent when it is ${JSON.stringify(text)}`, async () => {
      const page = await scene.open();
      await page.getByLabel('API key', { exact: true }).fill(text);
      await page.getByRole('button', { name: 'Continue' }).click();
      await page.getByText(problem).waitFor();
      expect(scene.backend.requests).to.have.length(0);
    });
  }

  it('is enough where the backend has no list of models', async () => {
    scene.tolerate(/status of 404/);
    scene.backend.always((stage) =>
      stage.request.path.endsWith('/models') ? sendJson(stage, { error: {} }, 404) : answerAsBackend(stage),
    );
    const page = await scene.open();
    await scene.enter(page);
    await page.getByText('There is no list of models').waitFor();
    await page.getByRole('combobox', { name: 'Model' }).selectOption('Another model …');
    await page.getByLabel('Name of the model').fill('hidden-model');
    await page.getByLabel('Input').fill('Hello');
    await page.getByRole('button', { name: 'Send' }).click();
    await page.getByText('Completed in').waitFor();
    expect(scene.backend.requests.at(-1)?.body).to.include({ model: 'hidden-model' });
  });

  it('is kept for the tab alone, over a reload', async () => {
    const page = await scene.open();
    await scene.enter(page);
    await page.reload();
    await page.getByRole('heading', { name: 'Try it' }).waitFor();
    const kept = await page.evaluate(() => [Object.values(sessionStorage), localStorage.length, document.cookie]);
    expect(kept).to.deep.equal([[TEST_KEY], 0, '']);
    const other = await page.context().newPage();
    await other.goto(page.url());
    await other.getByRole('heading', { name: 'Enter your API key' }).waitFor();
  });

  it('is forgotten when asked to, with all that was shown', async () => {
    const page = await scene.open();
    await scene.enter(page);
    await page.getByLabel('Input').fill('my secret plan');
    await page.getByRole('button', { name: 'Forget key' }).click();
    await page.getByRole('heading', { name: 'Enter your API key' }).waitFor();
    expect(await page.evaluate(() => sessionStorage.length)).to.equal(0);
    expect(await page.locator('#try-input').inputValue()).to.equal('');
  });

  it('is asked for again when it no longer holds, and what was typed is still there', async () => {
    scene.tolerate(/status of 401/);
    const page = await scene.open();
    await scene.enter(page);
    await page.getByLabel('Input').fill('a long question');
    scene.backend.reply((stage) => sendJson(stage, { error: { message: 'The key has expired.' } }, 401));
    await page.getByRole('button', { name: 'Send' }).click();
    await page.getByRole('alert').getByText('The key has expired.').waitFor();
    await scene.enter(page);
    expect(await page.getByLabel('Input').inputValue()).to.equal('a long question');
    await page.getByRole('button', { name: 'Send' }).click();
    await page.getByText('Completed in').waitFor();
  });

  it('stays when a late reply refuses the one before', async () => {
    scene.tolerate(/status of 401/);
    const page = await scene.open();
    await page.getByLabel('API key', { exact: true }).fill('former-key');
    await page.getByRole('button', { name: 'Continue' }).click();
    await page.locator('#try-model[aria-busy=false]').waitFor();
    const refusal = { status: 401, json: { error: { message: 'The key has expired.', code: 'invalid_api_key' } } };
    const held = Promise.withResolvers<void>();
    await page.route('**/api/v1/responses', async (route) => {
      await held.promise;
      await route.fulfill(refusal);
    });
    await page.getByLabel('Input').fill('Hello');
    await page.getByRole('button', { name: 'Send' }).click();
    await page.route('**/api/v1/requests*', (route) => route.fulfill(refusal));
    await page.getByRole('link', { name: 'Requests' }).click();
    await page.getByRole('alert').getByText('The key has expired.').waitFor();
    await page.unroute('**/api/v1/requests*');
    await scene.enterKey(page);
    await page.getByText('No requests yet.').waitFor();
    held.resolve();
    await page.locator('#try-status', { hasText: 'The key has expired.' }).waitFor({ state: 'attached' });
    await page.getByRole('heading', { name: 'Requests' }).waitFor();
    expect(await page.evaluate(() => Object.values(sessionStorage))).to.deep.equal([TEST_KEY]);
  });
});

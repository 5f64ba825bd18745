import { expect } from 'chai';
import type { Page } from 'playwright-core';
import { newGroupDraft, newKeyDraft } from '../../support/keys.ts';
import { until } from '../../support/time.ts';
import { expectGoodLooks } from '../looks.ts';
import { ADMIN_TOKEN, useConsole } from '../scene.ts';

const MANY = 10_000;

describe('the keys and groups of the operator', () => {
  const scene = useConsole({ key: { name: 'Ada’s key', creditsMicro: 12_000_000 } });

  async function submit(page: Page, name: string): Promise<void> {
    await page.getByRole('dialog').getByRole('button', { name, exact: true }).click();
  }

  async function createKey(page: Page, fields: Readonly<Record<string, string>>): Promise<string> {
    await page.getByRole('button', { name: 'Create a key' }).click();
    await page.getByRole('dialog').locator('summary').click();
    for (const [label, value] of Object.entries(fields)) await page.getByRole('dialog').getByLabel(label).fill(value);
    await submit(page, 'Create');
    await page.getByText('It is shown only once').waitFor();
    return page.locator('.secret').innerText();
  }

  const openAda = async (): Promise<Page> => {
    const page = await scene.openOperator('keys');
    await page.getByRole('link', { name: 'Ada’s key' }).click();
    await page.getByRole('heading', { name: 'Key Ada’s key' }).waitFor();
    return page;
  };
  const statusWith = async (secret: string) => {
    const headers = { authorization: `Bearer ${secret}` };
    return (await scene.gateway.create({ model: 'm', input: 'Hi' }, { headers })).status;
  };

  it('send the admin token to the admin API, and nowhere else', async () => {
    const page = await scene.open();
    const told = new Set<string>();
    page.on('request', async (request) => {
      // The page may be closed by now.
      const headers = await request.allHeaders().catch(() => ({}));
      if (JSON.stringify(headers).includes(ADMIN_TOKEN)) told.add(new URL(request.url()).pathname.split('/')[1] ?? '');
    });
    await page.goto(`${scene.gateway.url}/console/operator/#/keys`);
    await page.getByLabel('Admin token', { exact: true }).fill(ADMIN_TOKEN);
    await page.getByRole('button', { name: 'Continue' }).click();
    await page.getByRole('link', { name: 'Ada’s key' }).click();
    await page.getByRole('heading', { name: 'Ledger' }).waitFor();
    await until(() => told.size > 0);
    expect([...told]).to.deep.equal(['admin']);
    const kept = await page.evaluate(() => [Object.values(sessionStorage), localStorage.length, document.cookie]);
    expect(kept).to.deep.equal([[ADMIN_TOKEN], 0, '']);
    await page.getByRole('button', { name: 'Forget token' }).click();
    await page.getByRole('heading', { name: 'Enter the admin token' }).waitFor();
    expect(await page.evaluate(() => sessionStorage.length)).to.equal(0);
  });

  it('refuse a wrong token, and an API key', async () => {
    scene.tolerate(/status of 401/);
    const page = await scene.open();
    await page.getByRole('link', { name: 'Enter with the admin token' }).click();
    for (const wrong of ['wrong', scene.apiKey]) {
      await page.getByLabel('Admin token', { exact: true }).fill(wrong);
      await page.getByRole('button', { name: 'Continue' }).click();
      // While a token is checked, the button says so, and the reason is that of the one before.
      await page.getByRole('button', { name: 'Continue' }).waitFor();
      await page.getByText('(401 invalid_api_key)').waitFor();
      expect(await page.getByRole('navigation').count()).to.equal(0);
    }
  });

  it('make a key whose secret is shown once, copied, and holds', async () => {
    await scene.managed.store.createGroup(newGroupDraft({ name: 'Research' }));
    const page = await scene.openOperator('keys', { permissions: ['clipboard-read', 'clipboard-write'] });
    const secret = await createKey(page, {
      Name: 'Bob',
      Group: 'Research',
      'Starting credits': '10',
      Models: 'm\npriced*',
      'Requests per minute': '5',
    });
    await page.getByRole('button', { name: 'Copy' }).click();
    await page.getByRole('button', { name: 'Copied' }).waitFor();
    expect(await page.evaluate(() => navigator.clipboard.readText())).to.equal(secret);
    await page.keyboard.press('Escape');
    await page.getByRole('button', { name: 'I have saved it' }).click();
    await page.locator('.secret').waitFor({ state: 'detached' });
    const row = page.getByRole('row', { name: 'Bob' });
    await row.waitFor();
    expect(await row.innerText()).to.match(/Research.*10\.00.*5 requests\/min/s);
    expect(await page.content()).not.to.include(secret);
    expect(await statusWith(secret)).to.equal(200);
  });

  it('say what is wrong with a field, and keep what was typed', async () => {
    scene.tolerate(/status of (400|409|404)/);
    const page = await scene.openOperator('keys');
    await page.getByRole('button', { name: 'Create a key' }).click();
    const dialog = page.getByRole('dialog');
    await submit(page, 'Create');
    await dialog.getByText('name is missing.').waitFor();
    await dialog.getByLabel('Name').fill('Carl');
    await dialog.locator('summary').click();
    await dialog.getByLabel('Tokens per minute').fill('many');
    await submit(page, 'Create');
    await dialog.getByText(/limits\.tokens_per_minute must be/).waitFor();
    expect(await dialog.getByLabel('Tokens per minute').getAttribute('aria-invalid')).to.equal('true');
    await dialog.getByLabel('Tokens per minute').fill('1000');
    await dialog.getByLabel('Group').fill('nobody');
    await submit(page, 'Create');
    await dialog.getByText('There is no group "nobody".').waitFor();
    expect(await dialog.getByLabel('Name').inputValue()).to.equal('Carl');
    await page.keyboard.press('Escape');
    await dialog.waitFor({ state: 'detached' });
  });

  it('change limits without touching the others, and grant credits that the ledger shows', async () => {
    const page = await openAda();
    await page.getByRole('button', { name: 'Change' }).click();
    await page.getByRole('dialog').getByLabel('Spending per day').fill('3.5');
    const [request] = await Promise.all([
      page.waitForRequest((request) => request.method() === 'PATCH'),
      submit(page, 'Save'),
    ]);
    expect(request.postDataJSON()).to.deep.equal({ limits: { spend_per_day: '3.5' } });
    await page.getByText('3.50 a day').waitFor();
    await page.getByRole('button', { name: 'Credits' }).click();
    await page.getByRole('dialog').getByLabel('Amount').fill('8');
    await page.getByRole('dialog').getByLabel('Note').fill('invoice 17');
    await submit(page, 'Add to the ledger');
    await page.getByText('20.00', { exact: true }).waitFor();
    await page.getByRole('row', { name: 'invoice 17' }).getByText('8.00').waitFor();
  });

  it('show one entry of a request that has ended, and all of them on demand', async () => {
    await scene.create({ model: 'm', input: 'Hi' });
    const page = await openAda();
    const kinds = () => page.locator('tbody tr td:nth-child(2)').allInnerTexts();
    await page.getByRole('row', { name: 'settle' }).waitFor();
    expect(await kinds()).to.deep.equal(['settle', 'grant']);
    await page.getByLabel('Reservations').selectOption('all');
    await page.getByRole('row', { name: 'reserve' }).waitFor();
    expect(await kinds()).to.deep.equal(['settle', 'release', 'reserve', 'grant']);
    await page.reload();
    await page.getByRole('row', { name: 'reserve' }).waitFor();
    await page.getByLabel('Reservations').selectOption('unreleased');
    await page.getByRole('row', { name: 'reserve' }).waitFor({ state: 'detached' });
  });

  it('ask before credits limit what was not limited by any', async () => {
    await scene.managed.issue({ name: 'Bob' });
    const page = await scene.openOperator('keys');
    await page.getByRole('link', { name: 'Bob' }).click();
    await page.getByText('not prepaid').waitFor();
    await page.getByRole('button', { name: 'Credits' }).click();
    await page.getByText('it is refused when they are used up').waitFor();
    await submit(page, 'Cancel');
    await page.getByText('not prepaid').waitFor();
    await page.getByRole('button', { name: 'Credits' }).click();
    await submit(page, 'Make it prepaid');
    await page.getByRole('dialog').getByLabel('Amount').fill('1');
    await submit(page, 'Add to the ledger');
    await page.getByRole('row', { name: 'grant' }).getByText('1.00').waitFor();
  });

  it('close a dialog when the page shows something else', async () => {
    const page = await scene.openOperator('groups');
    await page.getByRole('link', { name: 'Keys', exact: true }).click();
    await page.getByRole('button', { name: 'Create a key' }).click();
    await page.goBack();
    await page.getByRole('button', { name: 'Create a group' }).waitFor();
    expect(await page.getByRole('dialog').count()).to.equal(0);
  });

  it('give a new secret, disable and enable', async () => {
    const page = await openAda();
    await page.getByRole('button', { name: 'Rotate secret' }).click();
    await page.getByLabel('Former secret').selectOption('stops working now');
    await submit(page, 'Rotate secret');
    const secret = await page.locator('.secret').innerText();
    await page.getByRole('button', { name: 'I have saved it' }).click();
    expect([await statusWith(scene.apiKey), await statusWith(secret)]).to.deep.equal([401, 200]);
    await page.getByRole('button', { name: 'Disable' }).click();
    await submit(page, 'Disable');
    await page.getByText('disabled', { exact: true }).waitFor();
    expect(await statusWith(secret)).to.equal(401);
    await page.getByRole('button', { name: 'Enable' }).click();
    await submit(page, 'Enable');
    await page.getByText('active', { exact: true }).waitFor();
    expect(await statusWith(secret)).to.equal(200);
  });

  it('delete a key only for whoever types its name, and say what goes', async () => {
    const page = await openAda();
    await page.getByRole('button', { name: 'Delete' }).click();
    await page.getByText('its credits (12.00) and its ledger are deleted permanently').waitFor();
    await submit(page, 'Delete for good');
    await page.getByText('The name does not match.').waitFor();
    await page.getByRole('dialog').getByLabel('Name').fill('Ada’s key');
    await submit(page, 'Delete for good');
    await page.getByText('No keys yet. Create the first one.').waitFor();
    expect(await statusWith(scene.apiKey)).to.equal(401);
  });

  it('make a group, move a key into it, and delete it once it is empty', async () => {
    scene.tolerate(/status of 400/);
    const page = await scene.openOperator('groups');
    await page.getByRole('button', { name: 'Create a group' }).click();
    await page.getByRole('dialog').getByLabel('Name').fill('Research');
    await page.getByRole('dialog').locator('summary').click();
    await page.getByRole('dialog').getByLabel('Spending per month').fill('500');
    await submit(page, 'Create');
    await page.getByRole('row', { name: 'Research' }).getByText('500.00 a month').waitFor();
    await page.getByRole('link', { name: 'Keys', exact: true }).click();
    await page.getByRole('link', { name: 'Ada’s key' }).click();
    await page.getByRole('button', { name: 'Change' }).click();
    await page.getByRole('dialog').getByLabel('Group').fill('Research');
    await submit(page, 'Save');
    await page.getByRole('link', { name: 'Research' }).click();
    await page.getByRole('heading', { name: 'Group Research' }).waitFor();
    await page.getByRole('button', { name: 'Delete' }).click();
    await page.getByRole('dialog').getByLabel('Name').fill('Research');
    await submit(page, 'Delete for good');
    await page.getByRole('dialog').getByText('move them or delete them first').waitFor();
    await page.keyboard.press('Escape');
    await page.locator('#view').getByRole('link', { name: 'Keys', exact: true }).click();
    await page.getByRole('row', { name: 'Ada’s key' }).waitFor();
  });

  it('find one of 10,000 keys, page by page and by name, at an address of its own', async () => {
    for (let made = 0; made < MANY; made += 500) {
      const drafts = Array.from({ length: 500 }, (_, at) => newKeyDraft({ name: `key ${made + at}` }));
      await Promise.all(drafts.map((draft) => scene.managed.store.createKey(draft)));
    }
    const page = await scene.openOperator('keys');
    await page.getByRole('link', { name: 'key 9999', exact: true }).waitFor();
    expect(await page.getByRole('row').count()).to.equal(26);
    await page.getByRole('link', { name: 'Older' }).click();
    await page.getByRole('link', { name: 'key 9974', exact: true }).waitFor();
    await page.reload();
    await page.getByRole('link', { name: 'key 9974', exact: true }).waitFor();
    await page.goBack();
    await page.getByRole('link', { name: 'key 9999', exact: true }).waitFor();
    await page.getByLabel('Find').pressSequentially('ADA');
    await page.getByRole('link', { name: 'Ada’s key' }).waitFor();
    await page.waitForFunction(() => document.querySelectorAll('tbody tr').length === 1);
    await page.reload();
    await page.getByRole('link', { name: 'Ada’s key' }).waitFor();
    expect(await page.getByLabel('Find').inputValue()).to.equal('ADA');
    await page.getByLabel('Find').fill('nobody at all');
    await page.getByText('No keys match these filters.').waitFor();
  });

  it('look well on each screen, by day and by night', async () => {
    const { store } = scene.managed;
    const limits = { requestsPerMinute: 60, tokensPerMinute: 100_000, spendPerDayMicro: 5_000_000 };
    for (const name of ['Research', 'A group with a name that is quite long for a table of a narrow page']) {
      const { groupId } = await store.createGroup(
        newGroupDraft({
          name,
          creditsMicro: 5e9,
          limits: { ...limits, spendPerWeekMicro: null, spendPerMonthMicro: 1e9 },
          createdAtMs: scene.nowMs(),
        }),
      );
      for (const who of ['one', 'two']) {
        await scene.managed.issue({ name: `${name}, ${who}`, groupId, limits, createdAtMs: scene.nowMs() });
      }
    }
    await scene.create({ model: 'm', input: 'Hi' });
    const page = await scene.openOperator('keys');
    await page.getByRole('link', { name: 'Ada’s key' }).waitFor();
    await expectGoodLooks(page, 'operator-keys');
    await page.getByRole('link', { name: 'Ada’s key' }).click();
    await page.getByRole('row', { name: 'settle' }).waitFor();
    await expectGoodLooks(page, 'operator-key');
    await page.getByRole('button', { name: 'Change' }).click();
    await expectGoodLooks(page, 'operator-change');
    await page.keyboard.press('Escape');
    await page.getByRole('button', { name: 'Rotate secret' }).click();
    await submit(page, 'Rotate secret');
    await page.getByRole('button', { name: 'Copy' }).waitFor();
    await expectGoodLooks(page, 'operator-secret');
    await page.getByRole('button', { name: 'I have saved it' }).click();
    await page.getByRole('link', { name: 'Groups', exact: true }).click();
    await page.getByRole('link', { name: 'Research' }).waitFor();
    await expectGoodLooks(page, 'operator-groups');
  });
});

/** What an operator does about “my team is refused”, with what the team has sent along. */

import { expect } from 'chai';
import type { ErrorReply } from '../../../src/contract/types.ts';
import { formatAmount } from '../../../src/core/money/decimal.ts';
import { newGroupDraft } from '../../support/keys.ts';
import { useConsole } from '../scene.ts';

const REQUEST = { model: 'm', input: 'Hi', max_output_tokens: 7 };

describe('the complaint of a team over its budget', () => {
  const scene = useConsole({ key: { name: 'Ada’s key' } });

  /** A team with a key, and what its requests come to. */
  async function makeTeam(draft: Parameters<typeof newGroupDraft>[0]) {
    const { groupId } = await scene.managed.store.createGroup(newGroupDraft({ name: 'team-07', ...draft }));
    const { secret } = await scene.managed.issue({ name: 'team-07-app', groupId });
    return {
      ask: () => scene.gateway.create(REQUEST, { headers: { authorization: `Bearer ${secret}` } }),
      balanceMicro: async () => (await scene.managed.store.findGroup(groupId))?.balanceMicro ?? 0,
    };
  }

  async function complain(reply: Response) {
    expect(reply.status).to.equal(402);
    const { error } = (await reply.json()) as ErrorReply;
    return { id: reply.headers.get('x-request-id') ?? '', message: error.message };
  }

  it('is answered with credits, found by the id of the request', async () => {
    scene.tolerate(/status of 404/);
    // The first request fits, and costs more than what is left then.
    const { ask, balanceMicro } = await makeTeam({ creditsMicro: 200 });
    expect((await ask()).status).to.equal(200);
    const owedMicro = await balanceMicro();
    expect(owedMicro).to.be.below(0);
    const { id, message } = await complain(await ask());
    expect(message).to.include('the group of the API key');

    const page = await scene.openOperator('requests');
    await page.getByLabel('Find by id').fill(id);
    await page.keyboard.press('Enter');
    await page.getByText('A request that is refused before it runs').waitFor();
    await page.locator('#view-content').getByRole('link', { name: 'group', exact: true }).click();
    await page.getByRole('row', { name: 'team-07' }).getByText(formatAmount(owedMicro)).waitFor();
    await page.getByRole('link', { name: 'team-07' }).click();
    await page.getByRole('row', { name: 'settle' }).waitFor();
    await page.getByRole('button', { name: 'Credits' }).click();
    await page.getByRole('dialog').getByLabel('Amount').fill('5');
    await page.getByRole('dialog').getByLabel('Note').fill(`complaint about ${id}`);
    await page.getByRole('button', { name: 'Add to the ledger' }).click();
    await page
      .getByRole('row', { name: `complaint about ${id}` })
      .getByText('5.00')
      .waitFor();
    const answered = await ask();
    expect(answered.status).to.equal(200);

    await page.locator('.links').getByRole('link', { name: 'Requests' }).click();
    await page.getByRole('heading', { name: 'Requests', exact: true }).waitFor();
    await page.waitForFunction(() => document.querySelectorAll('tbody tr').length === 2);
    await page.locator('tbody a').first().click();
    await page.getByText(answered.headers.get('x-request-id') ?? 'none', { exact: true }).waitFor();
    await page.getByRole('link', { name: 'team-07', exact: true }).waitFor();
  });

  it('is answered with a higher limit, where the page of the group shows that it is reached', async () => {
    const limits = {
      requestsPerMinute: null,
      tokensPerMinute: null,
      spendPerDayMicro: 4900,
      spendPerWeekMicro: null,
      spendPerMonthMicro: null,
    };
    const { ask } = await makeTeam({ limits });
    expect((await ask()).status).to.equal(200);
    const { message } = await complain(await ask());
    expect(message).to.include('which the group of the API key may spend per day');

    const page = await scene.openOperator('groups?search=team-07');
    await page.getByRole('link', { name: 'team-07' }).click();
    await page.getByText(/^0\.00485 of 0\.0049, resets /).waitFor();
    await page.getByRole('button', { name: 'Change' }).click();
    await page.getByRole('dialog').getByLabel('Spending per day').fill('1');
    await page.getByRole('button', { name: 'Save' }).click();
    await page.getByText(/^0\.00485 of 1\.00, resets /).waitFor();
    expect((await ask()).status).to.equal(200);
  });
});

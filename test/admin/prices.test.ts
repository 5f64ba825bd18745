import { expect } from 'chai';
import { openManagedGateway } from '../support/managed.ts';
import { openGateway } from '../support/gateway.ts';
import { compileSchema } from '../support/schemas.ts';

const ADMIN_TOKEN = 'the-admin-token-of-this-test';
const isList = compileSchema('admin.json#/$defs/AdminPriceList', { closed: true });

async function readPrices(gateway: { readonly url: string; readonly close: () => Promise<void> }): Promise<unknown> {
  const reply = await fetch(`${gateway.url}/admin/v1/prices`, { headers: { authorization: `Bearer ${ADMIN_TOKEN}` } });
  const prices = (await reply.json()) as object;
  await gateway.close();
  expect(isList(prices), JSON.stringify(isList.errors)).to.equal(true);
  return prices;
}

describe('GET /admin/v1/prices', () => {
  it('tells the prices in force', async () => {
    const price = { input: '2.00', cached_input: '1.00', cache_write: '2.00', output: '10.00' };
    expect(await readPrices(await openManagedGateway({ ADMIN_TOKEN }))).to.deep.equal({
      object: 'list',
      currency: 'USD',
      data: [
        { model: 'm', ...price },
        { model: 'priced*', ...price },
      ],
    });
  });

  it('is an empty list without a file of prices', async () => {
    expect(await readPrices(await openGateway({ ADMIN_TOKEN }))).to.deep.equal({
      object: 'list',
      currency: null,
      data: [],
    });
  });
});

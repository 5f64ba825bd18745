import { expect } from 'chai';
import type { UsageTotalList } from '../../src/contract/operator-types.ts';
import { answer } from '../records/chunks.ts';
import { startScriptedBackend, type ScriptedBackend } from '../support/backend.ts';
import { openManagedGateway, type ManagedGateway } from '../support/managed.ts';
import { newGroupDraft } from '../support/keys.ts';
import { compileSchema } from '../support/schemas.ts';
import { clockOfAWholeMinute } from '../support/time.ts';

const DAY_MS = 86_400_000;
const ADMIN_TOKEN = 'the-admin-token-of-this-test';

describe('GET /admin/v1/usage/totals', () => {
  const isList = compileSchema('admin.json#/$defs/UsageTotalList', { closed: true });
  let backend: ScriptedBackend;
  let gateway: ManagedGateway;
  let nowMs: () => number;

  beforeEach(async () => {
    backend = await startScriptedBackend();
    backend.always(answer());
    nowMs = clockOfAWholeMinute();
    gateway = await openManagedGateway({ UPSTREAM_BASE_URL: backend.baseUrl, ADMIN_TOKEN }, { nowMs });
  });

  afterEach(async () => {
    await gateway.close();
    await backend.close();
  });

  async function ask(query: string): Promise<{ readonly status: number; readonly body: unknown }> {
    const headers = { authorization: `Bearer ${ADMIN_TOKEN}` };
    const reply = await fetch(`${gateway.url}/admin/v1/usage/totals?${query}`, { headers });
    return { status: reply.status, body: await reply.json() };
  }

  it('sums up by key, group and model, of all or of one key or group', async () => {
    const { groupId } = await gateway.store.createGroup(newGroupDraft({ name: 'Research' }));
    const [ada, bob] = [await gateway.issue({ name: 'Ada', groupId }), await gateway.issue({ name: 'Bob' })];
    for (const [{ secret }, model] of [
      [ada, 'm'],
      [ada, 'priced-one'],
      [bob, 'm'],
    ] as const) {
      await gateway.create({ model, input: 'Hi' }, { headers: { authorization: `Bearer ${secret}` } });
    }
    const namesFor = async (query: string) => {
      const { body } = await ask(query);
      expect(isList(body), JSON.stringify(isList.errors)).to.equal(true);
      return (body as UsageTotalList).data.map(({ name, requests }) => [name, requests]);
    };
    expect(await namesFor('by=key')).to.deep.equal([
      [ada.key.keyId, 2],
      [bob.key.keyId, 1],
    ]);
    expect(await namesFor('by=group')).to.deep.equal([[groupId, 2]]);
    expect(await namesFor('')).to.deep.equal([
      ['m', 2],
      ['priced-one', 1],
    ]);
    expect(await namesFor('key=Bob')).to.deep.equal([['m', 1]]);
    expect(await namesFor('by=key&group=Research')).to.deep.equal([[ada.key.keyId, 2]]);
  });

  it('tells how it went over time, in all and by each of the first names', async () => {
    const { groupId } = await gateway.store.createGroup(newGroupDraft({ name: 'Research' }));
    const ada = await gateway.issue({ name: 'Ada', groupId });
    const models = [1, 2, 3, 4, 5, 6, 6].map((at) => `priced-${at}`);
    for (const model of models)
      await gateway.create({ model, input: 'Hi' }, { headers: { authorization: `Bearer ${ada.secret}` } });
    const start = Math.floor(nowMs() / DAY_MS) * (DAY_MS / 1000);
    const curvesFor = async (query: string) => {
      const { body } = await ask(query);
      expect(isList(body), JSON.stringify(isList.errors)).to.equal(true);
      return (body as UsageTotalList).curves.map(({ name, data }) => [
        name,
        data.map((point) => [point.start, point.requests, point.cost > 0]),
      ]);
    };
    const all = [null, [[start, 7, true]]];
    expect(await curvesFor('by=time')).to.deep.equal([all]);
    expect(await curvesFor('by=key')).to.deep.equal([all, [ada.key.keyId, all[1]]]);
    expect(await curvesFor('by=key&group=Research')).to.deep.equal([all, [ada.key.keyId, all[1]]]);
    expect(await curvesFor('by=group')).to.deep.equal([all, [groupId, all[1]]]);
    const names = [6, 1, 2, 3, 4].map((at) => `priced-${at}`);
    const ofModels = names.map((name) => [name, [[start, name === 'priced-6' ? 2 : 1, true]]]);
    for (const query of ['', 'key=Ada', 'group=Research'])
      expect(await curvesFor(query)).to.deep.equal([all, ...ofModels]);
  });

  it('names times in UTC, the latest first, and tells the sum of all', async () => {
    const { secret } = await gateway.issue();
    await gateway.create({ model: 'm', input: 'Hi' }, { headers: { authorization: `Bearer ${secret}` } });
    const { body } = await ask('by=time&per=month');
    expect(isList(body), JSON.stringify(isList.errors)).to.equal(true);
    const { data, total, has_more } = body as UsageTotalList;
    const month = new Date(nowMs()).toISOString().slice(0, 'yyyy-mm'.length);
    expect(data.map(({ name }) => name)).to.deep.equal([`${month}-01T00:00:00.000Z`]);
    expect([total, has_more]).to.deep.equal([{ ...data[0], name: '' }, false]);
  });

  for (const { query, param } of [
    { query: 'by=caller', param: 'by' },
    { query: 'by=group&key=Ada', param: 'key' },
    { query: 'key=Ada&group=Research', param: 'key' },
    { query: 'from=5&until=4', param: 'from' },
  ]) {
    it(`says what is wrong with ${query}`, async () => {
      const { status, body } = await ask(query);
      expect([status, (body as { error: { param: string } }).error.param]).to.deep.equal([400, param]);
    });
  }
});

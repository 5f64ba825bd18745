import { expect } from 'chai';
import type { Alert } from '../../src/contract/operator-types.ts';
import { callerOf } from '../records/caller.ts';
import { answer } from '../records/chunks.ts';
import { startScriptedBackend, type ScriptedBackend } from '../support/backend.ts';
import { readExposition, sumOf } from '../support/exposition.ts';
import { useHeldTime } from '../support/held-time.ts';
import { newGroupDraft, NO_LIMITS } from '../support/keys.ts';
import { openManagedGateway, type ManagedGateway } from '../support/managed.ts';
import { until } from '../support/time.ts';

const TOKEN = 'metrics-token-of-the-tests';
const LOOK_EVERY_MS = 15_000;

describe('the alerts of a gateway', () => {
  const pass = useHeldTime();
  let backend: ScriptedBackend;
  let receiver: ScriptedBackend;
  let gateway: ManagedGateway;

  beforeEach(async () => {
    [backend, receiver] = [await startScriptedBackend(), await startScriptedBackend()];
    backend.always(answer());
    receiver.always({ json: {} });
    gateway = await openManagedGateway({
      UPSTREAM_BASE_URL: backend.baseUrl,
      METRICS_TOKEN: TOKEN,
      ALERT_WEBHOOK_URL: `${receiver.baseUrl}/alerts`,
      ALERT_WEBHOOK_SECRET: `whsec_${'a'.repeat(32)}`,
    });
  });
  afterEach(async () => {
    await gateway.close();
    await Promise.all([backend.close(), receiver.close()]);
  });

  const sent = () => receiver.requests.map(({ body }) => body as Alert);

  async function metric(name: string, labels: Readonly<Record<string, string>>): Promise<number> {
    const reply = await fetch(`${gateway.url}/metrics`, { headers: { authorization: `Bearer ${TOKEN}` } });
    return sumOf(readExposition(await reply.text()), name, labels);
  }

  it('are of the group that has used its budget, whose next request is refused with the way out', async () => {
    const limits = { ...NO_LIMITS, spendPerDayMicro: 200 };
    const { groupId, name } = await gateway.store.createGroup(newGroupDraft({ limits }));
    const { secret } = await gateway.issue({ groupId });
    const caller = callerOf(gateway.url, secret);
    const spent = async () => (await gateway.store.findGroup(groupId))?.daySpentMicro ?? 0;
    while ((await spent()) < 160) {
      const before = await spent();
      await caller.create({ model: 'm', input: 'Hello', max_output_tokens: 1 });
      expect(await spent()).to.be.greaterThan(before);
    }
    await pass(LOOK_EVERY_MS);
    await until(() => sent().length === 1);
    expect(sent()[0]?.data).to.deep.include({
      account: { object: 'group', id: groupId, name, group: null },
      per: 'day',
    });
    // Its answer would be late if it came after the next look.
    await until(async () => (await metric('responses_gateway_alerts_total', { result: 'sent' })) === 1);

    const refused = await caller.create({ model: 'm', input: 'Hello', max_output_tokens: 1000 });
    expect(refused.status).to.equal(402);
    await pass(LOOK_EVERY_MS);
    await until(() => sent().length === 2);
    expect(sent()[1]?.data).to.include({ threshold: 100, reason: 'refused' });
    // The figures of a look are shown at its end, after its alerts are on their way.
    const used = { account: 'group', threshold: '100' };
    await until(async () => (await metric('responses_gateway_accounts_at_threshold', used)) === 1);
    expect(await metric('responses_gateway_group_funds_used_ratio', { group: name, of: 'day' })).to.be.at.least(0.8);
    expect(await metric('responses_gateway_group_requests_total', { group: name, outcome: 'rejected' })).to.equal(1);
  });
});

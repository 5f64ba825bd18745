import { expect } from 'chai';
import { createAlerts, type Alerts, type AlertsOptions } from '../../src/alerts/alerts.ts';
import type { Alert } from '../../src/contract/operator-types.ts';
import { DAY_MS } from '../../src/core/time.ts';
import { openStore } from '../../src/store/open.ts';
import type { KeyId } from '../../src/contract/ids.ts';
import type { Store } from '../../src/core/books/store.ts';
import { newGroupDraft, newHold, newKeyDraft, NO_LIMITS } from '../support/keys.ts';
import { newDraft, newOutcome } from '../support/records.ts';

const NOON_MS = Date.UTC(2026, 8, 21, 12);

describe('createAlerts', () => {
  let nowMs: number;
  let store: Store;
  let isFailing: boolean;
  let isFull: boolean;
  let fails: boolean;
  let sent: { readonly id: string; readonly alert: Alert }[];
  let logged: unknown[];
  let opened: Alerts[];

  beforeEach(async () => {
    [nowMs, isFailing, isFull, fails, sent, logged, opened] = [NOON_MS, false, false, false, [], [], []];
    store = await openStore({ databaseUrl: ':memory:', recordRetentionDays: 30, clock: () => nowMs });
  });
  afterEach(async () => {
    await Promise.all(opened.map((alerts) => alerts.close()));
    await store.close();
  });

  /** Another gateway on the same store. */
  function open(overrides: Partial<AlertsOptions> = {}): Alerts {
    const alerts = createAlerts({
      store: { ...store, isFailing: () => isFailing },
      storeKind: 'sqlite',
      isManaged: true,
      openWebhook: (count) => ({
        hasRoom: () => !isFull,
        send(id, alert) {
          sent.push({ id, alert });
          count(alert, 'sent');
        },
        close: () => Promise.resolve(),
      }),
      currency: () => 'USD',
      nowMs: () => nowMs,
      log: { warn: (fields) => logged.push(fields), error: (fields) => logged.push(fields) },
      everyMs: 0,
      ...overrides,
    });
    opened.push(alerts);
    return alerts;
  }

  async function spend(keyId: KeyId, costMicro: number): Promise<void> {
    const draft = newDraft({ createdAtMs: nowMs, hold: newHold(keyId, costMicro) });
    expect(await store.accept(draft)).to.include({ kind: 'accepted' });
    await store.finish(draft.requestId, newOutcome({ completedAtMs: nowMs, costMicro }));
  }

  const dataSent = () => sent.splice(0).map(({ alert }) => alert.data);
  const levelsSent = () => dataSent().map((data) => ('threshold' in data ? data.threshold : undefined));

  it('tells each threshold of a group once, by one of two gateways, and only the highest that is new', async () => {
    const limits = { ...NO_LIMITS, spendPerMonthMicro: 100_000_000 };
    const { groupId, name } = await store.createGroup(newGroupDraft({ limits }));
    const { keyId } = await store.createKey(newKeyDraft({ groupId }));
    const [one, other] = [open(), open()];
    const lookAll = () => Promise.all([one.look(), other.look()]);
    await spend(keyId, 79_000_000);
    await lookAll();
    expect(dataSent()).to.deep.equal([]);
    await spend(keyId, 2_000_000);
    await lookAll();
    await lookAll();
    expect(sent).to.have.length(1);
    expect(sent[0]?.alert).to.include({ type: 'spend.threshold', timestamp: '2026-09-21T12:00:00.000Z' });
    expect(dataSent()).to.deep.equal([
      {
        account: { object: 'group', id: groupId, name, group: null },
        threshold: 80,
        reason: 'reached',
        used_percent: 81,
        used: '81.00',
        limit: '100.00',
        currency: 'USD',
        per: 'month',
        opens_at: Date.UTC(2026, 9, 1) / 1000,
      },
    ]);
    await spend(keyId, 19_000_000);
    await lookAll();
    expect(levelsSent()).to.deep.equal([100]);
  });

  it('tells again in the next period, after a grant and of another limit', async () => {
    const limits = { ...NO_LIMITS, spendPerDayMicro: 100 };
    const { keyId } = await store.createKey(newKeyDraft({ limits }));
    const alerts = open();
    const levelsAfter = async (costMicro: number) => {
      await spend(keyId, costMicro);
      await alerts.look();
      return levelsSent();
    };
    expect(await levelsAfter(80)).to.deep.equal([80]);
    nowMs += DAY_MS;
    expect(await levelsAfter(80)).to.deep.equal([80]);
    await store.updateKey(keyId, { limits: { spendPerDayMicro: 200 } });
    expect(await levelsAfter(80)).to.deep.equal([80]);
    await store.updateKey(keyId, { limits: { spendPerDayMicro: null } });
    const grant = () => store.credit(keyId, { kind: 'grant', amountMicro: 100, note: '', createdAtMs: nowMs });
    await grant();
    expect(await levelsAfter(100)).to.deep.equal([100]);
    nowMs += 1;
    await grant();
    expect(await levelsAfter(95)).to.deep.equal([95]);
  });

  it('takes a request that what is left does not cover for all used, once a threshold is reached', async () => {
    const limits = { ...NO_LIMITS, spendPerDayMicro: 100, spendPerMonthMicro: 110 };
    const { keyId } = await store.createKey(newKeyDraft({ limits, creditsMicro: 1000 }));
    const alerts = open();
    alerts.noteRefusal(keyId, 'spend');
    await spend(keyId, 10);
    await alerts.look();
    expect(levelsSent()).to.deep.equal([]);
    await spend(keyId, 80);
    alerts.noteRefusal(keyId, 'spend');
    await alerts.look();
    const found = sent.map(({ alert: { data } }) => ('per' in data ? [data.per, data.threshold] : []));
    expect(found).to.deep.equal([
      ['day', 100],
      ['month', 80],
    ]);
    sent = [];
    await alerts.look();
    // It stays so until the day is over.
    expect(alerts.readings.reached).to.deep.include({ account: 'key', of: 'day', threshold: 100, count: 1 });
    expect(alerts.readings.reached).to.deep.include({ account: 'key', of: 'month', threshold: 95, count: 0 });
    expect(dataSent()).to.deep.equal([]);
  });

  it('names a key with its group, and the credits that it had after the latest grant', async () => {
    const group = await store.createGroup(newGroupDraft());
    const { keyId, name } = await store.createKey(
      newKeyDraft({ groupId: group.groupId, creditsMicro: 10_000_000, createdAtMs: nowMs }),
    );
    await spend(keyId, 8_500_000);
    await open().look();
    expect(sent[0]?.alert.type).to.equal('credits.threshold');
    expect(dataSent()).to.deep.equal([
      {
        account: { object: 'key', id: keyId, name, group: group.name },
        threshold: 80,
        reason: 'reached',
        used_percent: 85,
        used: '8.50',
        limit: '10.00',
        currency: 'USD',
        per: null,
        opens_at: null,
      },
    ]);
  });

  it('leaves what finds no room for the next look, here or elsewhere', async () => {
    const { keyId } = await store.createKey(newKeyDraft({ creditsMicro: 10 }));
    await spend(keyId, 10);
    const alerts = open();
    isFull = true;
    await alerts.look();
    expect(sent).to.have.length(0);
    isFull = false;
    await alerts.look();
    expect(levelsSent()).to.deep.equal([100]);
  });

  it('claims nothing that it has claimed before, however many accounts are at their limits', async () => {
    for (let at = 0; at < 3; at += 1) {
      const { keyId } = await store.createKey(newKeyDraft({ creditsMicro: 10 }));
      await spend(keyId, 9);
    }
    let claims = 0;
    const alerts = open({
      store: {
        ...store,
        claimAlert(claim) {
          claims += 1;
          return store.claimAlert(claim);
        },
      },
    });
    for (let looks = 0; looks < 3; looks += 1) await alerts.look();
    expect(claims).to.equal(3);
    expect(sent).to.have.length(3);
  });

  it('reads what groups have used and how many accounts are at a threshold, also without a webhook', async () => {
    const group = await store.createGroup(newGroupDraft({ creditsMicro: 10 }));
    const { keyId } = await store.createKey(newKeyDraft({ groupId: group.groupId, creditsMicro: 10 }));
    await spend(keyId, 9);
    await store.createGroup(newGroupDraft());
    const alerts = open({ openWebhook: null });
    await alerts.look();
    const { groups, reached, alerts: sentAlerts } = alerts.readings;
    expect(groups).to.deep.equal([{ group: group.name, of: 'credits', ratio: 0.9 }]);
    expect(reached.filter(({ count }) => count > 0)).to.deep.equal([
      { account: 'group', of: 'credits', threshold: 80, count: 1 },
      { account: 'key', of: 'credits', threshold: 80, count: 1 },
    ]);
    // Those of nobody are shown as 0.
    expect(reached).to.have.length(2 * 4 * 3);
    expect(sentAlerts).to.deep.equal([]);
  });

  it('tells of a backend that rests once an hour, whichever gateway sees it', async () => {
    const [one, other] = [open(), open()];
    const rest = { backend: 'gpu-a', restMs: 1000.5, reason: 'upstream_unreachable' };
    for (const alerts of [one, other, one]) await alerts.noteRest(rest);
    await one.noteRest({ ...rest, backend: 'gpu-b' });
    expect(dataSent()).to.deep.equal([
      { backend: 'gpu-a', reason: 'upstream_unreachable', rest_ms: 1001 },
      { backend: 'gpu-b', reason: 'upstream_unreachable', rest_ms: 1001 },
    ]);
    nowMs += 3_600_001;
    await other.noteRest(rest);
    await one.noteRest(rest);
    expect(sent).to.have.length(1);
  });

  it('tells of a store that fails once an hour, under one id by all gateways, since none can ask it', async () => {
    const broken: AlertsOptions['store'] = {
      ...store,
      isFailing: () => true,
      claimAlert: () => Promise.reject(new Error('the store is away')),
    };
    const gateways = [open({ store: broken }), open({ store: broken, isManaged: false })];
    for (const alerts of [...gateways, ...gateways]) await alerts.look();
    expect(sent).to.have.length(2);
    expect(new Set(sent.map(({ id }) => id)).size).to.equal(1);
    expect(sent[0]?.alert).to.deep.include({ type: 'store.failing', data: { store: 'sqlite' } });
    expect(gateways[0]?.readings.alerts).to.have.length(4 * 3);
    expect(gateways[0]?.readings.alerts).to.deep.include({ type: 'store.failing', result: 'sent', count: 1 });
  });

  it('goes on after a look that failed', async () => {
    fails = true;
    const { keyId } = await store.createKey(newKeyDraft({ creditsMicro: 10 }));
    await spend(keyId, 10);
    const alerts = open({
      store: {
        ...store,
        listSpending: (query) => (fails ? Promise.reject(new Error('no')) : store.listSpending(query)),
      },
    });
    await alerts.look();
    expect(logged).to.deep.equal([{ reason: 'no' }]);
    fails = false;
    await alerts.look();
    expect(levelsSent()).to.deep.equal([100]);
  });

  for (const { what, hold, letGo } of [
    { what: 'a look that failed', hold: () => (fails = true), letGo: () => (fails = false) },
    { what: 'one that found no room', hold: () => (isFull = true), letGo: () => (isFull = false) },
  ]) {
    it(`still knows of a refusal after ${what}`, async () => {
      const { keyId } = await store.createKey(newKeyDraft({ creditsMicro: 10 }));
      await spend(keyId, 9);
      const alerts = open({
        store: {
          ...store,
          listSpending: (query) => (fails ? Promise.reject(new Error('no')) : store.listSpending(query)),
        },
      });
      alerts.noteRefusal(keyId, 'credits');
      hold();
      await alerts.look();
      letGo();
      await alerts.look();
      expect(levelsSent()).to.deep.equal([100]);
    });
  }
});

import { expect } from 'chai';
import type { AdminGroup, AdminKey } from '../../src/contract/operator-types.ts';
import type { Store } from '../../src/core/books/store.ts';
import { run, type Printed } from '../support/cli.ts';
import { newHold } from '../support/keys.ts';
import { newDraft, newOutcome } from '../support/records.ts';
import { makeWorkshop, type Workshop } from '../support/sqlite.ts';

const NOW_MS = Date.UTC(2026, 10, 21, 12, 30);

describe('groups', () => {
  let shop: Workshop;
  let env: Readonly<Record<string, string>>;

  beforeEach(async () => {
    shop = makeWorkshop();
    env = { DATABASE_URL: `file:${shop.file}`, GATEWAY_SECRET: 'gateway-secret-canary', AUTH_MODE: 'managed' };
    await run('db migrate', { env });
  });
  afterEach(() => shop.clear());

  function cli(line: string): Promise<Printed> {
    return run(line, { env, nowMs: () => NOW_MS });
  }

  async function json<Value>(line: string): Promise<Value> {
    const { status, stdout, stderr } = await cli(`${line} --json`);
    expect(status, stderr).to.equal(0);
    return JSON.parse(stdout) as Value;
  }

  async function inStore(use: (store: Store) => Promise<void>): Promise<void> {
    const store = await shop.open({ clock: () => NOW_MS });
    try {
      await use(store);
    } finally {
      await store.close();
    }
  }

  it('are made, shown by name, changed, disabled and listed', async () => {
    const made = await json<AdminGroup>('groups create --name research --credits 10 --rpm 5 --spend-per-day 2');
    expect(made).to.deep.include({ name: 'research', keys: 0, balance: '10.00', status: 'active' });
    expect(made.limits).to.include({ requests_per_minute: 5, spend_per_day: '2.00' });
    expect(await json<AdminGroup>('groups show research')).to.deep.equal(made);
    const changed = await json<AdminGroup>('groups update research --rpm none --name lab --models m*');
    expect(changed).to.deep.equal({
      ...made,
      name: 'lab',
      models: ['m*'],
      limits: { ...made.limits, requests_per_minute: null },
    });
    expect(await json<AdminGroup>('groups disable lab')).to.include({ status: 'disabled' });
    expect(await json<AdminGroup>(`groups enable ${made.id}`)).to.include({ status: 'active' });
    const { stdout } = await cli('groups list');
    expect(stdout.split('\n')[1]?.trim().split(/ {2,}/)).to.deep.equal([
      'lab',
      '0',
      'active',
      '10.00',
      '0.00',
      '0.00',
      '0.00',
      '0.00',
    ]);
    expect((await cli('groups create --name lab')).stderr).to.equal('There is a group with this name already.\n');
    expect((await cli('groups show research')).stderr).to.equal('There is no group with this id or name.\n');
  });

  it('have all keys where they are the whole gateway', async () => {
    await json('keys create --name alice');
    const { stdout } = await run(['groups', 'create', '--name', 'whole gateway'], { env });
    expect(stdout).to.match(/^keys +all$/m);
    expect((await cli('groups list')).stdout).to.match(/^whole gateway +all +active /m);
  });

  it('have keys, which can be made in them, moved and listed', async () => {
    const { id } = await json<AdminGroup>('groups create --name research');
    const key = await json<AdminKey>('keys create --name alice --group research');
    expect(key.group).to.deep.equal({ id, name: 'research' });
    await json('keys create --name bob');
    const list = await json<{ readonly data: readonly AdminKey[] }>('keys list --group research');
    expect(list.data.map(({ name }) => name)).to.deep.equal(['alice']);
    expect((await json<AdminKey>(`keys update bob --group ${id}`)).group).to.deep.equal({ id, name: 'research' });
    expect((await json<AdminKey>('keys update alice --group none')).group).to.equal(null);
    expect((await cli('keys create --name carol --group nobody')).stderr).to.equal('There is no group "nobody".\n');
    expect((await json<AdminKey>('keys create --name dave --group none')).group).to.equal(null);
  });

  it('are deleted without keys, after it was said what goes', async () => {
    const { id } = await json<AdminGroup>('groups create --name research --credits 5');
    await json('keys create --name alice --group research');
    for (const line of ['groups delete research', 'groups delete research --yes']) {
      expect(await cli(line)).to.deep.include({
        status: 1,
        stderr: 'The group research has 1 key. Move or delete them first.\n',
      });
    }
    await json('keys update alice --group none');
    expect(await cli('groups delete research')).to.deep.include({
      status: 1,
      stderr: `This permanently deletes the group research (${id}) with its balance of 5.00 and its ledger. Add --yes to do it.\n`,
    });
    expect((await cli('groups delete research --yes')).stdout).to.equal(`${id} was deleted.\n`);
  });

  it('ask a person for the name before they go', async () => {
    await json('keys create --name alice');
    const asked: string[] = [];
    const answering = (answer: string) => ({
      env,
      nowMs: () => NOW_MS,
      ask: async (question: string) => {
        asked.push(question);
        return answer;
      },
    });
    expect(await run('keys delete alice', answering('y'))).to.deep.include({
      status: 1,
      stderr: 'Nothing was deleted.\n',
    });
    expect(asked[0]).to.match(/^This permanently deletes the key alice \(key_\w+\)\. Type "alice" to do it: $/);
    expect(await run('keys delete alice', answering('alice'))).to.include({ status: 0 });
  });

  it('get credits, with a ledger of their own', async () => {
    await json('groups create --name research');
    expect((await cli('credits grant 5 --group research --yes')).stdout).to.equal(
      'research is prepaid now. Its balance is 5.00.\n',
    );
    await cli('credits adjust -2 --group research --note less');
    const ledger = await json<{ readonly data: readonly { readonly amount: string }[] }>(
      'credits list --group research',
    );
    expect(ledger.data.map(({ amount }) => amount)).to.deep.equal(['-2.00', '5.00']);
    expect((await cli('db check')).status).to.equal(0);
  });

  it('have usage and requests of their own', async () => {
    const group = await json<AdminGroup>('groups create --name research');
    const alice = await json<AdminKey>('keys create --name alice --group research');
    const bob = await json<AdminKey>('keys create --name bob');
    await inStore(async (store) => {
      for (const { id } of [alice, bob]) {
        const draft = newDraft({ caller: [id], createdAtMs: NOW_MS, hold: newHold(id, 0) });
        await store.accept(draft);
        await store.finish(draft.requestId, newOutcome({ completedAtMs: NOW_MS, costMicro: 3 }));
      }
    });
    type Rows = { readonly data: readonly { readonly key: string; readonly group: string | null }[] };
    for (const which of ['research', group.id, '*']) {
      const { data } = await json<Rows>(`usage --group ${which}`);
      expect(data.map((row) => [row.key, row.group])).to.deep.equal([[alice.id, group.id]]);
    }
    expect((await cli('usage --group research')).stdout).to.match(/ GROUP .*\n.* research .* alice /);
    expect((await cli('usage --group research --key alice')).status).to.equal(2);
    const ofGroup = await json<Rows>('requests list --group research');
    expect(ofGroup.data.map((row) => [row.key, row.group])).to.deep.equal([[alice.id, group.id]]);
    const ofKey = await json<Rows>('requests list --key bob');
    expect(ofKey.data.map((row) => [row.key, row.group])).to.deep.equal([[bob.id, null]]);
    expect((await cli('requests list --group nobody')).stderr).to.equal('There is no group with this id or name.\n');
  });

  for (const command of ['keys', 'groups']) {
    it(`warn when ${command} have fewer tokens per minute than a request without a limit reserves`, async () => {
      expect((await cli(`${command} create --name few --tpm 4000`)).stderr).to.contain(
        'with --tpm 4000 it can never run',
      );
      expect((await cli(`${command} create --name enough --tpm 100000`)).stderr).not.to.contain('never runs');
    });
  }
});

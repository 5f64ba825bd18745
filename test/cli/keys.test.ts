import { writeFileSync } from 'node:fs';
import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { expect } from 'chai';
import { createIdentities } from '../../src/identity/identities.ts';
import type { AdminKey, IssuedKey } from '../../src/contract/operator-types.ts';
import { run, type Printed } from '../support/cli.ts';
import { newKeyDraft } from '../support/keys.ts';
import { makeWorkshop, type Workshop } from '../support/sqlite.ts';

const NOW_MS = Date.UTC(2026, 10, 21, 12, 30);
const GATEWAY_SECRET = 'gateway-secret-canary';
const DAY_S = 86_400;

describe('keys', () => {
  let shop: Workshop;
  let env: Readonly<Record<string, string>>;

  beforeEach(async () => {
    shop = makeWorkshop();
    env = { DATABASE_URL: `file:${shop.file}`, GATEWAY_SECRET, AUTH_MODE: 'managed' };
    await run('db migrate', { env });
  });
  afterEach(() => shop.clear());

  function cli(line: string | readonly string[], isTTY = false): Promise<Printed> {
    return run(line, { env, isTTY, nowMs: () => NOW_MS });
  }

  async function json<Value = AdminKey>(line: string): Promise<Value> {
    const { status, stdout, stderr } = await cli(`${line} --json`);
    expect(status, stderr).to.equal(0);
    return JSON.parse(stdout) as Value;
  }

  it('makes a key, and shows its secret once', async () => {
    const { status, stdout, stderr } = await cli('keys create --name alice --credits 1');
    const secret = /^secret +(rgk_[0-9A-Za-z]{40})$/m.exec(stdout)?.[1] ?? '';
    expect(status).to.equal(0);
    expect(stderr).to.equal('The secret is shown only once. The gateway keeps only a hash of it.\n');
    const hash = createIdentities(GATEWAY_SECRET, null).keySecret(secret);
    expect(stdout).not.to.contain(hash[0]);
    for (const line of [
      'keys list',
      'keys show alice',
      'keys list --json',
      'credits list alice',
      'usage',
      'db check',
    ]) {
      const later = await cli(line);
      expect(later.status, line).to.equal(0);
      expect(later.stdout + later.stderr, line)
        .not.to.contain(secret)
        .and.not.to.contain(hash[0]);
    }
    const store = await shop.open();
    const found = await store.findKeyByHash(hash);
    await store.close();
    expect(found).to.include({ name: 'alice', prefix: secret.slice(0, 10) });
  });

  it('makes a key as its options say', async () => {
    const options =
      '--rpm 60 --tpm 1000 --spend-per-day 1.5 --spend-per-week 9 --spend-per-month 30 --credits 10.00 --expires 30d';
    const { secret, id, ...key } = await json<IssuedKey>(`keys create --name ci --models gpt-4o*,demo ${options}`);
    expect(secret).to.match(/^rgk_/);
    expect(key).to.deep.equal({
      object: 'key',
      name: 'ci',
      group: null,
      prefix: secret.slice(0, 10),
      status: 'active',
      created_at: NOW_MS / 1000,
      expires_at: NOW_MS / 1000 + 30 * DAY_S,
      former_secret_until: null,
      last_used_at: null,
      gateway_secret: 'current',
      models: ['gpt-4o*', 'demo'],
      limits: {
        requests_per_minute: 60,
        tokens_per_minute: 1000,
        spend_per_day: '1.50',
        spend_per_week: '9.00',
        spend_per_month: '30.00',
      },
      balance: '10.00',
      held: '0.00',
      spent_today: '0.00',
      spent_this_week: '0.00',
      spent_this_month: '0.00',
      day_ends_at: Date.UTC(2026, 10, 22) / 1000,
      week_ends_at: Date.UTC(2026, 10, 23) / 1000,
      month_ends_at: Date.UTC(2026, 11, 1) / 1000,
    });
    expect(id).to.match(/^key_[0-9a-f]{32}$/);
  });

  it('lists keys without a thread for the database, which takes longer to start than to answer', async () => {
    const threads: unknown[] = [];
    const note = (message: unknown): void => void threads.push(message);
    subscribe('worker_threads', note);
    expect(await cli('keys list')).to.include({ status: 0 });
    unsubscribe('worker_threads', note);
    expect(threads).to.deep.equal([]);
  });

  it('takes a date for the end of a key', async () => {
    const { expires_at } = await json('keys create --name k --expires 2027-01-31');
    expect(expires_at).to.equal(Date.UTC(2027, 0, 31) / 1000);
    const later = await json('keys update k --expires 2027-01-31T12:00Z');
    expect(later.expires_at).to.equal(Date.UTC(2027, 0, 31, 12) / 1000);
  });

  it('says when the gateway would not look at the key', async () => {
    env = { ...env, AUTH_MODE: 'passthrough' };
    expect((await cli('keys create --name k')).stderr).to.match(/accepts these keys only with AUTH_MODE=managed/);
  });

  it('changes what is named alone, and takes limits away', async () => {
    await json('keys create --name k --rpm 60 --tpm 5 --models a,b --expires 1d --spend-per-day 1 --spend-per-month 2');
    expect(await json('keys update k --rpm none --spend-per-day none')).to.deep.include({
      models: ['a', 'b'],
      expires_at: NOW_MS / 1000 + DAY_S,
      limits: {
        requests_per_minute: null,
        tokens_per_minute: 5,
        spend_per_day: null,
        spend_per_week: null,
        spend_per_month: '2.00',
      },
    });
    expect(await json('keys update k --models any --expires never --name new')).to.deep.include({
      name: 'new',
      models: null,
      expires_at: null,
    });
    expect(await cli('keys update new')).to.deep.include({
      status: 1,
      stderr: 'Nothing is named that is to be changed.\n',
    });
  });

  it('finds a key by its id, its prefix or its name', async () => {
    const { id, prefix } = await json('keys create --name alice');
    for (const which of [id, prefix, 'alice']) expect(await json(`keys show ${which}`)).to.include({ id });
  });

  it('asks for the id where a name is not enough, and repeats nothing of what was typed', async () => {
    const { secret, prefix } = await json<IssuedKey>('keys create --name one');
    await json(`keys create --name ${prefix}`);
    expect(await cli(`keys disable ${prefix}`)).to.deep.include({
      status: 1,
      stderr: 'There are 2 such keys; name one by its id.\n',
    });
    expect(await cli(`keys disable ${secret}`)).to.deep.include({
      status: 1,
      stderr: 'There is no key with this id, prefix or name.\n',
    });
    expect((await cli('keys create --name one')).stderr).to.equal('There is a key with this name already.\n');
    expect((await cli(`keys delete key_${'0'.repeat(32)} --yes`)).stderr).to.equal('There is no key with this id.\n');
  });

  it('says what is left of each spend limit, and until when', async () => {
    await cli('keys create --name alice --spend-per-day 1.00 --spend-per-week 0.20');
    shop.tamper('UPDATE keys SET held_micro = 300000');
    const { stdout } = await cli('keys show alice');
    expect(stdout.match(/^spent .*/gm)?.map((line) => line.replace(/ {2,}/, ': '))).to.deep.equal([
      'spent today: 0.00, 0.70 is left until 2026-11-22 00:00:00 UTC',
      'spent this week: 0.00, 0.00 is left until 2026-11-23 00:00:00 UTC',
      'spent this month: 0.00 until 2026-12-01 00:00:00 UTC',
    ]);
  });

  it('says in which currency its amounts are', async () => {
    const path = `${shop.folder}/prices.json`;
    writeFileSync(path, '{"currency": "EUR", "models": {"m": {"input": "1", "output": "2"}}}');
    env = { ...env, PRICES_FILE: path };
    const { stdout } = await cli('keys create --name alice --credits 1 --spend-per-day 2');
    expect(stdout)
      .to.match(/^balance +1\.00 EUR$/m)
      .and.to.match(/^spend per day +2\.00 EUR$/m);
    expect((await cli('credits grant alice 2')).stdout).to.equal('The balance of alice is now 3.00 EUR.\n');
    for (const line of ['keys list', 'groups list', 'usage', 'requests list', 'credits list alice'])
      expect((await cli(line)).stderr, line).to.equal('Amounts are in EUR.\n');
    expect((await cli('keys list --json')).stderr).to.equal('');
  });

  it('lists those of a status, and the newest alone', async () => {
    for (const name of ['a', 'b', 'c']) await json(`keys create --name ${name}`);
    for (const name of ['a', 'c']) await json(`keys disable ${name}`);
    const names = async (line: string) => (await json<{ data: AdminKey[] }>(line)).data.map(({ name }) => name);
    expect(await names('keys list --status disabled')).to.deep.equal(['c', 'a']);
    expect(await names('keys list --status disabled --limit 1')).to.deep.equal(['c']);
    expect(await names('keys list --limit 2')).to.deep.equal(['c', 'b']);
    expect((await cli('keys list --limit 1')).stdout).to.match(/^NAME +GROUP .*\nc +/);
  });

  it('finds every key, also when there are more than fit on one page', async () => {
    const store = await shop.open();
    const { id } = await json('keys create --name first');
    for (let index = 0; index < 120; index += 1) await store.createKey(newKeyDraft());
    expect(await json('keys show first')).to.include({ id });
    expect((await json<{ data: unknown[] }>('keys list')).data).to.have.lengthOf(121);
  });

  it('disables, enables and deletes', async () => {
    const { id } = await json('keys create --name k');
    expect(await json('keys disable k')).to.include({ status: 'disabled' });
    expect((await cli('keys list', true)).stdout).to.contain('\u{1b}[31mdisabled');
    expect(await json('keys enable k')).to.include({ status: 'active' });
    expect(await cli('keys delete k')).to.deep.include({
      status: 1,
      stderr: `This permanently deletes the key k (${id}). Add --yes to do it.\n`,
    });
    expect((await cli('keys delete k --yes')).stdout).to.equal(`${id} was deleted.\n`);
    expect((await cli('keys list')).stdout).to.equal('None.\n');
  });

  it('gives a new secret, with a grace for the former one where it is asked for', async () => {
    const { secret: first } = await json<IssuedKey>('keys create --name k');
    const graceful = await json<IssuedKey>('keys rotate k --grace 24h');
    expect(graceful).to.include({ former_secret_until: NOW_MS / 1000 + DAY_S });
    const abrupt = await json<IssuedKey>('keys rotate k');
    expect(abrupt).to.include({ former_secret_until: null, id: graceful.id });
    expect(new Set([first, graceful.secret, abrupt.secret]).size).to.equal(3);
  });

  describe('credits', () => {
    beforeEach(() => json('keys create --name alice --credits 1'));

    it('are granted and corrected, and the ledger lists why', async () => {
      const note = ['--note', 'by invoice', '--reference', 'i-17'];
      const granted = await cli(['credits', 'grant', 'alice', '10.00', ...note]);
      expect(granted.stdout).to.equal('The balance of alice is now 11.00.\n');
      expect((await cli('credits adjust alice -2.5')).stdout).to.equal('The balance of alice is now 8.50.\n');
      const { stdout } = await cli('credits list alice');
      const rows = stdout
        .trimEnd()
        .split('\n')
        .map((line) => line.trim().split(/ {2,}/).slice(1));
      expect(rows).to.deep.equal([
        ['WHEN (UTC)', 'KIND', 'AMOUNT', 'REQUEST', 'REFERENCE', 'NOTE'],
        ['2026-11-21 12:30:00', 'adjust', '-2.50'],
        ['2026-11-21 12:30:00', 'grant', '10.00', 'i-17', 'by invoice'],
        ['2026-11-21 12:30:00', 'grant', '1.00'],
      ]);
    });

    it('are added once for a reference', async () => {
      expect(await cli('credits grant alice 5 --reference i-1')).to.include({ status: 0 });
      expect(await cli('credits grant alice 5 --reference i-1')).to.deep.include({
        status: 1,
        stderr: 'The ledger has an entry with this reference already; nothing was added.\n',
      });
      expect(await json('keys show alice')).to.include({ balance: '6.00' });
    });

    it('make a key prepaid only where somebody confirms it', async () => {
      await json('keys create --name bob');
      const why =
        'bob is not prepaid, so only its limits apply. This makes it prepaid: it stops working once 5 is spent.';
      expect(await cli('credits grant bob 5')).to.deep.include({ status: 1, stderr: `${why} Add --yes to do it.\n` });
      const answering = (answer: string) => ({
        env,
        nowMs: () => NOW_MS,
        ask: async (question: string) => {
          expect(question).to.equal(`${why} Go on? [y/N] `);
          return answer;
        },
      });
      expect(await run('credits grant bob 5', answering(''))).to.include({ stderr: 'Nothing was changed.\n' });
      expect(await json('keys show bob')).to.include({ balance: null });
      expect(await run('credits grant bob 5', answering('y'))).to.include({
        stdout: 'bob is prepaid now. Its balance is 5.00.\n',
      });
      expect((await cli('credits end bob')).stderr).to.match(/^This takes the balance of 5\.00 from bob.* Add --yes/);
      expect((await cli('credits end bob --yes')).stdout).to.equal('bob is not prepaid.\n');
      expect(await json('keys show bob')).to.include({ balance: null });
      expect(await cli('db check')).to.include({ status: 0 });
    });

    it('ask for the account that an amount alone is for', async () => {
      expect(await cli('credits grant 1.00')).to.deep.include({
        status: 2,
        stderr: 'error: name the key or the group that 1.00 is for\n',
      });
    });

    it('refuse an amount of nothing', async () => {
      const { status, stderr } = await cli('credits grant alice 0');
      expect(stderr).to.match(/^amount is not valid\. It must be a decimal number .* not zero/);
      expect(status).to.equal(1);
    });

    it('go on where a page of the ledger ended', async () => {
      await cli('credits grant alice 2');
      const { stdout } = await cli('credits list alice --limit 1');
      expect(stdout).to.match(/grant +2\.00\nMore: --before (\d+)\n$/);
      const before = /--before (\d+)/.exec(stdout)?.[1];
      expect((await cli(`credits list alice --before ${before}`)).stdout).to.match(/grant +1\.00\n$/);
    });

    it('are checked against their ledgers, key by key', async () => {
      await json('keys create --name sound --credits 2');
      expect((await cli('db check')).stdout).to.contain('2 keys\nThe database is intact, and every ledger adds up.');
      const { id } = await json('keys show alice');
      shop.tamper(`UPDATE ledger SET amount_micro = 900000 WHERE seq = 1`);
      const { status, stdout } = await cli('db check');
      expect(stdout).to.contain(`${id}: its balance is 1.00, but its ledger adds up to 0.90.`);
      expect(status).to.equal(1);
      shop.tamper(`UPDATE ledger SET amount_micro = 1000000 WHERE seq = 1; UPDATE keys SET held_micro = 5`);
      expect((await cli('db check')).stdout).to.contain(
        `${id}: it holds 0.000005, but its running requests hold 0.00.`,
      );
    });
  });
});

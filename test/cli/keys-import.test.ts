import { readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'chai';
import type { AdminKey, IssuedKey } from '../../src/contract/operator-types.ts';
import { createIdentities } from '../../src/identity/identities.ts';
import { run, type Printed } from '../support/cli.ts';
import { makeWorkshop, type Workshop } from '../support/sqlite.ts';

const GATEWAY_SECRET = 'gateway-secret-canary';
const NOW_MS = Date.UTC(2026, 10, 21);
const HEAD =
  'name,group,credits,models,requests_per_minute,tokens_per_minute,spend_per_day,spend_per_week,spend_per_month,expires_at';

describe('keys import', () => {
  let shop: Workshop;
  let env: Readonly<Record<string, string>>;
  let file: string;
  let out: string;

  beforeEach(async () => {
    shop = makeWorkshop();
    env = { DATABASE_URL: `file:${shop.file}`, GATEWAY_SECRET, AUTH_MODE: 'managed' };
    [file, out] = [join(shop.folder, 'teams.csv'), join(shop.folder, 'secrets.csv')];
    await cli('db migrate');
    await cli('groups create --name research');
  });
  afterEach(() => shop.clear());

  function cli(line: string): Promise<Printed> {
    return run(line, { env, nowMs: () => NOW_MS });
  }

  function importKeys(text: string, options = ''): Promise<Printed> {
    writeFileSync(file, text);
    return cli(`keys import ${file}${options}`);
  }

  async function listKeys(): Promise<readonly AdminKey[]> {
    return (JSON.parse((await cli('keys list --json')).stdout) as { readonly data: readonly AdminKey[] }).data;
  }

  it('makes a key for each line, with what its cells say', async () => {
    const { status, stderr } = await importKeys(
      `${HEAD}\nalice,research,10,"m1,m*",60,none,2.50,9,,30d\nbob,none,,any,,,,,100,2027-01-31T00:00:00Z\n`,
      ` --out ${out}`,
    );
    expect(status, stderr).to.equal(0);
    const [bob, alice] = await listKeys();
    expect(alice).to.deep.include({ name: 'alice', models: ['m1', 'm*'], balance: '10.00' });
    expect(alice?.group?.name).to.equal('research');
    expect(alice?.expires_at).to.equal(NOW_MS / 1000 + 30 * 86_400);
    expect(alice?.limits).to.deep.equal({
      requests_per_minute: 60,
      tokens_per_minute: null,
      spend_per_day: '2.50',
      spend_per_week: '9.00',
      spend_per_month: null,
    });
    expect(bob).to.deep.include({ name: 'bob', group: null, models: null, balance: null, expires_at: 1_801_353_600 });
    expect(bob?.limits.spend_per_month).to.equal('100.00');
  });

  it('writes the secrets into a file for its owner alone, and shows none', async () => {
    const { stdout, stderr } = await importKeys('name\nalice\nbob\n', ` --out ${out}`);
    expect(stdout).to.equal(`2 keys created. The secrets are in ${out}, which only you can read.\n`);
    expect(statSync(out).mode & 0o777).to.equal(0o600);
    const lines = readFileSync(out, 'utf8').trimEnd().split('\n');
    expect(lines[0]).to.equal('name,secret,id');
    const store = await shop.open();
    for (const line of lines.slice(1)) {
      const [name, secret = '', id] = line.split(',');
      const found = await store.findKeyByHash(createIdentities(GATEWAY_SECRET, null).keySecret(secret));
      expect(found).to.include({ name, keyId: id });
      expect(stdout + stderr).not.to.include(secret);
    }
    await store.close();
    expect(lines).to.have.lengthOf(3);
  });

  it('prints the secrets without a file', async () => {
    const { stdout, stderr } = await importKeys('name\nalice\n');
    expect(stdout).to.match(/^name,secret,id\nalice,rgk_\w{40},key_\w{32}\n$/);
    expect(stderr).to.equal('The secrets are shown only once. The gateway keeps only hashes of them.\n');
    const { data } = JSON.parse((await importKeys('name\nbob\n', ' --json')).stdout) as { data: readonly IssuedKey[] };
    expect(data.map(({ name, secret }) => [name, secret.length])).to.deep.equal([['bob', 44]]);
  });

  it('says every mistake with its line and column, and makes no key', async () => {
    await cli('keys create --name taken');
    const wrongCells = await importKeys(
      `${HEAD}\nalice,,1e3,,0,,,,,\n\n,,,,,,1.0000001,,,tomorrow\nbob,,\n`,
      ` --out ${out}`,
    );
    expect(wrongCells.stderr.split('\n')).to.deep.equal([
      `${file}, line 2, column credits: It must be an amount such as 10.00, with at most six decimals.`,
      `${file}, line 2, column requests_per_minute: It must be a whole number from 1 to 1000000000.`,
      `${file}, line 4, column name: It is empty.`,
      `${file}, line 4, column spend_per_day: It must be an amount such as 10.00, with at most six decimals.`,
      `${file}, line 4, column expires_at: It must be a duration such as 24h or 30d, or a UTC time such as 2027-01-31 or 2027-01-31T12:00Z.`,
      `${file}, line 5: There are 3 cells instead of 10.`,
      'No key was created.',
      '',
    ]);
    const wrongKeys = await importKeys(`name,group\ntaken,\nnew,nowhere\ntwice,\ntwice,\n${'x'.repeat(101)},\n`);
    expect(wrongKeys.stderr.split('\n')).to.deep.equal([
      `${file}, line 2, column name: Another key has this name.`,
      `${file}, line 3, column group: There is no group "nowhere".`,
      `${file}, line 5, column name: Another key has this name.`,
      `${file}, line 6, column name: name may have at most 100 characters.`,
      'No key was created.',
      '',
    ]);
    expect([wrongCells.status, wrongKeys.status]).to.deep.equal([1, 1]);
    expect((await listKeys()).map(({ name }) => name)).to.deep.equal(['taken']);
    expect(() => statSync(out)).to.throw('ENOENT');
  });

  it('only checks with --dry-run', async () => {
    const { status, stdout } = await importKeys('name\nalice\n', ' --dry-run');
    expect({ status, stdout }).to.deep.equal({
      status: 0,
      stdout: `${file}: 1 key could be created. Nothing was changed.\n`,
    });
    expect(await listKeys()).to.deep.equal([]);
  });

  it('warns of keys with which nothing runs', async () => {
    env = { ...env, AUTH_MODE: 'static', API_KEYS: 'k' };
    const { stderr } = await importKeys('name,tokens_per_minute\nalice,9000\nbob,50\ncarol,60\n', ' --dry-run');
    expect(stderr).to.match(
      /^The gateway accepts these keys only with AUTH_MODE=managed\..*\n.* with --tpm 50 it can never run\.\n$/,
    );
    expect((await importKeys('name\nalice\n', ' --dry-run')).stderr).not.to.include('--tpm');
  });

  it('makes no key where the file for the secrets is there already', async () => {
    writeFileSync(out, 'mine');
    const { status, stderr } = await importKeys('name\nalice\n', ` --out ${out}`);
    expect(stderr).to.equal(`${out} already exists and is never overwritten. No key was created.\n`);
    expect(status).to.equal(1);
    expect(readFileSync(out, 'utf8')).to.equal('mine');
    expect(await listKeys()).to.deep.equal([]);
  });

  it('leaves no file of secrets where the keys could not be made', async () => {
    shop.tamper(
      "CREATE TRIGGER refuse BEFORE INSERT ON keys WHEN NEW.name = 'bob' BEGIN SELECT RAISE(ABORT, 'x'); END",
    );
    const { status } = await importKeys('name\nalice\nbob\n', ` --out ${out}`);
    expect(status).to.equal(1);
    expect(() => statSync(out)).to.throw('ENOENT');
    expect(await listKeys()).to.deep.equal([]);
  });

  for (const { name, text, says } of [
    {
      name: 'an unknown column',
      text: 'name,rpm\na,1\n',
      says: /, line 1: There is no column "rpm"; use name, group, .*, with commas/,
    },
    { name: 'another separator', text: 'name;group\na;b\n', says: /There is no column "name;group"; use .* commas/ },
    { name: 'no name', text: 'group\nresearch\n', says: /, line 1: The column name is missing\./ },
    { name: 'a column twice', text: 'name,name\na,b\n', says: /, line 1: A column is named twice\./ },
    { name: 'nothing', text: 'name\n', says: /There are no keys. The first line names the columns/ },
    { name: 'an open quote', text: 'name\n"alice\n', says: /, line 2: A quote is not closed/ },
    {
      name: 'too many keys',
      text: `name\n${'x\n'.repeat(1001)}`,
      says: /There are 1001 keys; the limit is 1000 at a time\./,
    },
  ]) {
    it(`refuses a file with ${name}`, async () => {
      const { status, stderr } = await importKeys(text);
      expect(stderr).to.match(says);
      expect(status).to.equal(1);
    });
  }

  it('takes the CSV of keys list back, with the columns that make a key', async () => {
    await importKeys('name,group,models,spend_per_day,expires_at\nalice,research,"a,b",2.5,2027-01-31\n');
    const [head = '', line = ''] = (await cli('keys list --csv')).stdout.split('\n');
    const columns = head.split(',');
    expect(columns).to.include.members(HEAD.split(',').filter((name) => name !== 'credits'));
    expect(line).to.include('"a,b"').and.include('2027-01-31T00:00:00Z').and.include(',research,');
  });
});

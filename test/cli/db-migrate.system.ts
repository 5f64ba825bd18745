import { writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { expect } from 'chai';
import { createMark } from '../../src/identity/identities.ts';
import { upgradeDatabase } from '../../src/store/maintenance.ts';
import { run, type CliRun, type Printed } from '../support/cli.ts';
import { addManyRows } from '../support/many-rows.ts';
import { createTestDatabase, findPostgres, type TestDatabase } from '../support/postgres.ts';
import { makeWorkshop, type Workshop } from '../support/sqlite.ts';

const server = await findPostgres();
const SECRET = 'a secret that is long enough';
/** What a first start would leave beside the database. */
const SECRET_BESIDE = 's'.repeat(43);

if (server !== undefined) {
  describe('db migrate, from SQLite to PostgreSQL', () => {
    let shop: Workshop;
    let target: TestDatabase;
    /** With a password, which the server of a test does not ask for. */
    let url: string;
    let fromEnv: Readonly<Record<string, string>>;

    before(async () => {
      target = await createTestDatabase(server);
      const withPassword = new URL(target.url);
      withPassword.password = 'canary';
      url = withPassword.href;
    });
    after(() => target.drop());
    beforeEach(async () => {
      shop = makeWorkshop();
      fromEnv = { DATABASE_URL: `file:${shop.file}` };
      await run('db migrate', { env: fromEnv });
      addManyRows(shop.file, 10);
    });
    afterEach(async () => {
      await shop.clear();
      await target.run('DROP SCHEMA public CASCADE; CREATE SCHEMA public');
    });

    /** Whatever is said, it holds no password and no secret. */
    async function migrate(options: readonly string[], settings: CliRun = {}): Promise<Printed> {
      const printed = await run(['db', 'migrate', ...options], { env: fromEnv, ...settings });
      expect(printed.stdout + printed.stderr).not.to.match(/canary|s{43}/);
      return printed;
    }

    it('says what it has brought, that it was read back, and what to set', async () => {
      const { status, stdout, stderr } = await migrate(['--to', url]);
      expect(stdout).to.match(
        /^TABLE +ROWS\naccepted_callers +0\nalerts +0\ncharged_currency +0\ngroup_usage +0\ngroups +0\nkeys +1\nledger +10\nrequest_stats +0\nrequests +10\nsecret_mark +0\nusage +1\nusage_rollups +0\nusage_sums +0\n/,
      );
      expect(stdout).to.match(/^Every row was read back from postgres:\/\/\S+ and is as in \S+gateway\.db\.$/m);
      expect(stdout).to.match(/^Every ledger adds up; all balances together are -0\.000005\.\n$/m);
      expect(stderr).to.match(/^copied 22 of 22 rows \(100 %\).*\ncompared 22 of 22 rows \(100 %\).*$/m);
      expect(stderr).to.match(
        /^Now set DATABASE_URL to that database, and GATEWAY_SECRET to the one that the gateway had\.\n$/m,
      );
      expect(status).to.equal(0);
    });

    it('takes the target from DATABASE_URL, so that its password is in no list of processes', async () => {
      const env = { DATABASE_URL: url, GATEWAY_SECRET: SECRET };
      const { status, stdout } = await migrate(['--from', shop.file, '--json'], { env });
      const { to, tables, ...value } = JSON.parse(stdout) as Record<string, unknown>;
      expect(to).to.match(/^postgres:\/\/[^@]+$/);
      expect(tables).to.deep.include({ name: 'requests', rows: 10 });
      expect(value).to.deep.equal({
        object: 'database_transfer',
        file: shop.file,
        closed: 0,
        ledger: '-0.000005',
        balances: '-0.000005',
        gateway_secret: 'keep',
      });
      expect(status).to.equal(0);
    });

    it('says with --dry-run what it would do, and does nothing', async () => {
      const { status, stdout } = await migrate(['--to', url, '--dry-run']);
      expect(stdout).to.match(/^requests +10$/m);
      expect(stdout).to.match(
        /^From \S+ to postgres:\/\/\S+: these rows would be copied, and nothing is in the way\. Nothing was changed\.\n$/m,
      );
      const json = await migrate(['--to', url, '--dry-run', '--json']);
      expect(JSON.parse(json.stdout)).to.deep.include({ unfinished: 0 });
      expect(status).to.equal(0);
      expect(await target.run('SELECT 1 FROM pg_tables WHERE schemaname = current_schema()')).to.deep.equal([]);
    });

    it('brings nothing after Ctrl-C, and everything with the same command', async () => {
      const { status, stderr } = await migrate(['--to', url], { interruption: AbortSignal.abort() });
      expect(stderr).to.match(/^Interrupted\. Nothing was copied; run the same command again\.\n$/m);
      expect(status).to.equal(1);
      expect((await migrate(['--to', url])).status).to.equal(0);
      expect((await migrate(['--to', url])).stderr).to.match(/ is not empty: it has 1 rows in keys, 10 rows in ledger/);
    });

    it('shows its progress on one line of a terminal, which is gone at the end', async () => {
      const { stderr } = await migrate(['--to', url], { isTTY: true });
      const lines = stderr.split('\r\u{1b}[K');
      expect(lines[1]).to.equal('copied 0 of 22 rows (0 %)');
      expect(lines.at(-2)).to.match(/^compared 22 of 22 rows \(100 %\)/);
      expect(lines.at(-1)).to.match(/^Now set /);
    });

    it('ends with 1 and names the table when the target would not be what the source is', async () => {
      await upgradeDatabase({ kind: 'postgres', url });
      await target.run(`
        CREATE FUNCTION lose() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RETURN NULL; END $$;
        CREATE TRIGGER lose BEFORE INSERT ON usage FOR EACH ROW EXECUTE FUNCTION lose()`);
      const { status, stdout, stderr } = await migrate(['--to', url]);
      expect(stderr).to.match(/^usage: 0 rows, where the source has 1\.$/m);
      expect(stdout).to.equal('');
      expect(status).to.equal(1);
    });

    describe('the secret', () => {
      const toSecretFile = () => join(dirname(shop.file), 'gateway.secret');
      const forTarget = (secrets: object) => ({ env: { DATABASE_URL: url, ...secrets } });

      /** As a first start with this secret does. */
      const addMark = (secret: string) =>
        shop.tamper(`INSERT INTO secret_mark (id, mark) VALUES (1, '${createMark(secret, null)[0]}')`);

      beforeEach(() => writeFileSync(toSecretFile(), `${SECRET_BESIDE}\n`));

      it('that lies beside the source must be set from now on, and the command says how', async () => {
        const { stderr } = await migrate(['--to', url]);
        expect(stderr).to.include(`GATEWAY_SECRET to what is in ${toSecretFile()}, the same for all gateways: "$(cat `);
        await target.run('DROP SCHEMA public CASCADE; CREATE SCHEMA public');
        const { stdout } = await migrate(['--to', url, '--json']);
        expect(JSON.parse(stdout)).to.deep.include({ gateway_secret: { file: toSecretFile() } });
      });

      it('that is set for the source is kept, whatever lies beside it', async () => {
        const { stderr } = await migrate(['--to', url], { env: { ...fromEnv, GATEWAY_SECRET: SECRET } });
        expect(stderr).to.match(/and keep GATEWAY_SECRET as it is\.\n$/);
      });

      it('that is set for the target must be the one beside the source', async () => {
        const wrong = await migrate(['--from', shop.file], forTarget({ GATEWAY_SECRET: SECRET }));
        expect(wrong.stderr).to.match(/^GATEWAY_SECRET: is not the secret in \S+, by which the keys and records/);
        expect(wrong.status).to.equal(78);
        const changed = forTarget({ GATEWAY_SECRET: SECRET, GATEWAY_SECRET_PREVIOUS: SECRET_BESIDE });
        expect((await migrate(['--from', shop.file, '--dry-run'], changed)).status).to.equal(0);
        const right = forTarget({ GATEWAY_SECRET: SECRET_BESIDE });
        expect((await migrate(['--from', `file:${shop.file}`], right)).status).to.equal(0);
      });

      it('that is set must be the one which the database knows, wherever it is set', async () => {
        addMark(SECRET);
        for (const env of [fromEnv, forTarget({}).env]) {
          const wrong = await migrate(['--from', shop.file, '--to', url], {
            env: { ...env, GATEWAY_SECRET: SECRET_BESIDE },
          });
          expect(wrong.stderr).to.match(/^GATEWAY_SECRET: is not the secret by which the database /);
          expect(wrong.status).to.equal(78);
        }
        const { status } = await migrate(['--from', shop.file], forTarget({ GATEWAY_SECRET: SECRET }));
        expect(status).to.equal(0);
        expect(await run('keys list', forTarget({ GATEWAY_SECRET: SECRET_BESIDE }))).to.include({ status: 78 });
        expect(await run('keys list', forTarget({ GATEWAY_SECRET: SECRET }))).to.include({ status: 0 });
      });

      it('that lies beside the source is no advice where the database knows another one', async () => {
        addMark(SECRET);
        const { stderr } = await migrate(['--to', url]);
        expect(stderr).to.match(/GATEWAY_SECRET to the one that the gateway had\.\n$/);
      });

      it('that is damaged is told before anything is brought', async () => {
        writeFileSync(toSecretFile(), 'short');
        const { status, stderr } = await migrate(['--to', url]);
        expect(stderr).to.match(/^The secret \S+ is damaged/);
        expect(status).to.equal(1);
      });
    });

    for (const { options, env, told } of [
      {
        options: ['--from', 'postgres://a/b'],
        env: {},
        told: 'It goes from SQLite: --from, or DATABASE_URL, must name a file.',
      },
      {
        options: ['--from', 'x.db'],
        env: {},
        told: 'It goes to PostgreSQL: --to, or DATABASE_URL, must be postgres:// and a server.',
      },
      {
        options: ['--to', 'y.db'],
        env: {},
        told: 'It goes to PostgreSQL: --to, or DATABASE_URL, must be postgres:// and a server.',
      },
      {
        options: ['--to', 'postgres://a/b'],
        env: { DATABASE_URL: ':memory:' },
        told: 'It goes from SQLite: --from, or DATABASE_URL, must name a file.',
      },
    ]) {
      it(`refuses ${JSON.stringify({ options, ...env })}`, async () => {
        const { status, stderr } = await migrate(options, { env });
        expect(stderr).to.equal(`${told}\n`);
        expect(status).to.equal(1);
      });
    }
  });
}

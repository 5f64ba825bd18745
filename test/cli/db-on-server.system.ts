import { expect } from 'chai';
import { run } from '../support/cli.ts';
import { newHold, newKeyDraft } from '../support/keys.ts';
import { openStore } from '../../src/store/open.ts';
import { createTestDatabase, findPostgres, type TestDatabase } from '../support/postgres.ts';
import { newDraft } from '../support/records.ts';

const server = await findPostgres();

if (server !== undefined) {
  describe('db, on a server', () => {
    let database: TestDatabase;
    let env: Readonly<Record<string, string>>;

    beforeEach(async () => {
      database = await createTestDatabase(server);
      const url = new URL(database.url);
      url.password = 'canary';
      env = { DATABASE_URL: url.href, GATEWAY_SECRET: 'a secret that is long enough' };
    });
    afterEach(() => database.drop());

    it('migrate makes the tables, and says the second time that they are up to date, without the password', async () => {
      const [first, second] = [await run('db migrate', { env }), await run('db migrate', { env })];
      expect(first.stdout).to.match(/^postgres:\/\/\S+: ran 0001_requests, .*\. It is up to date\.\n$/);
      expect(second.stdout).to.match(/^postgres:\/\/\S+ is up to date \(\d{4}_\w+\)\.\n$/);
      expect(first.stdout + second.stdout).not.to.contain('canary');
    });

    it('check asks for an upgrade of a new database', async () => {
      const { status, stderr } = await run('db check', { env });
      expect(stderr).to.match(/is of an older version; db migrate brings it up to this one\.\n$/);
      expect(status).to.equal(1);
    });

    it('check counts, and finds ledgers and holds that do not add up', async () => {
      const store = await openStore({ databaseUrl: database.url, recordRetentionDays: 30 });
      const { keyId } = await store.createKey(newKeyDraft({ creditsMicro: 1000 }));
      await store.accept(newDraft({ hold: newHold(keyId, 30) }));
      const sound = await run('db check', { env });
      expect(sound.stdout).to.match(/1 record, 1 key\nThe database is intact, and every ledger adds up\.\n$/);
      await database.run('UPDATE keys SET balance_micro = balance_micro - 1, held_micro = held_micro + 2');
      const { status, stdout } = await run('db check', { env });
      expect(stdout).to.match(/its balance is 0\.000969, but its ledger adds up to 0\.00097\./);
      expect(stdout).to.match(/it holds 0\.000032, but its running requests hold 0\.00003\./);
      expect(status).to.equal(1);
      await store.close();
    });

    it('backup names the tool that makes one', async () => {
      const { status, stderr } = await run('db backup x.db', { env });
      expect(stderr).to.equal('To back up a database on a server, use pg_dump or what the server itself offers.\n');
      expect(status).to.equal(1);
    });
  });
}

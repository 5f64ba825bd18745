import { migrate } from '../../../src/store/postgres/migrate.ts';
import { MIGRATIONS } from '../../../src/store/postgres/migrations.ts';
import { openStore } from '../../../src/store/open.ts';
import { createTestDatabase, findPostgres } from '../../support/postgres.ts';
import { describeOldDatabases } from '../old-databases.ts';

const server = await findPostgres();

if (server !== undefined) {
  const releases = [
    { name: 'the first version that may run beside this one', last: '0003_ledger_references' },
    { name: '0.1', last: '0007_secret_mark' },
    { name: 'a version before groups', last: '0012_upstream' },
    { name: 'a version before alerts', last: '0014_group_lists' },
  ];
  describeOldDatabases('PostgreSQL', releases, async () => {
    const database = await createTestDatabase(server);
    return {
      place: { kind: 'postgres', url: database.url },
      async migrateTo(last) {
        const migrations = MIGRATIONS.slice(0, MIGRATIONS.findIndex(({ name }) => name === last) + 1);
        await migrate(database.url, { migrations });
      },
      run: (sql) => database.run(sql),
      open: () => openStore({ databaseUrl: database.url, recordRetentionDays: 30, clock: () => 10 }),
      drop: () => database.drop(),
    };
  });
}

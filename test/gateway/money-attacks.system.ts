import { createTestDatabase, findPostgres, type TestDatabase } from '../support/postgres.ts';
import { describeMoneyAttacks } from './money-attacks.ts';

const server = await findPostgres();

if (server !== undefined) {
  describe('PostgreSQL', () => {
    let database: TestDatabase;

    before(async () => {
      database = await createTestDatabase(server);
    });
    after(() => database.drop());

    describeMoneyAttacks('on a server', {
      makeDatabase: () => database.url,
      isShared: true,
      empty: () => database.empty(),
    });
  });
}

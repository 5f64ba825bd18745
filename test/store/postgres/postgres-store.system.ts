import { createTestDatabase, findPostgres, type TestDatabase } from '../../support/postgres.ts';
import { describeCharges } from '../charges-conformance.ts';
import { describeStore } from '../conformance.ts';
import { describeFunds } from '../funds-conformance.ts';
import { describeKeys } from '../keys-conformance.ts';
import { describeOperatorStore } from '../operator-conformance.ts';
import { describeRates } from '../rates-conformance.ts';
import { describeRecovery } from '../recovery-conformance.ts';
import { describeUsage } from '../usage-conformance.ts';

const server = await findPostgres();

if (server !== undefined) {
  describe('PostgreSQL', () => {
    let database: TestDatabase;

    before(async () => {
      database = await createTestDatabase(server);
    });
    after(() => database.drop());

    const shared = {
      makeDatabase: () => database.url,
      isShared: true,
      empty: () => database.empty(),
      passTime: () => database.age(),
      nextMinute: async () => {
        await database.run('UPDATE keys SET minute = minute - 1');
      },
    };
    describeStore('on a server', shared);
    describeKeys('on a server', shared);
    describeCharges('on a server', shared);
    describeUsage('on a server', shared);
    describeFunds('on a server', shared);
    describeRates('on a server', shared);
    describeRecovery('on a server', shared);

    describe('for the operator', () => {
      beforeEach(async () => {
        // The first store which is opened makes the tables.
        await database.empty().catch(() => undefined);
      });
      describeOperatorStore('on a server', () => database.url);
    });
  });
}

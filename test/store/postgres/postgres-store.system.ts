import { ALONE, createEngine } from '../../../src/store/postgres/engine.ts';
import { UTC } from '../../../src/core/time.ts';
import { createCalendar } from '../../../src/store/calendar.ts';
import { takeOwner } from '../../../src/store/postgres/owners.ts';
import { openPool } from '../../../src/store/postgres/pool.ts';
import { openPostgresStore } from '../../../src/store/postgres/postgres-store.ts';
import { createTestDatabase, findPostgres, type TestDatabase } from '../../support/postgres.ts';
import { describeCharges } from '../charges-conformance.ts';
import { describeAlerts } from '../alerts-conformance.ts';
import { describeGroups } from '../groups-conformance.ts';
import { describeStore } from '../conformance.ts';
import { describeFunds } from '../funds-conformance.ts';
import { describeKeys } from '../keys-conformance.ts';
import { describeOperatorStore } from '../operator-conformance.ts';
import { describeRates } from '../rates-conformance.ts';
import { describeRecovery } from '../recovery-conformance.ts';
import { describeUndo } from '../undo-conformance.ts';
import { describeRequestStats } from '../request-stats-conformance.ts';
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
    describeGroups('on a server', shared);
    describeAlerts('on a server', shared);
    describeUsage('on a server', shared);
    describeRequestStats('on a server', shared);
    describeFunds('on a server', shared);
    describeRates('on a server', shared);
    describeRecovery('on a server', shared);
    describeUndo('on a server', async () => {
      const { url } = database;
      const log = { info: () => undefined, warn: () => undefined };
      const other = await openPostgresStore({ url, poolSize: 3, clock: Date.now, log });
      await database.empty();
      const openSome = () => openPool({ url, size: 2, onLost: () => undefined });
      const [connections, forLists] = [openSome(), openSome()];
      // It is paused, so it shows no sign of life.
      const owner = await takeOwner(connections, () => undefined, 2 ** 31 - 1);
      const engine = createEngine({ connections, forLists }, owner, Date.now, createCalendar(UTC));
      return { engine, alone: ALONE, other, silence: () => database.age() };
    });

    describe('for the operator', () => {
      beforeEach(async () => {
        // The first store which is opened makes the tables.
        await database.empty().catch(() => undefined);
      });
      describeOperatorStore('on a server', () => database.url);
    });
  });
}

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { emptyDatabase } from '../../support/sqlite.ts';
import { startHost, type Host } from '../../support/through-host.ts';
import { describeCharges } from '../charges-conformance.ts';
import { describeAlerts } from '../alerts-conformance.ts';
import { describeGroups } from '../groups-conformance.ts';
import { describeStore, type EngineUnderTest } from '../conformance.ts';
import { describeFunds } from '../funds-conformance.ts';
import { describeKeys } from '../keys-conformance.ts';
import { describeRates } from '../rates-conformance.ts';
import { describeRecovery } from '../recovery-conformance.ts';
import { describeRequestStats } from '../request-stats-conformance.ts';
import { describeUsage } from '../usage-conformance.ts';

/** As a worker uses the database of the first process (`WORKERS`). */
describe('SQLite in another process', () => {
  let folder: string;
  let host: Host;

  before(() => {
    folder = mkdtempSync(join(tmpdir(), 'store-'));
    host = startHost();
  });
  after(async () => {
    await host.end();
    rmSync(folder, { recursive: true, force: true });
  });

  const throughHost: EngineUnderTest = {
    makeDatabase: () => `file:${folder}/gateway.db`,
    isShared: true,
    open: (options) => host.open(options),
    empty: () => emptyDatabase(`${folder}/gateway.db`),
  };
  describeStore('through another process', throughHost);
  describeKeys('through another process', throughHost);
  describeCharges('through another process', throughHost);
  describeGroups('through another process', throughHost);
  describeAlerts('through another process', throughHost);
  describeUsage('through another process', throughHost);
  describeRequestStats('through another process', throughHost);
  describeFunds('through another process', throughHost);
  describeRates('through another process', throughHost);
  describeRecovery('through another process', throughHost);
});

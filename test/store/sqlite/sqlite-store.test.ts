import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openSqliteStore } from '../../../src/store/sqlite/sqlite-store.ts';
import { emptyDatabase } from '../../support/sqlite.ts';
import { describeCharges } from '../charges-conformance.ts';
import { describeAlerts } from '../alerts-conformance.ts';
import { describeGroups } from '../groups-conformance.ts';
import { describeStore } from '../conformance.ts';
import { describeFunds } from '../funds-conformance.ts';
import { describeKeys } from '../keys-conformance.ts';
import { describeRates } from '../rates-conformance.ts';
import { describeUndo } from '../undo-conformance.ts';
import { describeRequestStats } from '../request-stats-conformance.ts';
import { describeUsage } from '../usage-conformance.ts';

const IN_MEMORY = { makeDatabase: () => ':memory:', isShared: false };
describeStore('in memory', IN_MEMORY);
describeKeys('in memory', IN_MEMORY);
describeCharges('in memory', IN_MEMORY);
describeGroups('in memory', IN_MEMORY);
describeAlerts('in memory', IN_MEMORY);
describeUsage('in memory', IN_MEMORY);
describeRequestStats('in memory', IN_MEMORY);
describeFunds('in memory', IN_MEMORY);
describeRates('in memory', IN_MEMORY);
describeUndo('in memory', async () => {
  const log = { info: () => undefined, warn: () => undefined };
  const other = await openSqliteStore({ file: undefined, clock: Date.now, log });
  const client = other.admit();
  return { engine: { run: client.run, close: async () => {} }, other, silence: () => client.leave() };
});

describe('SQLite', () => {
  let folder: string;

  before(() => {
    folder = mkdtempSync(join(tmpdir(), 'store-'));
  });
  after(() => rmSync(folder, { recursive: true, force: true }));

  const inFile = {
    makeDatabase: () => `file:${folder}/gateway.db`,
    isShared: true,
    empty: () => emptyDatabase(`${folder}/gateway.db`),
  };
  // through-host.system.ts runs the others in a file.
  describeStore('in a file', inFile);
  describeKeys('in a file', inFile);
  describeGroups('in a file', inFile);
  describeAlerts('in a file', inFile);
  describeRequestStats('in a file', inFile);
  describeRates('in a file', inFile);
});

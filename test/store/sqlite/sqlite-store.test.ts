import Sqlite from 'better-sqlite3';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describeStore } from '../conformance.ts';

describeStore('in memory', { makeDatabase: () => ':memory:', isShared: false });

describe('SQLite', () => {
  let folder: string;

  before(() => {
    folder = mkdtempSync(join(tmpdir(), 'store-'));
  });
  after(() => rmSync(folder, { recursive: true, force: true }));

  describeStore('in a file', { makeDatabase: () => `file:${folder}/gateway.db`, isShared: true, empty });

  function empty(): void {
    const database = new Sqlite(join(folder, 'gateway.db'));
    database.exec('DELETE FROM requests');
    database.close();
  }
});

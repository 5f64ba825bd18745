import { existsSync } from 'node:fs';
import { dirname } from 'node:path';
import type { Upgrade } from '../shared/migrations.ts';
import { createPrivateFile, makePrivateFolder } from '../private-files.ts';
import { openDatabase } from './database.ts';
import { listMigrations } from './migrations.ts';
import { withSnapshot } from './snapshot.ts';

const OPEN_WITHIN_MS = 5000;

/** Creates the database or runs its missing migrations. Throws StoreOpenError. */
export async function upgradeDatabase(file: string): Promise<Upgrade> {
  const before = new Set(existsSync(file) ? await withSnapshot(file, listMigrations) : []);
  makePrivateFolder(dirname(file));
  createPrivateFile(file);
  const database = openDatabase({ file, openWithinMs: OPEN_WITHIN_MS });
  try {
    const migrations = listMigrations(database);
    return { migrations, applied: migrations.filter((name) => !before.has(name)) };
  } finally {
    database.close();
  }
}

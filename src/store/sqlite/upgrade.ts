import { existsSync } from 'node:fs';
import type { Upgrade } from '../rows/migrations.ts';
import { openDatabase } from './database.ts';
import { listMigrations } from './migrations.ts';
import { createDatabaseFile } from './open-file.ts';
import { withSnapshot } from './snapshot.ts';

const OPEN_WITHIN_MS = 5000;

export async function upgradeDatabase(file: string): Promise<Upgrade> {
  const before = new Set(existsSync(file) ? await withSnapshot(file, listMigrations) : []);
  createDatabaseFile(file);
  const database = openDatabase({ file, openWithinMs: OPEN_WITHIN_MS });
  try {
    const migrations = listMigrations(database);
    return { migrations, applied: migrations.filter((name) => !before.has(name)) };
  } finally {
    database.close();
  }
}

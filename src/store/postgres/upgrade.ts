import { showDatabase } from '../database-url.ts';
import type { Upgrade } from '../shared/migrations.ts';
import { StoreOpenError } from '../store.ts';
import { toReason } from './failures.ts';
import { migrate } from './migrations.ts';

/** Runs the missing migrations on this server. Throws StoreOpenError. */
export async function upgradeServer(url: string): Promise<Upgrade> {
  try {
    return await migrate(url);
  } catch (error) {
    if (error instanceof StoreOpenError) throw error;
    throw new StoreOpenError(`The database ${showDatabase(url)} cannot be used: ${toReason(error)}.`, { cause: error });
  }
}

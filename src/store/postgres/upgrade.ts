import type { Upgrade } from '../rows/migrations.ts';
import { explainFailure } from './client.ts';
import { migrate } from './migrate.ts';

/** Runs the missing migrations on this server. Throws StoreOpenError. */
export function upgradeServer(url: string): Promise<Upgrade> {
  return explainFailure({ url, problem: 'cannot be used' }, () => migrate(url));
}

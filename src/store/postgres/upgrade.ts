import type { Upgrade } from '../rows/migrations.ts';
import { explainFailure } from './client.ts';
import { migrate } from './migrate.ts';

export function upgradeServer(url: string): Promise<Upgrade> {
  return explainFailure({ url, problem: 'cannot be used' }, () => migrate(url));
}

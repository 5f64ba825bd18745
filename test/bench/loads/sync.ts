import { measureSyncs } from '../machine.ts';
import type { Load } from '../load.ts';
import type { Stage } from '../stage.ts';
import { percentile } from '../statistics.ts';

export const SYNC = 'a sync of the disk';

/** What no durable record can be quicker than, on this disk and now. */
export function syncLoad({ folder }: Stage): Load {
  return {
    name: SYNC,
    columns: [{ figure: 'p50 ms' }, { figure: 'p99 ms' }],
    measure() {
      const ms = measureSyncs(folder);
      return Promise.resolve({ 'p50 ms': percentile(ms, 50), 'p99 ms': percentile(ms, 99) });
    },
  };
}

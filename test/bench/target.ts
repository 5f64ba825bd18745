/**
 * The gateway under test, in a process of its own: `durable` writes its records to a file, `none` has a store that does
 * nothing. Says where it listens, and on request what CPU it has used and how its event loop was held up.
 */
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { createGateway, readConfig } from '../../src/gateway.ts';
import type { Store } from '../../src/store/store.ts';

const [kind = 'durable', upstream = '', database = ':memory:'] = process.argv.slice(2);
const config = readConfig({
  UPSTREAM_BASE_URL: upstream,
  DATABASE_URL: kind === 'durable' ? database : ':memory:',
  PORT: '0',
  LOG_LEVEL: 'silent',
});
const gateway = await createGateway(config, kind === 'durable' ? {} : { store: createEmptyStore() });
const { url } = await gateway.listen();
const delay = monitorEventLoopDelay({ resolution: 1 });
delay.enable();
process.send?.({ url });
process.on('message', () => {
  const { user, system } = process.cpuUsage();
  process.send?.({ cpuMicros: user + system, delayP99Ms: delay.percentile(99) / 1e6, delayMaxMs: delay.max / 1e6 });
  delay.reset();
});
process.once('disconnect', () => process.exit(0));

/** Accepts everything and keeps nothing. For the bench alone: it breaks every promise of a store. */
function createEmptyStore(): Store {
  return {
    accept: () => Promise.resolve({ kind: 'accepted' }),
    finish: () => Promise.resolve(undefined),
    discard: () => Promise.resolve(),
    requestCancel: () => Promise.resolve(undefined),
    find: () => Promise.resolve(undefined),
    findDuplicate: () => Promise.resolve(undefined),
    findByIdempotencyKey: () => Promise.resolve(undefined),
    list: () => Promise.resolve({ records: [], hasMore: false }),
    recover: () => Promise.resolve(0),
    prune: () => Promise.resolve(0),
    checkWritable: () => Promise.resolve(),
    close: () => Promise.resolve(),
  };
}

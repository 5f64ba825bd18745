import { fork } from 'node:child_process';
import { once } from 'node:events';
import { locateDatabase } from '../../src/store/database-url.ts';
import { openClientStore, type StoreOptions } from '../../src/store/open.ts';
import type { Store } from '../../src/core/books/store.ts';
import { openRpc } from '../../src/rpc/rpc.ts';
import type { HostService } from './host-process.ts';

export interface Host {
  /** As `openStore`, through the other process. */
  readonly open: (options: StoreOptions) => Promise<Store>;
  readonly end: () => Promise<void>;
}

/** Starts a process through which databases are used. */
export function startHost(): Host {
  const child = fork(new URL('host-process.ts', import.meta.url), { serialization: 'advanced' });
  const host = openRpc<HostService>((message) => child.send(message, () => undefined), {});
  child.on('message', (message) => host.receive(message));
  child.once('disconnect', () => host.disconnect());
  return {
    async open({ databaseUrl, recordRetentionDays: _days, ...options }) {
      const location = locateDatabase(databaseUrl);
      const { timeZone } = options;
      const zone = timeZone === undefined ? {} : { timeZone };
      const guest = await host.ask('open', location.kind === 'file' ? location.path : undefined, zone);
      const store = openClientStore({ ...options, run: (...batch) => host.ask('run', guest, ...batch) });
      // As at every start; where it fails it has to wait.
      await store.recover().catch(() => undefined);
      return {
        ...store,
        async close() {
          await store.close();
          await host.ask('close', guest);
        },
      };
    },
    async end() {
      const ended = once(child, 'exit');
      child.disconnect();
      await ended;
    },
  };
}

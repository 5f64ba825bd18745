/**
 * A process that has a database to itself, as the first of several workers has; through-host.ts starts it and uses the
 * database through it. Its parent asks over the same line as a worker does.
 */
import { openSqliteStore, type StoreClient, type SqliteStore } from '../../src/store/sqlite/sqlite-store.ts';
import type { StoreOptions } from '../../src/store/open.ts';
import { openRpc } from '../../src/rpc/rpc.ts';
import './patient.ts';

export type HostService = {
  /** Undefined keeps everything in memory. Returns the number of the guest. */
  readonly open: (file: string | undefined, zone: Pick<StoreOptions, 'timeZone'>) => Promise<number>;
  readonly run: (guest: number, ...batch: Parameters<StoreClient['run']>) => ReturnType<StoreClient['run']>;
  /** As if the guest were dead. */
  readonly close: (guest: number) => Promise<void>;
};

const SILENT = { info: () => undefined, warn: () => undefined };
const open = new Map<number, { readonly store: SqliteStore; readonly guest: StoreClient }>();
let last = 0;

const service: HostService = {
  async open(file, zone) {
    const store = await openSqliteStore({ ...zone, file, clock: Date.now, log: SILENT });
    last += 1;
    open.set(last, { store, guest: store.admit() });
    return last;
  },
  run: (guest, mode, batch) => find(guest).guest.run(mode, batch),
  async close(guest) {
    const { store, guest: admitted } = find(guest);
    open.delete(guest);
    admitted.leave();
    await store.close();
  },
};

function find(guest: number) {
  const found = open.get(guest);
  if (found === undefined) throw new Error('there is no such guest');
  return found;
}

const parent = openRpc<Record<string, () => void>>((message) => process.send?.(message, () => undefined), service);
process.on('message', (message) => parent.receive(message));
process.on('disconnect', () => process.exit());

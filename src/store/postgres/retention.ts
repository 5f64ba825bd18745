import { named } from '../sql/dialect.ts';
import { first, send, type SteppedOperations } from '../sql/steps.ts';
import { FIND_MARK } from './secret-mark.ts';

const { lockTable, write, remove } = named('probe', {
  // `accept` takes the same lock, so the probe fails when the table is locked or was dropped.
  lockTable: 'LOCK TABLE requests IN ROW EXCLUSIVE MODE',
  write: 'INSERT INTO write_probes DEFAULT VALUES',
  remove: 'DELETE FROM write_probes',
});

export const RETENTION: SteppedOperations<'reclaimSome' | 'probeWrite'> = {
  // Autovacuum of the server does it.
  // oxlint-disable-next-line require-yield
  *reclaimSome() {
    return false;
  },
  *probeWrite() {
    const found = yield* first<{ readonly mark: string }>(FIND_MARK);
    for (const statement of [lockTable, write, remove]) yield* send(statement, {});
    return found?.mark ?? null;
  },
};

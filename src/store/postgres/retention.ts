import { named } from '../sql/dialect.ts';
import { send, type SteppedOperations } from '../sql/steps.ts';
import { findMark } from '../sql/secret-mark.ts';

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
    const mark = yield* findMark();
    for (const statement of [lockTable, write, remove]) yield* send(statement, {});
    return mark ?? null;
  },
};

import { LOOK_AT_KEYS } from '../book/ledger.ts';
import { named, POSTGRES } from '../sql/dialect.ts';
import { carry, dropSome, ledgerStatements, lockAccount } from '../sql/ledger.ts';
import { first, rows, send, type SteppedOperations } from '../sql/steps.ts';

const LEDGER = ledgerStatements(POSTGRES);
const { findDeleted, forgetDeleted, findDue } = named('carry', {
  findDeleted: 'SELECT key FROM deleted_keys ORDER BY key LIMIT 1 FOR UPDATE SKIP LOCKED',
  forgetDeleted: 'DELETE FROM deleted_keys WHERE key = :key',
  // Only the two oldest entries matter: the first, or the second when the first is a carry.
  findDue: `
    SELECT accounts.seq, EXISTS (
      SELECT FROM (SELECT kind, created_at_ms FROM ledger WHERE key = accounts.seq ORDER BY seq LIMIT 2) AS oldest
      WHERE kind <> 'carry' AND created_at_ms < :beforeMs) AS "isDue"
    FROM (SELECT seq FROM keys UNION ALL SELECT -seq FROM groups) AS accounts
    WHERE accounts.seq > :afterKey ORDER BY accounts.seq LIMIT :limit`,
});

interface Candidate {
  readonly seq: number;
  readonly isDue: boolean;
}

export const CARRY: SteppedOperations<'carrySome'> = {
  *carrySome(afterKey, beforeMs) {
    const deleted = yield* first<{ readonly key: number }>(findDeleted);
    if (deleted !== undefined) {
      if (!(yield* dropSome(LEDGER, deleted.key))) yield* send(forgetDeleted, deleted);
      return afterKey;
    }
    const looked = yield* rows<Candidate>(findDue, { afterKey, beforeMs, limit: LOOK_AT_KEYS });
    const key = looked.find(({ isDue }) => isDue)?.seq;
    if (key === undefined) return looked.length < LOOK_AT_KEYS ? null : (looked.at(-1)?.seq ?? null);
    const isCarried = (yield* lockAccount(LEDGER, key)) && (yield* carry(LEDGER, key, beforeMs));
    // The same key may have more entries.
    return isCarried ? key - 1 : key;
  },
};

import { LOOK_AT_KEYS } from '../book/ledger.ts';
import { SQLITE, type NamedStatement } from '../sql/dialect.ts';
import { carry, dropSome, ledgerStatements, lockAccount } from '../sql/ledger.ts';
import { first, type SteppedOperations } from '../sql/steps.ts';

const LEDGER = ledgerStatements(SQLITE);
const FIND_NEXT: NamedStatement = {
  name: 'find_next_in_ledger',
  text: 'SELECT key FROM ledger WHERE key > :after ORDER BY key LIMIT 1',
};

/** Deleted accounts are those of which only the ledger knows. */
export const CARRY: SteppedOperations<'carrySome'> = {
  *carrySome(afterKey, beforeMs) {
    let after = afterKey;
    for (let looked = 0; looked < LOOK_AT_KEYS; looked += 1) {
      const next = yield* first<{ readonly key: number }>(FIND_NEXT, { after });
      if (next === undefined) return null;
      const { key } = next;
      const isKnown = yield* lockAccount(LEDGER, key);
      if (!isKnown) yield* dropSome(LEDGER, key);
      // The same key may have more entries.
      if (!isKnown || (yield* carry(LEDGER, key, beforeMs))) return key - 1;
      after = key;
    }
    return after;
  },
};

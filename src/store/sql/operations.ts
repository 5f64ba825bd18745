import type { Dialect } from './dialect.ts';
import { groupOperations } from './groups.ts';
import { keyOperations } from './keys.ts';
import { ledgerOperations } from './ledger.ts';
import { recordOperations } from './records.ts';
import { upkeepOperations } from './upkeep.ts';
import { usageOperations } from './usage.ts';

/** Returns the operations that are the same in both engines. */
export function commonOperations(dialect: Dialect) {
  return {
    ...recordOperations(dialect),
    ...keyOperations(dialect),
    ...groupOperations(dialect),
    ...ledgerOperations(dialect),
    ...usageOperations(dialect),
    ...upkeepOperations(dialect),
  };
}

export type CommonName = keyof ReturnType<typeof commonOperations>;

import { accountStatements } from '../sql/accounts.ts';
import { SQLITE } from '../sql/dialect.ts';
import { recordStatements } from '../sql/records.ts';
import { upkeepStatements } from '../sql/usage.ts';

export const ACCOUNTS = accountStatements(SQLITE);
export const RECORDS = recordStatements(SQLITE);
export const UPKEEP = upkeepStatements(SQLITE);

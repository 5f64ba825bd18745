import { mapValues } from '../../core/map-values.ts';
import { accountStatements } from '../sql/accounts.ts';
import { NAME, POSTGRES, type NamedStatement } from '../sql/dialect.ts';
import { recordStatements } from '../sql/records.ts';
import { upkeepStatements } from '../sql/usage.ts';
import type { Statement } from './pool.ts';

export const ACCOUNTS = mapValues(accountStatements(POSTGRES), toNumbered);
export const RECORDS = mapValues(recordStatements(POSTGRES), toNumbered);
export const UPKEEP = mapValues(upkeepStatements(POSTGRES), toNumbered);

/** Returns the statement with numbers in the place of its `:names`, by which a connection finds the values. */
export function toNumbered({ name, text }: NamedStatement): Statement {
  const names: string[] = [];
  const byNumber = text.replaceAll(NAME, (_text, each: string) => {
    if (!names.includes(each)) names.push(each);
    return `$${names.indexOf(each) + 1}`;
  });
  return { name, text: byNumber, names };
}

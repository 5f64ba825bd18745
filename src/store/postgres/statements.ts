import { NAME, type NamedStatement } from '../sql/dialect.ts';
import type { Statement } from './pool.ts';

const numbered = new Map<string, Statement>();

/** Returns the statement with numbers in the place of its `:names`, by which a connection finds the values. */
export function toNumbered({ name, text }: NamedStatement): Statement {
  const known = numbered.get(name);
  if (known !== undefined) return known;
  const names: string[] = [];
  const byNumber = text.replaceAll(NAME, (_text, each: string) => {
    if (!names.includes(each)) names.push(each);
    return `$${names.indexOf(each) + 1}`;
  });
  const statement = { name, text: byNumber, names };
  numbered.set(name, statement);
  return statement;
}

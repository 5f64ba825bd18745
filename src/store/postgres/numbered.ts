import type { NamedStatement } from '../sql/dialect.ts';
import type { Statement } from './pool.ts';

/** Returns the statements with numbers in the place of their `:names`, by which a connection finds the values. */
export function numbered<Name extends string>(
  statements: Readonly<Record<Name, NamedStatement>>,
): Readonly<Record<Name, Statement>> {
  const entries = Object.entries<NamedStatement>(statements).map(([key, each]) => [key, toNumbered(each)]);
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion
  return Object.fromEntries(entries) as Readonly<Record<Name, Statement>>;
}

export function toNumbered({ name, text }: NamedStatement): Statement {
  const names: string[] = [];
  const byNumber = text.replaceAll(/(?<!:):([a-zA-Z]\w*)/g, (_text, each: string) => {
    if (!names.includes(each)) names.push(each);
    return `$${names.indexOf(each) + 1}`;
  });
  return { name, text: byNumber, names };
}

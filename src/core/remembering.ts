import { setLast } from './set-last.ts';

/**
 * Returns the function with a memory of the latest answers, undefined included. It is for functions that always find the same for
 * the same two names.
 */
export function remembering<Found>(
  find: (one: string, other: string) => Found,
  maxRemembered: number,
): (one: string, other: string) => Found {
  const remembered = new Map<string, { readonly found: Found }>();
  return (one, other) => {
    const names = JSON.stringify([one, other]);
    const known = remembered.get(names);
    if (known !== undefined) return known.found;
    const found = find(one, other);
    setLast(remembered, names, { found }, maxRemembered);
    return found;
  };
}

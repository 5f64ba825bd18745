/**
 * Returns the function with a memory of what it found, undefined included. It is for functions that
 * always find the same for the same two names, and forgets everything after this many.
 */
export function remembering<Found>(
  find: (one: string, other: string) => Found,
  maxRemembered: number,
): (one: string, other: string) => Found {
  const remembered = new Map<string, Map<string, { readonly found: Found }>>();
  let count = 0;
  return (one, other) => {
    const known = remembered.get(one)?.get(other);
    if (known !== undefined) return known.found;
    const found = find(one, other);
    if (count >= maxRemembered) {
      remembered.clear();
      count = 0;
    }
    const others = remembered.get(one) ?? new Map<string, { readonly found: Found }>();
    remembered.set(one, others.set(other, { found }));
    count += 1;
    return found;
  };
}

/** Whether the name is this one, or fits it where it has `*`, which stands for any text or none. */
export function matchesModel(pattern: string, name: string): boolean {
  return toModelMatcher(pattern)(name);
}

/**
 * As `matchesModel`, for a pattern that is asked often. Takes no longer than the name times the pattern, where a regular
 * expression with several stars could be made to stand still.
 */
export function toModelMatcher(pattern: string): (name: string) => boolean {
  const [head = '', ...rest] = pattern.split('*');
  const tail = rest.pop();
  if (tail === undefined) return (name) => name === pattern;
  return (name) => {
    if (!name.startsWith(head) || !name.endsWith(tail)) return false;
    let at = head.length;
    for (const part of rest) {
      const found = name.indexOf(part, at);
      if (found === -1) return false;
      at = found + part.length;
    }
    // The end must not be used up by what stands before it.
    return at <= name.length - tail.length;
  };
}

/** How many characters of a pattern are not `*`: of two that fit, the one with more says more. */
export function literalLength(pattern: string): number {
  return pattern.replaceAll('*', '').length;
}

/** Whether the name matches the pattern, in which `*` stands for any text. */
export function matchesModel(pattern: string, name: string): boolean {
  return toModelMatcher(pattern)(name);
}

/** Its time is at most name times pattern. A regular expression could take exponential time. */
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
    // The tail must not overlap the matched text before it.
    return at <= name.length - tail.length;
  };
}

export interface Pattern<Value> {
  /** Counts the characters that are not `*`. */
  readonly length: number;
  /** Takes a name in lower case. */
  readonly fits: (name: string) => boolean;
  readonly value: Value;
}

/** Returns the entries with a `*` in their name. The one with the most other characters is first. */
export function patternsOf<Value>(entries: Iterable<readonly [string, Value]>): readonly Pattern<Value>[] {
  return [...entries]
    .filter(([name]) => name.includes('*'))
    .map(([name, value]) => ({
      length: name.replaceAll('*', '').length,
      fits: toModelMatcher(name.toLowerCase()),
      value,
    }))
    .sort((one, other) => other.length - one.length);
}

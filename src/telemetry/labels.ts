export interface Labels {
  /** Returns `other` beyond the first `max` names that count, and `unknown` without a name. */
  labelOf(name: string | undefined, counts: boolean): string;
}

/** Limits the values of a label, since there can be any number of names and each costs memory. */
export function createLabels(max: number): Labels {
  const known = new Set<string>();
  return {
    labelOf(name, counts) {
      if (name === undefined) return 'unknown';
      if (counts && known.size < max) known.add(name);
      return known.has(name) ? name : 'other';
    },
  };
}

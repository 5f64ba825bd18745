/** What waits, in the order in which it came. Owners take turns: much of one holds up no other. */
export interface FairQueue<Entry> {
  isEmpty(): boolean;
  add(owner: string, entry: Entry): void;
  /** Lets all other owners that wait go first. */
  putLast(owner: string): void;
  next(): Entry | undefined;
}

export function createFairQueue<Entry>(): FairQueue<Entry> {
  const entriesOf = new Map<string, Entry[]>();

  return {
    isEmpty: () => entriesOf.size === 0,
    add(owner, entry) {
      const entries = entriesOf.get(owner);
      if (entries === undefined) entriesOf.set(owner, [entry]);
      else entries.push(entry);
    },
    next() {
      const [first] = entriesOf;
      if (first === undefined) return undefined;
      const [owner, entries] = first;
      const entry = entries.shift();
      putLast(owner);
      return entry;
    },
    putLast,
  };

  function putLast(owner: string): void {
    const entries = entriesOf.get(owner);
    entriesOf.delete(owner);
    if (entries !== undefined && entries.length > 0) entriesOf.set(owner, entries);
  }
}

import type { RequestId } from '../../contract/ids.ts';
import type { LedgerCursor } from '../book/ledger.ts';
import type { LedgerEntry } from '../../core/books/keys.ts';

const STEP = 500;

interface HoldEntry extends LedgerEntry {
  readonly requestId: RequestId;
}

/**
 * Returns the newest entries before a cursor, without each reservation of a request that is followed by its release.
 * No index finds the two, but they are near each other: it reads on, above the cursor as well, until each entry has met
 * its other half. A half that has none, because its request runs or the other was carried, is returned.
 */
export async function readNet(
  read: (cursor: LedgerCursor, limit: number) => Promise<readonly LedgerEntry[] | null>,
  beforeSeq: number,
  limit: number,
): Promise<readonly LedgerEntry[] | null> {
  /** Of each request, those that were read, oldest first. */
  const holds = new Map<RequestId, readonly HoldEntry[]>();
  let entries: readonly LedgerEntry[] = [];
  let [afterSeq, untilSeq] = [beforeSeq - 1, beforeSeq];
  let [isAllAbove, isAllBelow] = [false, false];

  const of = ({ requestId }: HoldEntry) => holds.get(requestId) ?? [];
  const otherHalfOf = (entry: HoldEntry) => of(entry)[of(entry).indexOf(entry) + (entry.kind === 'reserve' ? 1 : -1)];

  for (;;) {
    entries = entries.filter((entry) => !isHold(entry) || otherHalfOf(entry)?.amountMicro !== -entry.amountMicro);
    const page = entries.slice(0, limit);
    const lonely = page.filter(isHold).filter((entry) => otherHalfOf(entry) === undefined);
    if (!isAllBelow && (page.length < limit || lonely.some(({ kind }) => kind === 'release'))) {
      const older = await read({ beforeSeq: untilSeq }, STEP);
      if (older === null) return null;
      isAllBelow = older.length < STEP;
      untilSeq = older.at(-1)?.seq ?? untilSeq;
      entries = [...entries, ...older];
      for (const entry of older.filter(isHold)) holds.set(entry.requestId, [entry, ...of(entry)]);
    } else if (!isAllAbove && lonely.some(({ kind }) => kind === 'reserve')) {
      const newer = (await read({ afterSeq }, STEP)) ?? [];
      isAllAbove = newer.length < STEP;
      afterSeq = newer.at(-1)?.seq ?? afterSeq;
      for (const entry of newer.filter(isHold)) holds.set(entry.requestId, [...of(entry), entry]);
    } else {
      return page;
    }
  }
}

function isHold(entry: LedgerEntry): entry is HoldEntry {
  return entry.requestId !== null && (entry.kind === 'reserve' || entry.kind === 'release');
}

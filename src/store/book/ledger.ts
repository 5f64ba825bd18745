import type { CreditEntry, LedgerEntry } from '../../core/books/keys.ts';
import { selected } from '../rows/columns.ts';
import { credit } from './funds.ts';
import type { Account, Funding } from './unit-of-work.ts';

export const ENTRY_COLUMNS = selected(['seq', 'kind', 'amountMicro', 'requestId', 'note', 'createdAtMs', 'reference']);

export const CARRY_STEP = 100;

export const LOOK_AT_KEYS = 100;

/**
 * Adds credits, or ends them, and returns those that the account now has to spend. Throws RangeError, and changes
 * nothing, when the balance would be too large.
 */
export function addCredit(funding: Funding, account: Account, entry: CreditEntry): number {
  const { kind, amountMicro, note, reference = null, createdAtMs } = entry;
  const { seq: key, balanceMicro, heldMicro } = account;
  if (entry.isEnd === true) {
    if (balanceMicro === null) return 0;
    // What runs returns nothing to a balance that is gone.
    funding.enter({ key, kind: 'release', amountMicro: heldMicro, note: END_NOTE, createdAtMs });
    funding.enter({ key, kind, amountMicro: -(balanceMicro + heldMicro), note, reference, createdAtMs });
    funding.write({ ...account, balanceMicro: null });
    return 0;
  }
  const credited = credit(account, amountMicro);
  funding.write(credited.funds);
  funding.enter({ key, kind, amountMicro, note, reference, createdAtMs });
  const reservedNote = 'held when it became prepaid';
  funding.enter({ key, kind: 'reserve', amountMicro: -credited.reservedMicro, note: reservedNote, createdAtMs });
  return (credited.funds.balanceMicro ?? 0) + credited.funds.heldMicro;
}

const END_NOTE = 'held when it was no longer prepaid';

export type LedgerCursor = { readonly beforeSeq: number } | { readonly afterSeq: number };

export interface Carry {
  readonly seq: number;
  readonly amountMicro: number;
}

/**
 * Combines the entries from before `beforeMs` with an earlier carry; undefined when there are none.
 * A reservation may be carried while its request runs: its release will be an entry of its own.
 */
export function toCarry(oldest: readonly LedgerEntry[], beforeMs: number): Carry | undefined {
  const firstYoung = oldest.findIndex(({ createdAtMs }) => createdAtMs >= beforeMs);
  const old = firstYoung === -1 ? oldest : oldest.slice(0, firstYoung);
  const last = old.at(-1);
  // A carry is the first entry, so a carry that is also the last has nothing to add.
  if (last === undefined || last.kind === 'carry') return undefined;
  // Each sum from the beginning was the balance once, so it is a safe integer.
  return { seq: last.seq, amountMicro: old.reduce((sum, { amountMicro }) => sum + amountMicro, 0) };
}

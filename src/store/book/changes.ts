/**
 * Every rule of a record from its draft to its end, for both engines: pure, without SQL, clock or
 * waiting. An engine loads what `neededBy` names, lets `decide` decide, and writes what comes out,
 * all in one transaction.
 */
import type { AccountId, RequestId } from '../../contract/ids.ts';
import { unreachable } from '../../core/errors.ts';
import type { RateCorrection } from '../../core/money/rates.ts';
import type { Hold } from '../../core/books/keys.ts';
import type { RecordStatus } from '../../core/books/store.ts';
import type { Operation, OperationOf } from '../queue/operations.ts';
import {
  closeRecord,
  isFinal,
  isUnconfirmed,
  toDiscardedRow,
  toWhole,
  type BegunRow,
  type CancelRow,
  type DraftRow,
  type IdempotencyRow,
  type OutcomeRow,
  type RecordRow,
} from '../rows/records.ts';
import type { Charges, PaidRow } from './charges.ts';

const NAMES = [
  'accept',
  'acceptPaid',
  'finish',
  'record',
  'undoRecord',
  'discard',
  'undoAccept',
  'requestCancel',
  'requestCancelOfAny',
  'takeRate',
] as const;
export type ChangeName = (typeof NAMES)[number];
export type Change = { readonly [Name in ChangeName]: OperationOf<Name> }[ChangeName];
const CHANGE_NAMES: ReadonlySet<string> = new Set(NAMES);

/** Whether the book decides this operation. */
export function isChange(operation: Operation): operation is Change {
  return CHANGE_NAMES.has(operation[0]);
}

export interface Beginning {
  readonly draft: DraftRow;
  /** The draft under previous secrets. */
  readonly earlier: readonly IdempotencyRow[];
  readonly hold: Hold | undefined;
}

export interface Needed {
  readonly beginnings: readonly Beginning[];
  readonly records: readonly RequestId[];
  readonly accounts: readonly AccountId[];
}

export interface Loaded {
  /** Those that were asked for and exist, and those of the drafts that nothing repeats. */
  readonly records: ReadonlyMap<RequestId, BegunRow>;
  readonly originals: ReadonlyMap<RequestId, BegunRow>;
  /** The drafts whose callers have been refused meanwhile. */
  readonly late: ReadonlySet<RequestId>;
  /** Of the unit of work, which reads the accounts and has what must be written of them. */
  readonly charges: Charges;
}

/** What the transaction must write of the records, beside what its unit of work has. */
export interface Decided {
  readonly results: readonly unknown[];
  readonly changed: ReadonlyMap<RequestId, RecordRow>;
  readonly removed: ReadonlySet<RequestId>;
  /** Those of the changed records whose idempotency keys may be used again. */
  readonly freed: ReadonlySet<RequestId>;
  /** Those whose owners must hear that a cancel was requested. */
  readonly cancelled: ReadonlySet<RequestId>;
}

/** Returns what has to be loaded before these changes can be decided. */
export function neededBy(changes: readonly Change[]): Needed {
  const beginnings: Beginning[] = [];
  const records = new Set<RequestId>();
  const accounts: AccountId[] = [];
  for (const change of changes) {
    switch (change[0]) {
      case 'accept':
        beginnings.push({ draft: change[1], earlier: change[2], hold: undefined });
        break;
      case 'acceptPaid':
        beginnings.push({ draft: change[1], earlier: change[2], hold: change[3] });
        break;
      case 'record':
        beginnings.push({ draft: change[1], earlier: [], hold: undefined });
        break;
      case 'finish':
        records.add(change[1].requestId);
        break;
      case 'discard':
      case 'undoAccept':
      case 'undoRecord':
      case 'requestCancelOfAny':
        records.add(change[1]);
        break;
      case 'requestCancel':
        records.add(change[2]);
        break;
      case 'takeRate':
        accounts.push(change[1]);
        break;
      default:
        return unreachable(change);
    }
  }
  return { beginnings, records: [...records], accounts };
}

/** Decides the changes in their order: each sees what those before it have changed. */
export function decide(changes: readonly Change[], { records, originals, late, charges }: Loaded): Decided {
  const changed = new Map<RequestId, RecordRow>();
  const removed = new Set<RequestId>();
  const freed = new Set<RequestId>();
  const cancelled = new Set<RequestId>();
  const refused = new Map<RequestId, PaidRow>();

  return { results: changes.map(toResult), changed, removed, freed, cancelled };

  function toResult(change: Change): unknown {
    switch (change[0]) {
      case 'accept':
        return accept(change[1]);
      case 'acceptPaid':
        return acceptPaid(change[1], change[3]);
      case 'finish':
        return finish(change[1], change[2]);
      case 'record':
        return record(change[1], change[2]);
      case 'undoRecord':
        return undoRecord(change[1]);
      case 'discard':
        return discard(change[1], change[2], change[3]);
      case 'undoAccept':
        return undoAccept(change[1], change[2], change[3]);
      case 'requestCancel':
        return requestCancel(change[2], change[3], change[1]);
      case 'requestCancelOfAny':
        return requestCancel(change[1], change[2]);
      case 'takeRate':
        return charges.takeRate(change[1], change[2], change[3]);
      default:
        return unreachable(change);
    }
  }

  /** A duplicate is answered at any time, but not to a caller that has been refused. */
  function accept({ requestId }: DraftRow): RecordRow | 'late' | null {
    if (late.has(requestId)) {
      if (records.has(requestId)) remove(requestId);
      return 'late';
    }
    const original = originals.get(requestId);
    return original === undefined ? null : toWhole(find(original.requestId) ?? original);
  }

  /** A duplicate comes first, because it is answered even when the funds are used up. */
  function acceptPaid(draft: DraftRow, hold: Hold): PaidRow {
    const { requestId, createdAtMs } = draft;
    const repeated = accept(draft);
    if (repeated === 'late') return { kind: 'late', rates: null };
    if (repeated !== null) return refused.get(repeated.requestId) ?? { kind: 'duplicate', record: repeated };
    const held = charges.takeHold(requestId, hold, createdAtMs, find(requestId)?.groupId);
    if (!('refused' in held)) return { kind: 'accepted', rates: held.rates };
    const refusal: PaidRow = { kind: held.refused, ofGroup: held.ofGroup, rates: held.rates };
    refused.set(requestId, refusal);
    remove(requestId);
    return refusal;
  }

  function finish(outcome: OutcomeRow, correction: RateCorrection | null): RecordStatus | null {
    const record = find(outcome.requestId);
    if (record === undefined) return null;
    return isFinal(record) ? record.status : end(record, outcome, correction);
  }

  function end(record: BegunRow, outcome: OutcomeRow, correction: RateCorrection | null): RecordStatus {
    const closed = closeRecord(record, outcome);
    write(closed);
    if (outcome.freesIdempotencyKey && record.cancelRequestedAtMs === null) freed.add(record.requestId);
    charges.end(closed);
    charges.correctRate(closed, correction);
    return closed.status;
  }

  function record(draft: DraftRow, outcome: OutcomeRow): 'late' | null {
    const begun = accept(draft) === 'late' ? undefined : find(draft.requestId);
    if (begun === undefined) return 'late';
    end(begun, outcome, null);
    return null;
  }

  function undoRecord(requestId: RequestId): null {
    const ended = find(requestId);
    if (ended === undefined) return null;
    charges.undoEnd(toWhole(ended));
    remove(requestId);
    return null;
  }

  function discard(requestId: RequestId, nowMs: number, correction: RateCorrection | null): RecordStatus | null {
    const record = find(requestId);
    if (record === undefined) return null;
    if (isFinal(record)) return record.status;
    if (record.cancelRequestedAtMs !== null) return end(record, toDiscardedRow(record, nowMs), correction);
    charges.settleHold(toWhole(record), nowMs);
    charges.correctRate(record, correction);
    remove(requestId);
    return null;
  }

  function undoAccept(requestId: RequestId, nowMs: number, correction: RateCorrection | null): RecordStatus | null {
    const record = find(requestId);
    if (record === undefined || !isFinal(record) || !isUnconfirmed(record))
      return discard(requestId, nowMs, correction);
    charges.undoEnd(record);
    charges.correctRate(record, correction);
    remove(requestId);
    return null;
  }

  function requestCancel(requestId: RequestId, nowMs: number, callers?: readonly string[]): CancelRow | null {
    const record = find(requestId);
    if (record === undefined || callers?.includes(record.caller) === false) return null;
    if (isFinal(record)) return { kind: 'final', record };
    const asked = { ...toWhole(record), cancelRequestedAtMs: record.cancelRequestedAtMs ?? nowMs };
    write(asked);
    cancelled.add(requestId);
    return { kind: 'asked', record: asked };
  }

  function find(requestId: RequestId): BegunRow | undefined {
    return removed.has(requestId) ? undefined : (changed.get(requestId) ?? records.get(requestId));
  }

  function write(record: RecordRow): void {
    changed.set(record.requestId, record);
  }

  function remove(requestId: RequestId): void {
    changed.delete(requestId);
    removed.add(requestId);
  }
}

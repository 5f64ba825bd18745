import type { KeyId, RequestId } from '../../core/ids.ts';
import type { Hold, LedgerKind, Refusal } from '../accounts.ts';
import { refusalOf, reserve, settle, type Funds, type SpendLimits } from '../funds.ts';
import { COST, HELD, KEY, REQUEST_ID, type RecordRow } from './rows.ts';

/** What decides whether a key may start something. */
export interface Account extends Funds, SpendLimits {
  readonly seq: number;
  readonly isDisabled: 0 | 1;
  readonly expiresAtMs: number | null;
}

export type EntryRow = readonly [
  key: number,
  kind: LedgerKind,
  amountMicro: number,
  requestId: RequestId | null,
  note: string,
  createdAtMs: number,
  /** A name which no other entry of the key has. */
  reference?: string | null,
];

/** The funds of keys and the ledger that explains them. They change together: inside one transaction of whoever calls. */
export interface FundsTable {
  /** Undefined when the key was deleted. */
  of(key: number): Account | undefined;
  find(keyId: KeyId): Account | undefined;
  write(key: number, funds: Funds): void;
  /** Leaves out what changes nothing. */
  enter(...entry: EntryRow): void;
}

export type Charges = ReturnType<typeof prepareCharges>;

/** What a record does to the funds of its key, inside the transaction that changes the record. */
export function prepareCharges(funds: FundsTable) {
  /** Takes the hold and returns the place of its key, or changes nothing and returns why. */
  function takeHold(requestId: RequestId, hold: Hold, atMs: number): number | Refusal {
    const account = funds.find(hold.keyId);
    if (account === undefined || account.isDisabled === 1) return 'invalid_api_key';
    if (account.expiresAtMs !== null && account.expiresAtMs <= atMs) return 'invalid_api_key';
    const refusal = refusalOf(account, account, hold, atMs);
    if (refusal !== undefined) return refusal;
    if (hold.heldMicro > 0) funds.write(account.seq, reserve(account, hold.heldMicro));
    if (account.balanceMicro !== null) funds.enter(account.seq, 'reserve', -hold.heldMicro, requestId, '', atMs);
    return account.seq;
  }

  /** For a record that has just become final, or was just deleted, which happens to each of them once. */
  function settleHold(record: RecordRow, atMs: number): void {
    const [key, heldMicro, costMicro] = [record[KEY], record[HELD] ?? 0, record[COST] ?? 0];
    if (key === null || (heldMicro === 0 && costMicro === 0)) return;
    const account = funds.of(key);
    // The key may have been deleted meanwhile, and its ledger with it.
    if (account === undefined) return;
    const settled = settle(account, { heldMicro, costMicro, atMs });
    funds.write(key, settled.funds);
    if (account.balanceMicro === null) return;
    funds.enter(key, 'release', heldMicro, record[REQUEST_ID], '', atMs);
    funds.enter(key, 'settle', -settled.chargedMicro, record[REQUEST_ID], '', atMs);
  }

  return { takeHold, settleHold };
}

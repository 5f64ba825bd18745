import type { KeyId, RequestId } from '../../contract/ids.ts';
import type { Hold, Refusal } from '../keys.ts';
import { refund, refusalOf, reserve, settle } from './funds.ts';
import {
  correctTokens,
  countRequest,
  countsAt,
  exceededBy,
  standingOf,
  type RateStanding,
} from '../../core/money/rates.ts';
import type { Account, UnitOfWork } from './unit-of-work.ts';
import type { RecordRow } from './rows.ts';

type RateRefusal = Extract<Refusal, 'invalid_api_key' | 'rate_limit_exceeded'>;

export interface CountedRow {
  readonly refused: RateRefusal | null;
  readonly rates: RateStanding | null;
}

export type PaidRow =
  | { readonly kind: 'duplicate'; readonly record: RecordRow }
  | { readonly kind: 'accepted' | 'late' | Refusal; readonly rates: RateStanding | null };

export type Charges = ReturnType<typeof prepareCharges>;

type Settled = Pick<RecordRow, 'requestId' | 'key' | 'heldMicro' | 'costMicro'>;

type Held = NotHeld<Refusal> | { readonly key: number; readonly rates: RateStanding | null };

interface NotHeld<Why> {
  readonly refused: Why;
  readonly rates: RateStanding | null;
}

/** Returns the charges, which run inside the transaction that changes the record. */
export function prepareCharges({ funding: funds, noteUsage, takeBackUsage }: Omit<UnitOfWork, 'add' | 'flush'>) {
  function takeHold(requestId: RequestId, hold: Hold, atMs: number): Held {
    const account = findUsable(hold.keyId, hold.tokens, atMs);
    if ('refused' in account) return account;
    const refused = refusalOf(account, account, hold, atMs);
    if (refused !== undefined) return { refused, rates: null };
    if (hold.heldMicro > 0) funds.write(account.seq, reserve(account, hold.heldMicro));
    if (account.balanceMicro !== null) {
      const amountMicro = -hold.heldMicro;
      funds.enter({ key: account.seq, kind: 'reserve', amountMicro, requestId, createdAtMs: atMs });
    }
    return { key: account.seq, rates: count(account, hold.tokens, atMs) };
  }

  function takeRate(keyId: KeyId, tokens: number, atMs: number): CountedRow {
    const account = findUsable(keyId, tokens, atMs);
    return 'refused' in account ? account : { refused: null, rates: count(account, tokens, atMs) };
  }

  function correctRate(keyId: KeyId, minute: number, tokens: number): null {
    const account = funds.find(keyId);
    const counts = account && correctTokens(account, minute, tokens);
    if (account !== undefined && counts !== undefined) funds.count(account.seq, counts);
    return null;
  }

  function findUsable(keyId: KeyId, tokens: number, atMs: number): Account | NotHeld<RateRefusal> {
    const account = funds.find(keyId);
    if (account === undefined || account.isDisabled === 1) return { refused: 'invalid_api_key', rates: null };
    const { expiresAtMs, clockMs = atMs } = account;
    if (expiresAtMs !== null && expiresAtMs <= atMs) return { refused: 'invalid_api_key', rates: null };
    if (exceededBy(tokens, account, countsAt(account, clockMs)) === undefined) return account;
    return { refused: 'rate_limit_exceeded', rates: standingOf(account, clockMs) };
  }

  function count(account: Account, tokens: number, atMs: number): RateStanding | null {
    const { seq, clockMs = atMs } = account;
    if (standingOf(account, clockMs) === null) return null;
    const counts = countRequest(countsAt(account, clockMs), tokens);
    funds.count(seq, counts);
    return standingOf({ ...account, ...counts }, clockMs);
  }

  function end(closed: RecordRow): void {
    settleHold(closed, closed.completedAtMs ?? closed.createdAtMs);
    noteUsage(closed);
  }

  /** Each record is settled once: when it becomes final or is deleted. */
  function settleHold({ requestId, key, ...record }: Settled, atMs: number): void {
    const [heldMicro, costMicro] = [record.heldMicro ?? 0, record.costMicro ?? 0];
    if (key === null || (heldMicro === 0 && costMicro === 0)) return;
    const account = funds.of(key);
    // The key may have been deleted meanwhile, with its ledger.
    if (account === undefined) return;
    const settled = settle(account, { heldMicro, costMicro, atMs });
    funds.write(key, settled.funds);
    if (account.balanceMicro === null) return;
    const entry = { key, requestId, createdAtMs: atMs };
    funds.enter({ ...entry, kind: 'release', amountMicro: heldMicro });
    funds.enter({ ...entry, kind: 'settle', amountMicro: -settled.chargedMicro });
  }

  /** Takes back what `end` has charged and counted. */
  function undoEnd(closed: RecordRow): void {
    takeBackUsage(closed);
    const { requestId, key, costMicro, completedAtMs, createdAtMs } = closed;
    const account = key === null ? undefined : funds.of(key);
    if (account === undefined || costMicro === null || costMicro === 0) return;
    const { seq, balanceMicro } = account;
    const atMs = completedAtMs ?? createdAtMs;
    const refunded = refund(account, { costMicro, atMs });
    funds.write(seq, refunded.funds);
    if (balanceMicro === null) return;
    funds.enter({ key: seq, requestId, createdAtMs: atMs, kind: 'settle', amountMicro: refunded.refundedMicro });
  }

  return { takeHold, settleHold, end, undoEnd, takeRate, correctRate };
}

import type { GroupId, KeyId, RequestId } from '../../contract/ids.ts';
import { isGroupId, WHOLE_GATEWAY } from '../../core/ids.ts';
import type { Hold, Refusal } from '../../core/books/keys.ts';
import { refund, refusalOf, reserve, settle } from './funds.ts';
import {
  correctTokens,
  countRequest,
  countsAt,
  exceededBy,
  standingOf,
  tighterOf,
  type RateCorrection,
  type RateStanding,
} from '../../core/money/rates.ts';
import type { Calendar } from '../calendar.ts';
import type { Account, OpenUnit } from './unit-of-work.ts';
import type { BegunRow, RecordRow } from '../rows/records.ts';

type RateRefusal = Extract<Refusal, 'invalid_api_key' | 'rate_limit_exceeded'>;

export interface CountedRow {
  readonly refused: RateRefusal | null;
  readonly ofGroup: GroupId | null;
  readonly rates: RateStanding | null;
}

export type PaidRow =
  | { readonly kind: 'duplicate'; readonly record: RecordRow }
  | { readonly kind: 'accepted'; readonly rates: RateStanding | null }
  | { readonly kind: 'late'; readonly rates: null }
  | { readonly kind: Refusal; readonly ofGroup: GroupId | null; readonly rates: RateStanding | null };

type Held = NotHeld<Refusal> | { readonly key: Account; readonly rates: RateStanding | null };

type Payers = readonly [key: Account, ...groups: Account[]];

export type Charges = ReturnType<typeof prepareCharges>;

interface NotHeld<Why> {
  readonly refused: Why;
  readonly ofGroup: GroupId | null;
  readonly rates: RateStanding | null;
}

/** Returns the charges, which run inside the transaction that changes the record. The calendar has the days of spend limits. */
export function prepareCharges({ funding: funds, noteUsage, takeBackUsage }: OpenUnit, calendar: Calendar) {
  /** `groupId` is that of the record, if the key can have been moved since. */
  function takeHold(requestId: RequestId, hold: Hold, atMs: number, groupId?: GroupId | null): Held {
    const payers = findUsable(hold.keyId, hold.tokens, atMs, groupId);
    if ('refused' in payers) return payers;
    for (const payer of payers) {
      const refused = refusalOf(payer, payer, hold, calendar.at(atMs));
      if (refused !== undefined) return { refused, ofGroup: groupOf(payer), rates: null };
    }
    const counted = count(payers, hold.tokens, atMs);
    for (const payer of counted) {
      if (hold.heldMicro > 0) funds.write(reserve(payer, hold.heldMicro));
      if (payer.balanceMicro === null) continue;
      funds.enter({ key: payer.seq, kind: 'reserve', amountMicro: -hold.heldMicro, requestId, createdAtMs: atMs });
    }
    return { key: payers[0], rates: standingOfAll(counted, atMs) };
  }

  function takeRate(keyId: KeyId, tokens: number, atMs: number): CountedRow {
    const payers = findUsable(keyId, tokens, atMs);
    if ('refused' in payers) return payers;
    return { refused: null, ofGroup: null, rates: standingOfAll(count(payers, tokens, atMs), atMs) };
  }

  function correctRate(record: BegunRow, correction: RateCorrection | null): void {
    if (correction === null) return;
    for (const account of payersOf(record)) {
      const counts = correctTokens(account, correction);
      if (counts !== undefined) funds.write({ ...account, ...counts });
    }
  }

  function findUsable(
    keyId: KeyId,
    tokens: number,
    atMs: number,
    ofRecord?: GroupId | null,
  ): Payers | NotHeld<RateRefusal> {
    const key = funds.find(keyId);
    if (key === undefined) return { refused: 'invalid_api_key', ofGroup: null, rates: null };
    const groupId = ofRecord === undefined ? key.groupId : ofRecord;
    const group = groupId === null ? undefined : funds.find(groupId);
    if (groupId !== null && group === undefined) return { refused: 'invalid_api_key', ofGroup: groupId, rates: null };
    const payers: Payers = [key, ...[group, funds.find(WHOLE_GATEWAY)].filter((payer) => payer !== undefined)];
    const unusable = payers.find((payer) => !isUsable(payer, atMs));
    if (unusable !== undefined) return { refused: 'invalid_api_key', ofGroup: groupOf(unusable), rates: null };
    const full = payers.find((payer) => {
      return exceededBy(tokens, payer, countsAt(payer, payer.clockMs ?? atMs)) !== undefined;
    });
    if (full === undefined) return payers;
    return { refused: 'rate_limit_exceeded', ofGroup: groupOf(full), rates: standingOfAll(payers, atMs) };
  }

  function count(payers: Payers, tokens: number, atMs: number): readonly Account[] {
    return payers.map((payer) => {
      const atMsHere = payer.clockMs ?? atMs;
      if (standingOf(payer, atMsHere) === null) return payer;
      const counted = { ...payer, ...countRequest(countsAt(payer, atMsHere), tokens) };
      funds.write(counted);
      return counted;
    });
  }

  function end(closed: RecordRow): void {
    settleHold(closed, closed.completedAtMs ?? closed.createdAtMs);
    noteUsage(closed);
  }

  /** Each record is settled once: when it becomes final or is deleted. */
  function settleHold(record: RecordRow, atMs: number): void {
    const [heldMicro, costMicro] = [record.heldMicro ?? 0, record.costMicro ?? 0];
    if (record.key === null || (heldMicro === 0 && costMicro === 0)) return;
    for (const account of payersOf(record)) {
      const { seq: key, balanceMicro } = account;
      const settled = settle(account, { heldMicro: heldBy(account, heldMicro), costMicro, today: calendar.at(atMs) });
      funds.write(settled.funds);
      if (balanceMicro === null) continue;
      const entry = { key, requestId: record.requestId, createdAtMs: atMs };
      funds.enter({ ...entry, kind: 'release', amountMicro: heldMicro });
      funds.enter({ ...entry, kind: 'settle', amountMicro: -settled.chargedMicro });
    }
  }

  /** Takes back what `end` has charged and counted of an interrupted request, which costs no more than its hold. */
  function undoEnd(closed: RecordRow): void {
    takeBackUsage(closed);
    const { requestId, costMicro, completedAtMs, createdAtMs } = closed;
    if (costMicro === null || costMicro === 0) return;
    const atMs = completedAtMs ?? createdAtMs;
    for (const account of payersOf(closed)) {
      const { seq: key, balanceMicro } = account;
      const refunded = refund(account, { costMicro, today: calendar.at(atMs) });
      funds.write(refunded.funds);
      if (balanceMicro === null) continue;
      funds.enter({ key, requestId, createdAtMs: atMs, kind: 'settle', amountMicro: refunded.refundedMicro });
    }
  }

  /** Either may have been deleted meanwhile, with its ledger. */
  function payersOf({ key, groupId }: BegunRow): readonly Account[] {
    if (key === null) return [];
    const groups = [groupId === null ? undefined : funds.find(groupId), funds.find(WHOLE_GATEWAY)];
    return [funds.of(key), ...groups].filter((payer) => payer !== undefined);
  }

  return { takeHold, settleHold, end, undoEnd, takeRate, correctRate };
}

function groupOf({ id }: Account): GroupId | null {
  return isGroupId(id) ? id : null;
}

/** A gateway that does not know the group of all keys may have held nothing there. */
function heldBy({ id, heldMicro }: Account, ofRecordMicro: number): number {
  return id === WHOLE_GATEWAY ? Math.min(heldMicro, ofRecordMicro) : ofRecordMicro;
}

function isUsable({ isDisabled, expiresAtMs }: Account, atMs: number): boolean {
  return isDisabled === 0 && (expiresAtMs === null || expiresAtMs > atMs);
}

function standingOfAll([key, group]: readonly Account[], atMs: number): RateStanding | null {
  const of = (account: Account | undefined) => account && standingOf(account, account.clockMs ?? atMs);
  const own = of(key) ?? null;
  return group === undefined ? own : tighterOf(own, of(group) ?? null, group.id);
}

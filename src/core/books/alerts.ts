import type { CalendarDay } from './keys.ts';
import type { SpendLimits, Spent } from '../money/limits.ts';
import type { AccountId, GroupId } from '../../contract/ids.ts';

export interface AlertStore {
  /** Returns accounts that have used at least `percent` of their credits or of a spend limit. */
  listSpending(query: SpendingQuery): Promise<readonly AccountSpending[]>;
  /**
   * Returns whether this call is the first one for the subject in this period with so high a level,
   * of all gateways on the database.
   */
  claimAlert(claim: AlertClaim): Promise<boolean>;
}

export interface SpendingQuery {
  readonly of: 'keys' | 'groups';
  /** With 0 all that have credits or a spend limit. */
  readonly percent: number;
  /** Begins with the newest, and continues below this number. */
  readonly beforeSeq?: number;
  readonly limit: number;
}

/** An account that can be used: it is neither disabled nor expired. */
export interface UsableAccount extends SpendLimits {
  readonly seq: number;
  readonly id: AccountId;
  readonly name: string;
  readonly groupId: GroupId | null;
  readonly groupName: string | null;
}

export interface AccountSpending extends UsableAccount, Spent {
  /** The credits after the latest grant or adjustment; null for an account that is not prepaid. */
  readonly fundedMicro: number | null;
  readonly fundedAtMs: number;
  /** The credits now, with those that are held. */
  readonly leftMicro: number;
  readonly today: CalendarDay;
}

export interface AlertClaim {
  /** At most 256 characters. */
  readonly subject: string;
  readonly period: string;
  readonly level: number;
  /** After this time the same level of the same period may be claimed again. */
  readonly againAfterMs?: number;
}

import { ApiError } from '../core/errors.ts';
import type { Holder } from '../accounts/caller.ts';

export interface SharesOptions {
  readonly capacity: number;
  /** The most that one request can need. No share is smaller, so that each request can run. */
  readonly largest: number;
  /** The part of the capacity that one holder may have at most; 1 sets no limit. */
  readonly callerShare: number;
}

/** One kind of thing that all callers share, such as requests that run or bytes of bodies. */
export interface Shares {
  readonly capacity: number;
  readonly used: number;
  /** `holderNow` says who holds it by now, since a stranger can be accepted meanwhile. */
  open(holderNow: () => Holder): Share;
}

export interface Share {
  /**
   * Throws ApiError `concurrency_limit_exceeded` if the holder has its share already, and
   * `server_overloaded` if nothing is left. Then nothing is taken.
   */
  take(amount: number): void;
  /** Gives back a part of what was taken. */
  giveBack(amount: number): void;
  /** Gives back all that was taken. */
  release(): void;
}

interface Allocation {
  readonly holderNow: () => Holder;
  holder: Holder;
  amount: number;
}

const KEPT_FREE = 1 / 4;
/** The last part is for callers that hold next to nothing, however many others hold much. */
const KEPT_FOR_NEWCOMERS = 1 / 16;
const NEWCOMER = 1 / 256;
const ALL_STRANGERS = 1 / 4;
const NETWORK_OF_STRANGERS = 1 / 8;
/** Each refusal looks at so many strangers that may have been accepted. To look at 250 took a tenth of its CPU. */
const LOOKS = 4;

/**
 * Returns shares of which nothing is taken. One holder may have all that is free but a quarter.
 * When less is free, each one that is active has an equal part. Strangers share a quarter.
 */
export function createShares({ capacity, largest, callerShare }: SharesOptions): Shares {
  const allocatedTo = new Map<string, number>();
  const ofStrangers = new Set<Allocation>();
  let used = 0;
  let usedByStrangers = 0;

  const atLeastLargest = (part: number): number => Math.max(largest, capacity * part);
  const most = atLeastLargest(callerShare);
  const mostOfNetwork = Math.min(most, atLeastLargest(NETWORK_OF_STRANGERS));
  const mostOfStrangers = atLeastLargest(ALL_STRANGERS);

  return {
    capacity,
    get used() {
      return used;
    },
    open(holderNow) {
      const allocation: Allocation = { holderNow, holder: holderNow(), amount: 0 };
      return {
        take(amount) {
          moveAccepted(allocation);
          if (allocation.holder.isStranger && isTooMuch(allocation.holder, amount)) moveSomeAccepted();
          if (isTooMuch(allocation.holder, amount)) throw overShare();
          if (used + amount > capacity) throw overloaded();
          count(allocation, amount);
        },
        giveBack: (amount) => count(allocation, -amount),
        release: () => count(allocation, -allocation.amount),
      };
    },
  };

  function isTooMuch({ name, isStranger }: Holder, amount: number): boolean {
    const before = allocatedTo.get(name) ?? 0;
    const limit = Math.min(isStranger ? mostOfNetwork : most, partOf(name, before, capacity - used - amount));
    return before + amount > limit || (isStranger && usedByStrangers + amount > mostOfStrangers);
  }

  function count(allocation: Allocation, amount: number): void {
    const { name, isStranger } = allocation.holder;
    allocation.amount += amount;
    used += amount;
    if (isStranger) usedByStrangers += amount;
    if (isStranger && allocation.amount > 0) ofStrangers.add(allocation);
    else ofStrangers.delete(allocation);
    const now = (allocatedTo.get(name) ?? 0) + amount;
    if (now > 0) allocatedTo.set(name, now);
    else allocatedTo.delete(name);
  }

  function moveSomeAccepted(): void {
    let looks = LOOKS;
    for (const allocation of ofStrangers) {
      if (looks-- === 0) return;
      // The others have their turn before it is looked at again.
      ofStrangers.delete(allocation);
      ofStrangers.add(allocation);
      moveAccepted(allocation);
    }
  }

  /** What a stranger took is its own once it is accepted, and room for other strangers. */
  function moveAccepted(allocation: Allocation): void {
    if (!allocation.holder.isStranger) return;
    const holder = allocation.holderNow();
    if (holder.isStranger) return;
    const { amount } = allocation;
    count(allocation, -amount);
    allocation.holder = holder;
    count(allocation, amount);
  }

  /** Returns how much a holder may have when so much is free afterwards. */
  function partOf(name: string, owned: number, free: number): number {
    if (free >= capacity * KEPT_FREE) return capacity;
    if (owned === used) return largest;
    if (free < capacity * KEPT_FOR_NEWCOMERS) return Math.max(1, capacity * NEWCOMER);
    const active = allocatedTo.size + (allocatedTo.has(name) ? 0 : 1);
    return atLeastLargest(1 / Math.max(2, active));
  }
}

function overShare(): ApiError {
  return new ApiError('concurrency_limit_exceeded', { headers: { 'retry-after': '1' } });
}

function overloaded(): ApiError {
  return new ApiError('server_overloaded', { headers: { 'retry-after': '1' } });
}

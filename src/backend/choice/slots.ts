import type { LastCallers } from './last-callers.ts';

/** The slots for requests at one backend, and who has them. */
export interface Slots {
  readonly running: number;
  hasRoom(): boolean;
  /**
   * Whether this caller may have one more. Where others have asked lately, the last quarter is for those who have less than an
   * equal part.
   */
  hasRoomFor(caller: string): boolean;
  /** How many this caller has. */
  of(caller: string): number;
  take(caller: string): void;
  free(caller: string): void;
}

/** A caller who was here within this time may come again. */
const LATELY_MS = 3_600_000;

/** Nobody has one at first. `most` may change; null sets no limit. */
export function createSlots(most: () => number | null, asked: LastCallers): Slots {
  const byCaller = new Map<string, number>();
  let running = 0;
  const of = (caller: string): number => byCaller.get(caller) ?? 0;

  return {
    get running() {
      return running;
    },
    hasRoom() {
      const max = most();
      return max === null || running < max;
    },
    hasRoomFor(caller) {
      const max = most();
      if (max === null) return true;
      const free = max - running;
      if (free <= 0) return false;
      const own = of(caller);
      if (own === 0 || free > Math.floor(max / 4) || !asked.hasOther(caller, LATELY_MS)) return true;
      return own < Math.floor(max / Math.min(4, Math.max(2, byCaller.size)));
    },
    of,
    take(caller) {
      running += 1;
      byCaller.set(caller, of(caller) + 1);
    },
    free(caller) {
      running -= 1;
      const left = of(caller) - 1;
      if (left > 0) byCaller.set(caller, left);
      else byCaller.delete(caller);
    },
  };
}

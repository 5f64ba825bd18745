import { setLast } from '../../core/set-last.ts';

/** Whose requests fail one after another. */
export interface FailingCallers {
  note(caller: string): void;
  /** A request of this caller is answered. Returns whether the caller was slow. */
  clear(caller: string): boolean;
  /** Whether this caller may have one request at a time. */
  isSlow(caller: string): boolean;
}

const FAILURES = 5;
/** Callers choose how many they are. The one that failed longest ago is forgotten first. */
const MAX_CALLERS = 1000;

/** Knows none at first. */
export function createFailingCallers(): FailingCallers {
  const failures = new Map<string, number>();
  const isSlow = (caller: string): boolean => (failures.get(caller) ?? 0) >= FAILURES;

  return {
    note(caller) {
      setLast(failures, caller, (failures.get(caller) ?? 0) + 1, MAX_CALLERS);
    },
    clear(caller) {
      const wasSlow = isSlow(caller);
      failures.delete(caller);
      return wasSlow;
    },
    isSlow,
  };
}

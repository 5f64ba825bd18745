import { setLast } from '../../core/set-last.ts';

/** Who was here lately. */
export interface LastCallers {
  note(caller: string): void;
  /** Whether anybody but this caller was here within this time. */
  hasOther(caller: string, withinMs: number): boolean;
}

/** The two who were here last are enough: one of them is another one than the caller in question. */
export function createLastCallers(nowMs: () => number): LastCallers {
  const atMs = new Map<string, number>();
  return {
    note: (caller) => setLast(atMs, caller, nowMs(), 2),
    hasOther: (caller, withinMs) => [...atMs].some(([other, at]) => other !== caller && nowMs() - at < withinMs),
  };
}

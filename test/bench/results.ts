import type { Figures } from './load.ts';
import { median } from './statistics.ts';

/** All figures of a run: what each target gave for each load, round by round. */
export interface Results {
  add(load: string, target: string, figures: Figures): void;
  /** The median over the rounds; not a number when it was not measured. */
  median(load: string, target: string, figure: string): number;
  toJSON(): object;
}

export function createResults(): Results {
  const rounds: Record<string, Record<string, Figures[]>> = {};
  return {
    add(load, target, figures) {
      ((rounds[load] ??= {})[target] ??= []).push(figures);
    },
    median: (load, target, figure) =>
      median((rounds[load]?.[target] ?? []).map((figures) => figures[figure] ?? Number.NaN)),
    toJSON: () => rounds,
  };
}

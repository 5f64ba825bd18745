import type { Figures } from './load.ts';
import { median } from './statistics.ts';

/** All figures of a run: what each target gave for each load, round by round. */
export interface Results {
  /** Rounds count from 1. */
  add(round: number, load: string, target: string, figures: Figures): void;
  /** The number of rounds. */
  readonly rounds: number;
  /** Not a number when it was not measured in this round. What was measured once is of all rounds. */
  at(round: number, load: string, target: string, figure: string): number;
  /** The median over the rounds; not a number when it was not measured. */
  median(load: string, target: string, figure: string): number;
  /** Between the least and the most of the rounds, in percent of the median to either side; 0 of a single round. */
  spread(load: string, target: string, figure: string): number;
  toJSON(): object;
}

export function createResults(): Results {
  const measured: Record<string, Record<string, Figures[]>> = {};
  let rounds = 0;
  const valuesOf = (load: string, target: string, figure: string) =>
    // A round in which it failed has left a hole.
    (measured[load]?.[target] ?? []).flatMap((figures) => figures?.[figure] ?? []);
  return {
    add(round, load, target, figures) {
      rounds = Math.max(rounds, round);
      ((measured[load] ??= {})[target] ??= [])[round - 1] = figures;
    },
    get rounds() {
      return rounds;
    },
    at(round, load, target, figure) {
      const values = valuesOf(load, target, figure);
      const [only = Number.NaN] = values;
      return measured[load]?.[target]?.[round - 1]?.[figure] ?? (values.length === 1 ? only : Number.NaN);
    },
    median: (load, target, figure) => median(valuesOf(load, target, figure)),
    spread(load, target, figure) {
      const values = valuesOf(load, target, figure);
      return (50 * (Math.max(...values) - Math.min(...values))) / median(values);
    },
    toJSON: () => measured,
  };
}

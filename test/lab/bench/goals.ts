/** What the gateway sets out to reach, beside what a run has found. The table names them; it fails no run. */
import { agentsName, FIRST_BYTE, HEIGHT, TURN_CPU } from './loads/agents.ts';
import { RESIDENT } from './loads/start-up.ts';
import { formatNumber, formatTable } from './report.ts';
import type { Results } from './results.ts';
import { median } from './statistics.ts';
import { MANAGED_ON_POSTGRES, RECORDS, TRANSLATOR } from './targets.ts';

export interface Goal {
  readonly name: string;
  readonly atMost: number;
  /** Of one round, out of what was measured in it. */
  readonly value: (at: At) => number;
}

type At = (load: string, target: string, figure: string) => number;

const besideTranslator =
  (load: string, figure: string, target = RECORDS) =>
  (at: At): number =>
    at(load, target, figure) / at(load, TRANSLATOR, figure);

/** By the bytes of the history: what a turn may cost beside the minimal translator, plain and with managed keys on PostgreSQL. */
const TURNS = [
  [20_000, 1.25, 1.6],
  [100_000, 1.25, 1.5],
  [400_000, 1, 1.2],
  [1_000_000, 1, 1.2],
] as const;

export const GOALS: readonly Goal[] = [
  ...TURNS.map(([bytes, atMost]) => ({
    name: `CPU per turn, ${agentsName(8, bytes)}, × translator`,
    atMost,
    value: besideTranslator(agentsName(8, bytes), TURN_CPU),
  })),
  ...TURNS.map(([bytes, , atMost]) => ({
    name: `the same on PostgreSQL with managed keys, ${agentsName(8, bytes)}`,
    atMost,
    value: besideTranslator(agentsName(8, bytes), TURN_CPU, MANAGED_ON_POSTGRES),
  })),
  {
    name: `first byte p99, ${agentsName(8, 400_000)}, × translator`,
    atMost: 1.25,
    value: besideTranslator(agentsName(8, 400_000), FIRST_BYTE),
  },
  {
    name: `memory at the height, ${agentsName(64, 400_000)}, × translator`,
    atMost: 1.5,
    value: besideTranslator(agentsName(64, 400_000), HEIGHT),
  },
  { name: 'MB resident when started', atMost: 100, value: (at) => at('start', RECORDS, RESIDENT) },
];

export const GOAL_COLUMNS = ['goal', 'at most', 'found', 'from', 'to', 'reached'];

/** A row for each goal: the median of its rounds, the least and the most of them, and whether the median reaches it. */
export function assess(goals: readonly Goal[], results: Results): string[][] {
  return goals.map(({ name, atMost, value }) => {
    const values = Array.from({ length: results.rounds }, (_, index) =>
      value((load, target, figure) => results.at(index + 1, load, target, figure)),
    ).filter((one) => Number.isFinite(one));
    const found = median(values);
    return [
      name,
      ...[atMost, found, Math.min(...values), Math.max(...values)].map(formatNumber),
      Number.isNaN(found) ? '–' : found <= atMost ? 'yes' : 'no',
    ];
  });
}

/** A line for each goal of which the run has measured what it takes. */
export function describeGoals(results: Results): string {
  const rows = assess(GOALS, results).filter(([, , found]) => found !== '–');
  return rows.length === 0 ? '' : `${formatTable(GOAL_COLUMNS, rows)}\n`;
}

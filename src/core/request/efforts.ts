import type { ReasoningEffort } from '../../contract/types.ts';

/** They go from least to most, without "none", which switches reasoning off. */
const EFFORTS: readonly ReasoningEffort[] = ['minimal', 'low', 'medium', 'high', 'xhigh', 'max'];

/** Returns the effort if it is known or "none", else the next lower one that is known, else the lowest. */
export function roundEffort(effort: ReasoningEffort, known: readonly ReasoningEffort[]): ReasoningEffort {
  if (effort === 'none' || known.includes(effort)) return effort;
  const steps = EFFORTS.filter((step) => known.includes(step));
  return steps.findLast((step) => EFFORTS.indexOf(step) < EFFORTS.indexOf(effort)) ?? steps[0] ?? 'none';
}

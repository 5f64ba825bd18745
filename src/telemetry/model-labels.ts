export interface ModelLabels {
  /** Returns `other` beyond the first `max` answered models, and `unknown` without a model. */
  labelOf(model: string | undefined, answered: boolean): string;
}

/** Limits the values of a label, since callers can invent any number and each costs memory. */
export function createModelLabels(max: number): ModelLabels {
  const known = new Set<string>();
  return {
    labelOf(model, answered) {
      if (model === undefined) return 'unknown';
      if (answered && known.size < max) known.add(model);
      return known.has(model) ? model : 'other';
    },
  };
}

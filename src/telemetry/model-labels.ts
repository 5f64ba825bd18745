/** The values of a label that callers choose. */
export interface ModelLabels {
  /**
   * Returns the model if it is one of the first that a backend has answered for, `other` if it is
   * not, and `unknown` if the request was not parsed.
   */
  labelOf(model: string | undefined, answered: boolean): string;
}

/**
 * Limits the values, since each costs memory here and in Prometheus, and callers can invent any
 * number.
 */
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

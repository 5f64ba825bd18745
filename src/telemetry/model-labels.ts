/** The values of a label that callers choose. */
export interface ModelLabels {
  /**
   * The model itself when it is one of the first that a backend has answered for, `other` when it is not, and `unknown` when
   * nobody has looked which model it is.
   */
  labelOf(model: string | undefined, answered: boolean): string;
}

/** Every value of a label costs memory here and in Prometheus for ever, and callers can invent as many as they like. */
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

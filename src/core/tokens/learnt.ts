/**
 * A number that is learnt for each model, from the requests of many callers. Each caller has what
 * its own requests teach. Callers without any share a mix, in which each caller has little weight.
 */
export interface Learnt {
  /** Returns the caller's own number, else that of the mix. */
  valueFor(model: string, caller: string): number;
  /** Returns the larger one of both: what a caller has taught makes nothing cheaper for it. */
  largestFor(model: string, caller: string): number;
  /** Returns the caller's own number, but no less than this part of the mix; else that of the mix. */
  ownOrPartFor(model: string, caller: string, part: number): number;
  observe(model: string, caller: string, seen: number): void;
  /** Whether anybody has observed the model. */
  knows(model: string): boolean;
}

export interface LearntOptions {
  /** The value before anything is learnt. */
  readonly first: number;
  readonly min: number;
  readonly max: number;
}

interface Own {
  value: number;
  /** What the caller adds to the logarithm of the mix. */
  share: number;
}

const WEIGHT = 0.1;
/** One caller moves the mix to at most 1.25 times, and to at least 0.8 times, what it is without. */
const MAX_SHARE = Math.log(1.25);
const MAX_CALLERS = 10_000;
const MAX_MODELS_OF_CALLER = 64;

/** Nobody displaces what another caller has taught but by the number of callers. */
export function createLearnt({ first, min, max }: LearntOptions): Learnt {
  const callers = new Map<string, Map<string, Own>>();
  const mixes = new Map<string, { sum: number; callers: number }>();

  function mixOf(model: string): number {
    return clamp(first * Math.exp(mixes.get(model)?.sum ?? 0), min, max);
  }

  function ownOf(model: string, caller: string): Own | undefined {
    return callers.get(caller)?.get(model);
  }

  function add(model: string, change: { readonly share: number; readonly callers: number }): void {
    const mix = mixes.get(model) ?? { sum: 0, callers: 0 };
    mix.sum += change.share;
    mix.callers += change.callers;
    if (mix.callers > 0) mixes.set(model, mix);
    else mixes.delete(model);
  }

  function forget(model: string, { share }: Own): void {
    add(model, { share: -share, callers: -1 });
  }

  /** Returns the models of a caller, which becomes the one seen last. */
  function modelsOf(caller: string): Map<string, Own> {
    const models = callers.get(caller) ?? new Map<string, Own>();
    callers.delete(caller);
    callers.set(caller, models);
    const [oldest] = callers;
    if (callers.size > MAX_CALLERS && oldest !== undefined) {
      callers.delete(oldest[0]);
      for (const [model, own] of oldest[1]) forget(model, own);
    }
    return models;
  }

  return {
    valueFor: (model, caller) => ownOf(model, caller)?.value ?? mixOf(model),
    largestFor: (model, caller) => Math.max(ownOf(model, caller)?.value ?? min, mixOf(model)),
    ownOrPartFor(model, caller, part) {
      const mix = mixOf(model);
      return Math.max(ownOf(model, caller)?.value ?? mix, mix * part);
    },
    observe(model, caller, seen) {
      const bounded = clamp(seen, min, max);
      const models = modelsOf(caller);
      const own = models.get(model) ?? { value: bounded, share: 0 };
      if (models.has(model)) models.delete(model);
      else add(model, { share: 0, callers: 1 });
      models.set(model, own);
      own.value += (bounded - own.value) * WEIGHT;
      const step = WEIGHT * Math.log(bounded / mixOf(model));
      const share = clamp(own.share + step, -MAX_SHARE, MAX_SHARE);
      add(model, { share: share - own.share, callers: 0 });
      own.share = share;
      const [oldest] = models;
      if (models.size > MAX_MODELS_OF_CALLER && oldest !== undefined) {
        models.delete(oldest[0]);
        forget(...oldest);
      }
    },
    knows: (model) => mixes.has(model),
  };
}

function clamp(value: number, min: number, max: number): number {
  return Math.min(max, Math.max(min, value));
}

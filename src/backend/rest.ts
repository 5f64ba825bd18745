/** Whether a backend is left alone for a while because it failed. */

export interface RestOptions {
  readonly nowMs: () => number;
  readonly onChange?: (state: RestState['kind'], restMs: number) => void;
}

export interface Rest {
  /** Whether a request may be sent now. */
  isOpen(): boolean;
  readonly state: RestState['kind'];
  /** Until it may be tried again; 0 for one that may be. */
  waitMs(): number;
  begin(): void;
  /** The backend has begun to answer, or has refused a request for a reason of the request. */
  answered(): void;
  /** An answer has come to its end. */
  succeeded(): void;
  /** Nothing can have run: it rests at once. */
  refused(retryAfterMs: number | undefined): void;
  /** A request may be the reason: only several in a row let it rest. */
  failed(): void;
  /** The request ended without a word of the backend. */
  leave(): void;
}

export type RestState =
  | { readonly kind: 'up'; readonly failures: number }
  /** `times` counts the rests since it was last up. */
  | { readonly kind: 'resting'; readonly untilMs: number; readonly times: number }
  /** One request tries it; another one may after `untilMs`. */
  | { readonly kind: 'trial'; readonly untilMs: number; readonly times: number };

const FAILURES = 3;
const FIRST_REST_MS = 1000;
const MAX_REST_MS = 60_000;
/** A backend that says more would be away for as long as it liked. */
const MAX_RETRY_AFTER_MS = 3_600_000;
/** A trial may wait long for its first byte. */
const TRIAL_MS = 60_000;

export function createRest({ nowMs, onChange }: RestOptions): Rest {
  let state: RestState = { kind: 'up', failures: 0 };

  function change(next: RestState): void {
    const isNews = state.kind !== next.kind;
    state = next;
    if (isNews) onChange?.(next.kind, next.kind === 'up' ? 0 : next.untilMs - nowMs());
  }

  function rest(retryAfterMs?: number): void {
    // Requests that were on their way fail for the same reason.
    if (state.kind === 'resting') return;
    const times = state.kind === 'up' ? 1 : state.times + 1;
    const ownMs = Math.min(MAX_REST_MS, FIRST_REST_MS * 2 ** (times - 1));
    change({ kind: 'resting', times, untilMs: nowMs() + Math.min(MAX_RETRY_AFTER_MS, retryAfterMs ?? ownMs) });
  }

  return {
    isOpen: () => state.kind === 'up' || nowMs() >= state.untilMs,
    get state() {
      return state.kind;
    },
    waitMs: () => (state.kind === 'up' ? 0 : Math.max(0, state.untilMs - nowMs())),
    begin() {
      if (state.kind !== 'up') change({ kind: 'trial', times: state.times, untilMs: nowMs() + TRIAL_MS });
    },
    answered() {
      if (state.kind === 'trial') change({ kind: 'up', failures: 0 });
    },
    succeeded() {
      if (state.kind !== 'resting') change({ kind: 'up', failures: 0 });
    },
    refused: rest,
    failed() {
      if (state.kind === 'up' && state.failures + 1 < FAILURES) state = { kind: 'up', failures: state.failures + 1 };
      else rest();
    },
    leave() {
      if (state.kind === 'trial') change({ kind: 'resting', times: state.times, untilMs: nowMs() });
    },
  };
}

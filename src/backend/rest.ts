/** Whether a backend is left alone for a while because it failed. */

import type { ErrorCode } from '../core/errors.ts';

export interface RestOptions {
  readonly nowMs: () => number;
  readonly onChange?: (change: RestChange) => void;
}

export interface RestChange {
  readonly state: RestState['kind'];
  /** 0 for one that is up. */
  readonly restMs: number;
  /** What it rests for; null for one that is up. */
  readonly reason: ErrorCode | null;
}

export interface Rest {
  /** Whether a request may be sent now. */
  isOpen(): boolean;
  /** A rest that is over is a `trial` which waits for its request. */
  readonly state: RestState['kind'];
  /** Why it last began to rest; null for one that is up. */
  readonly reason: ErrorCode | null;
  /** How often it has begun to rest. */
  readonly rests: number;
  /** Until it may be tried again; 0 for one that may be. */
  waitMs(): number;
  begin(): void;
  /** The backend has begun to answer, or has refused a request for a reason of the request. */
  answered(): void;
  /** An answer has come to its end. */
  succeeded(): void;
  /** Nothing can have run: it rests at once. */
  refused(reason: ErrorCode, retryAfterMs: number | undefined): void;
  /** A request may be the reason, also of a slow start: only several in a row let it rest. */
  failed(reason: ErrorCode): void;
  /** The request ended without a word of the backend. */
  leave(): void;
}

export type RestState =
  | { readonly kind: 'up'; readonly failures: number }
  | ({ readonly kind: 'resting' } & Spell)
  /** One request tries it; another one may after `untilMs`. */
  | ({ readonly kind: 'trial' } & Spell);

interface Spell {
  readonly untilMs: number;
  /** Counts the rests since it was last up. */
  readonly times: number;
  readonly reason: ErrorCode;
}

const FAILURES = 3;
const FIRST_REST_MS = 1000;
const MAX_REST_MS = 60_000;
/** A backend that says more would be away for as long as it liked. */
const MAX_RETRY_AFTER_MS = 3_600_000;
/** A trial may wait long for its first byte. */
const TRIAL_MS = 60_000;

export function createRest({ nowMs, onChange }: RestOptions): Rest {
  let state: RestState = { kind: 'up', failures: 0 };
  let rests = 0;

  function change(next: RestState): void {
    const isNews = state.kind !== next.kind;
    state = next;
    if (!isNews) return;
    if (next.kind === 'resting') rests += 1;
    const told =
      next.kind === 'up' ? { restMs: 0, reason: null } : { restMs: next.untilMs - nowMs(), reason: next.reason };
    onChange?.({ state: next.kind, ...told });
  }

  function rest(reason: ErrorCode, retryAfterMs?: number): void {
    // Requests that were on their way fail for the same reason.
    if (state.kind === 'resting') return;
    const times = state.kind === 'up' ? 1 : state.times + 1;
    const ownMs = Math.min(MAX_REST_MS, FIRST_REST_MS * 2 ** (times - 1));
    const untilMs = nowMs() + Math.min(MAX_RETRY_AFTER_MS, retryAfterMs ?? ownMs);
    change({ kind: 'resting', times, untilMs, reason });
  }

  return {
    isOpen: () => state.kind === 'up' || nowMs() >= state.untilMs,
    get state() {
      return state.kind === 'resting' && nowMs() >= state.untilMs ? 'trial' : state.kind;
    },
    get reason() {
      return state.kind === 'up' ? null : state.reason;
    },
    get rests() {
      return rests;
    },
    waitMs: () => (state.kind === 'up' ? 0 : Math.max(0, state.untilMs - nowMs())),
    begin() {
      if (state.kind !== 'up') change({ ...state, kind: 'trial', untilMs: nowMs() + TRIAL_MS });
    },
    answered() {
      if (state.kind === 'trial') change({ kind: 'up', failures: 0 });
    },
    succeeded() {
      if (state.kind !== 'resting') change({ kind: 'up', failures: 0 });
    },
    refused: rest,
    failed(reason) {
      if (state.kind === 'up' && state.failures + 1 < FAILURES) state = { kind: 'up', failures: state.failures + 1 };
      else rest(reason);
    },
    leave() {
      if (state.kind === 'trial') state = { ...state, kind: 'resting', untilMs: nowMs() };
    },
  };
}

/** Whether a backend, or a model there, is left alone for a while because it failed. */

import type { ErrorCode } from '../../core/errors.ts';
import { createLastCallers } from './last-callers.ts';

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
  /** Until it may be tried again; 0 for one that may be. */
  waitMs(): number;
  begin(): void;
  /** The backend has begun to answer, or has refused a request for a reason of the request. */
  answered(): void;
  /** An answer to this caller has come to its end. That ends a rest if the request began after the failures. */
  succeeded(caller: string, begunMs: number): void;
  /** No request can be the reason: it rests at once. */
  refused(reason: ErrorCode, retryAfterMs?: number): void;
  /**
   * The request of this caller may be the reason, also of a slow start. It rests after several such failures in a row, of at least
   * two callers where others were answered lately.
   */
  failed(reason: ErrorCode, caller: string, retryAfterMs?: number): void;
  /** The request failed elsewhere too, and is the reason. */
  doubted(): void;
  /** The request ended without a word of the backend. */
  leave(): void;
}

export type RestState =
  | { readonly kind: 'up' }
  | ({ readonly kind: 'resting' } & Spell)
  /** One request tries it; another one may after `untilMs`. */
  | ({ readonly kind: 'trial' } & Spell);

interface Spell {
  readonly untilMs: number;
  /** How long it rests. */
  readonly spellMs: number;
  /** Counts the rests since it was last up. */
  readonly times: number;
  readonly reason: ErrorCode;
}

const FAILURES = 3;
const FIRST_REST_MS = 1000;
/** Also where the backend asks for more, because others may have what one caller was refused. */
const MAX_REST_MS = 60_000;
/** Who was answered within this time would be hurt by a rest that another caller has caused. */
const LATELY_MS = 600_000;
/** A trial may wait long for its first byte. */
const TRIAL_MS = 60_000;

export function createRest({ nowMs, onChange }: RestOptions): Rest {
  let state: RestState = { kind: 'up' };
  /** Since an answer that began after the first of them has come to its end. */
  let failuresInRow = 0;
  let failingSinceMs = -Infinity;
  let failed = createLastCallers(nowMs);
  const answered = createLastCallers(nowMs);

  function change(next: RestState): void {
    const isNews = state.kind !== next.kind;
    state = next;
    if (!isNews) return;
    const details =
      next.kind === 'up' ? { restMs: 0, reason: null } : { restMs: next.untilMs - nowMs(), reason: next.reason };
    onChange?.({ state: next.kind, ...details });
  }

  function noteFailure(): void {
    if (failuresInRow === 0) failingSinceMs = nowMs();
    failuresInRow += 1;
  }

  function rest(reason: ErrorCode, retryAfterMs?: number): void {
    // Requests that were on their way fail for the same reason.
    if (state.kind === 'resting') return;
    const times = state.kind === 'up' ? 1 : state.times + 1;
    const ownMs = Math.min(MAX_REST_MS, FIRST_REST_MS * 2 ** (times - 1));
    const spellMs = Math.min(MAX_REST_MS, retryAfterMs ?? ownMs);
    change({ kind: 'resting', times, untilMs: nowMs() + spellMs, spellMs, reason });
  }

  /** A trial that says nothing of the backend is made again after as long a rest, so that it does not take request after request. */
  function restAgain(): void {
    if (state.kind === 'trial') change({ ...state, kind: 'resting', untilMs: nowMs() + state.spellMs });
  }

  function rise(): void {
    if (failuresInRow > 0) failed = createLastCallers(nowMs);
    failuresInRow = 0;
    change({ kind: 'up' });
  }

  return {
    isOpen: () => state.kind === 'up' || nowMs() >= state.untilMs,
    get state() {
      return state.kind === 'resting' && nowMs() >= state.untilMs ? 'trial' : state.kind;
    },
    get reason() {
      return state.kind === 'up' ? null : state.reason;
    },
    waitMs: () => (state.kind === 'up' ? 0 : Math.max(0, state.untilMs - nowMs())),
    begin() {
      if (state.kind !== 'up') change({ ...state, kind: 'trial', untilMs: nowMs() + TRIAL_MS });
    },
    answered() {
      if (state.kind === 'trial') rise();
    },
    succeeded(caller, begunMs) {
      answered.note(caller);
      if (failuresInRow === 0 || begunMs >= failingSinceMs) rise();
    },
    refused(reason, retryAfterMs) {
      noteFailure();
      rest(reason, retryAfterMs);
    },
    failed(reason, caller, retryAfterMs) {
      noteFailure();
      failed.note(caller);
      const isOfMany = failed.hasOther(caller, Infinity) || !answered.hasOther(caller, LATELY_MS);
      if (failuresInRow >= FAILURES && isOfMany) rest(reason, retryAfterMs);
      else restAgain();
    },
    doubted: restAgain,
    leave() {
      if (state.kind === 'trial') state = { ...state, kind: 'resting', untilMs: nowMs() };
    },
  };
}

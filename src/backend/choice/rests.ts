/** Whether a backend, or one model there, is left alone for a while. */

import { toApiError, type ErrorCode } from '../../core/errors.ts';
import { retryAfterMsOf } from '../reply-headers.ts';
import type { Blame } from './blame.ts';
import { createRest, type Rest, type RestChange } from './rest.ts';

/** The rests of one backend. Those that name no model are of the backend itself. */
export interface Rests extends Pick<Rest, 'isOpen' | 'state' | 'reason' | 'rests'> {
  /** Whether a request for this model may be sent now. */
  isOpenFor(model: string): boolean;
  /** Until a request may be sent, for this model if there is one. */
  waitMs(model?: string): number;
  begin(model: string): void;
  /** The backend has begun to answer. A slow start counts as a failure. */
  answered(request: RestingRequest, isSlow: boolean): void;
  succeeded(request: RestingRequest): void;
  /** A request that `failedElsewhere` too is the reason. */
  failed(
    request: RestingRequest,
    failure: { readonly thrown: unknown; readonly failedElsewhere: boolean },
    blame: Blame,
  ): void;
  leave(model: string): void;
}

export interface RestingRequest {
  readonly model: string;
  readonly caller: string;
  readonly begunMs: number;
}

export interface RestsOptions {
  readonly nowMs: () => number;
  readonly onChange: (change: RestChange & { readonly model?: string }) => void;
}

/** A caller can name as many models as it likes. */
const MAX_MODELS = 1000;

export function createRests({ nowMs, onChange }: RestsOptions): Rests {
  const rest = createRest({ nowMs, onChange });
  const ofModels = new Map<string, Rest>();

  /** A limit is of one model, and the others are answered as before. */
  function refuse(model: string, code: ErrorCode, retryAfterMs: number | undefined): void {
    let ofModel = ofModels.get(model);
    if (ofModel === undefined) {
      const [oldest] = ofModels.keys();
      if (oldest !== undefined && ofModels.size >= MAX_MODELS) ofModels.delete(oldest);
      ofModel = createRest({ nowMs, onChange: (change) => onChange({ model, ...change }) });
      ofModels.set(model, ofModel);
    }
    rest.answered();
    ofModel.refused(code, retryAfterMs);
  }

  return {
    isOpen: () => rest.isOpen(),
    get state() {
      return rest.state;
    },
    get reason() {
      return rest.reason;
    },
    get rests() {
      return rest.rests;
    },
    isOpenFor(model) {
      return rest.isOpen() && ofModels.get(model)?.isOpen() !== false;
    },
    waitMs(model) {
      const ofModel = model === undefined ? undefined : ofModels.get(model);
      return Math.max(rest.waitMs(), ofModel?.waitMs() ?? 0);
    },
    begin(model) {
      rest.begin();
      ofModels.get(model)?.begin();
    },
    answered({ model, caller, begunMs }, isSlow) {
      if (isSlow) rest.failed('upstream_timeout', caller);
      else rest.answered();
      const ofModel = ofModels.get(model);
      ofModel?.succeeded(caller, begunMs);
      if (ofModel?.state === 'up') ofModels.delete(model);
    },
    succeeded: ({ caller, begunMs }) => rest.succeeded(caller, begunMs),
    failed({ model, caller }, { thrown, failedElsewhere }, blame) {
      const { code } = toApiError(thrown);
      const retryAfterMs = retryAfterMsOf(thrown);
      if (blame === 'request') rest.answered();
      else if (blame === 'connection') rest.refused(code, retryAfterMs);
      else if (blame === 'model') refuse(model, code, retryAfterMs);
      else if (failedElsewhere) rest.doubted();
      else rest.failed(code, caller, retryAfterMs);
    },
    leave(model) {
      ofModels.get(model)?.leave();
      rest.leave();
    },
  };
}

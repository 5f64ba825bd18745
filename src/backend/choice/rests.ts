/** Whether a backend, or one model there, is left alone for a while. */

import { toApiError, type ErrorCode } from '../../core/errors.ts';
import { retryAfterMsOf } from '../reply-headers.ts';
import type { Blame } from './blame.ts';
import { createRest, type Rest, type RestChange } from './rest.ts';
import { setLast } from '../../core/set-last.ts';

/** The rests of one backend. */
export interface Rests {
  /** That of the backend itself. */
  readonly own: Rest;
  /** Whether a request for this model may be sent now. */
  isOpenFor(model: string): boolean;
  /** Until a request for this model may be sent. */
  waitMs(model: string): number;
  begin(model: string): void;
  /** The backend has begun to answer. A slow start counts as a failure. */
  answered(request: RestingRequest, isSlow: boolean): void;
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
  const own = createRest({ nowMs, onChange });
  const ofModels = new Map<string, Rest>();

  /** A limit is of one model, and the others are answered as before. */
  function refuse(model: string, code: ErrorCode, retryAfterMs: number | undefined): void {
    let ofModel = ofModels.get(model);
    if (ofModel === undefined) {
      ofModel = createRest({ nowMs, onChange: (change) => onChange({ model, ...change }) });
      setLast(ofModels, model, ofModel, MAX_MODELS);
    }
    own.answered();
    ofModel.refused(code, retryAfterMs);
  }

  return {
    own,
    isOpenFor(model) {
      return own.isOpen() && ofModels.get(model)?.isOpen() !== false;
    },
    waitMs: (model) => Math.max(own.waitMs(), ofModels.get(model)?.waitMs() ?? 0),
    begin(model) {
      own.begin();
      ofModels.get(model)?.begin();
    },
    answered({ model, caller, begunMs }, isSlow) {
      if (isSlow) own.failed('upstream_timeout', caller);
      else own.answered();
      const ofModel = ofModels.get(model);
      ofModel?.succeeded(caller, begunMs);
      if (ofModel?.state === 'up') ofModels.delete(model);
    },
    failed({ model, caller }, { thrown, failedElsewhere }, blame) {
      const { code } = toApiError(thrown);
      const retryAfterMs = retryAfterMsOf(thrown);
      if (blame === 'request') own.answered();
      else if (blame === 'connection') own.refused(code, retryAfterMs);
      else if (blame === 'model') refuse(model, code, retryAfterMs);
      else if (failedElsewhere) own.doubted();
      else own.failed(code, caller, retryAfterMs);
    },
    leave(model) {
      ofModels.get(model)?.leave();
      own.leave();
    },
  };
}

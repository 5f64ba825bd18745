import { ApiError } from '../core/errors.ts';
import type { RequestId } from '../core/ids.ts';

/** The requests which run in this process: what a cancel and a drain look up. */
export interface RunningRequests {
  /** A running request; its signal aborts with an ApiError that says why it ends early. */
  begin(requestId: RequestId): RunningRequest;
  /** False when the request does not run here. */
  cancel(requestId: RequestId): boolean;
  /** From now on nothing new is to begin. */
  drain(): void;
  /** Ends all of them by their failure path. */
  interrupt(): void;
  /** Resolves when none is left. */
  whenIdle(): Promise<void>;
  readonly draining: boolean;
}

export interface RunningRequest {
  readonly signal: AbortSignal;
  abort(reason: ApiError): void;
  end(): void;
}

export function createRunningRequests(): RunningRequests {
  const running = new Map<RequestId, AbortController>();
  let waiting: (() => void)[] = [];
  let draining = false;

  return {
    begin(requestId) {
      const controller = new AbortController();
      running.set(requestId, controller);
      return {
        signal: controller.signal,
        abort: (reason) => controller.abort(reason),
        end() {
          running.delete(requestId);
          if (running.size > 0) return;
          for (const resolve of waiting) resolve();
          waiting = [];
        },
      };
    },
    cancel(requestId) {
      const controller = running.get(requestId);
      controller?.abort(new ApiError('request_cancelled'));
      return controller !== undefined;
    },
    drain() {
      draining = true;
    },
    interrupt() {
      for (const controller of running.values()) controller.abort(new ApiError('gateway_interrupted'));
    },
    whenIdle() {
      if (running.size === 0) return Promise.resolve();
      return new Promise((resolve) => waiting.push(resolve));
    },
    get draining() {
      return draining;
    },
  };
}

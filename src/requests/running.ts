import { ApiError } from '../core/errors.ts';
import type { RequestId } from '../contract/ids.ts';
import { createStopController, type StopSignal } from '../core/stop-signal.ts';

/** The requests which run in this process: what a cancel and a drain look up. */
export interface RunningRequests {
  /** A running request; its signal aborts with an ApiError that says why it ends early. */
  begin(requestId: RequestId): RunningRequest;
  /**
   * Cancels the request, if it runs here, as soon as this says true. Until then the request does not end by itself, so that
   * its client is told what its record says. Resolves after that; rejects as `asked` does, and then nothing is cancelled.
   */
  cancelIf(requestId: RequestId, asked: Promise<boolean>): Promise<void>;
  /** From now on nothing new is to begin. */
  drain(): void;
  /** Ends all of them by their failure path. */
  interrupt(): void;
  /** Resolves when none is left. */
  whenIdle(): Promise<void>;
  readonly draining: boolean;
  /** Whether anything runs. */
  readonly busy: boolean;
}

export interface RunningRequest {
  readonly signal: StopSignal;
  /** Set when somebody has asked for a cancel; resolves when that is decided, and the signal has aborted if it was in time. */
  readonly cancelDecided: Promise<void> | undefined;
  abort(reason: ApiError): void;
  end(): void;
}

interface Run extends RunningRequest {
  cancelDecided: Promise<void> | undefined;
}

/** Begins with none, and open for new ones. */
export function createRunningRequests(): RunningRequests {
  const running = new Map<RequestId, Run>();
  let waiting: (() => void)[] = [];
  let draining = false;

  return {
    begin(requestId) {
      const controller = createStopController();
      const run: Run = {
        signal: controller.signal,
        cancelDecided: undefined,
        abort: (reason) => controller.abort(reason),
        end() {
          running.delete(requestId);
          if (running.size > 0) return;
          for (const resolve of waiting) resolve();
          waiting = [];
        },
      };
      running.set(requestId, run);
      return run;
    },
    cancelIf(requestId, asked) {
      const run = running.get(requestId);
      const decided = abortIf(asked, run);
      if (run !== undefined) {
        // The last of several decisions; none of them is a failure of the request.
        run.cancelDecided = Promise.allSettled([run.cancelDecided, decided]).then(() => undefined);
      }
      return decided;
    },
    drain() {
      draining = true;
    },
    interrupt() {
      for (const run of running.values()) run.abort(new ApiError('gateway_interrupted'));
    },
    whenIdle() {
      if (running.size === 0) return Promise.resolve();
      return new Promise((resolve) => waiting.push(resolve));
    },
    get draining() {
      return draining;
    },
    get busy() {
      return running.size > 0;
    },
  };
}

/** Throws ApiError `gateway_draining` where nothing new is to begin. */
export function refuseWhileDraining({ draining }: Pick<RunningRequests, 'draining'>): void {
  if (draining) throw new ApiError('gateway_draining', { headers: { 'retry-after': '1' } });
}

async function abortIf(asked: Promise<boolean>, run: Run | undefined): Promise<void> {
  if (await asked) run?.abort(new ApiError('request_cancelled'));
}

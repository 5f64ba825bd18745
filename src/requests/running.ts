import { ApiError } from '../core/errors.ts';
import type { RequestId } from '../contract/ids.ts';
import { createStopController, type StopSignal } from '../core/stop-signal.ts';

export interface CancellableRequests {
  /** Cancels the request when `asked` resolves with true. Until then the request does not end. */
  cancelIf(requestId: RequestId, asked: Promise<boolean>): Promise<void>;
}

export interface RunningRequests extends CancellableRequests {
  /** The signal aborts with an ApiError that says why the request ends early. */
  begin(requestId: RequestId): RunningRequest;
  leave(): void;
  /** Refuses new requests from now on. */
  drain(): void;
  interrupt(): void;
  /** Resolves when no request runs, at the latest after this time. */
  whenIdle(withinMs: number): Promise<void>;
  readonly leaving: boolean;
  readonly draining: boolean;
  readonly busy: boolean;
}

export interface RunningRequest {
  readonly signal: StopSignal;
  /** Resolves when a cancel is decided. The signal has aborted if the cancel was in time. */
  readonly cancelDecided: Promise<void> | undefined;
  abort(reason: ApiError): void;
  end(): void;
}

interface Run extends RunningRequest {
  cancelDecided: Promise<void> | undefined;
}

/** Returns a registry without requests, for one process. */
export function createRunningRequests(): RunningRequests {
  const running = new Map<RequestId, Run>();
  let waiting: (() => void)[] = [];
  let state: 'open' | 'leaving' | 'draining' = 'open';

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
        // A decision that fails is no failure of the request.
        run.cancelDecided = Promise.allSettled([run.cancelDecided, decided]).then(() => undefined);
      }
      return decided;
    },
    leave() {
      if (state === 'open') state = 'leaving';
    },
    drain() {
      state = 'draining';
    },
    interrupt() {
      for (const run of running.values()) run.abort(new ApiError('gateway_interrupted'));
    },
    whenIdle(withinMs) {
      if (running.size === 0) return Promise.resolve();
      return new Promise((resolve) => {
        const late = setTimeout(resolve, withinMs).unref();
        waiting.push(() => {
          clearTimeout(late);
          resolve();
        });
      });
    },
    get leaving() {
      return state !== 'open';
    },
    get draining() {
      return state === 'draining';
    },
    get busy() {
      return running.size > 0;
    },
  };
}

/** Throws ApiError `gateway_draining` during a drain. */
export function refuseWhileDraining({ draining }: RunningRequests): void {
  if (draining) throw new ApiError('gateway_draining', { headers: { 'retry-after': '1' } });
}

/** Cancels the request if it was asked for in time. Returns what the store says, as `asking` does. */
export async function cancelAsked<Asked extends { readonly kind: string }>(
  running: CancellableRequests,
  requestId: RequestId,
  asking: Promise<Asked | undefined>,
): Promise<Asked | undefined> {
  await running.cancelIf(
    requestId,
    asking.then((asked) => asked?.kind === 'asked'),
  );
  return asking;
}

async function abortIf(asked: Promise<boolean>, run: Run | undefined): Promise<void> {
  if (await asked) run?.abort(new ApiError('request_cancelled'));
}

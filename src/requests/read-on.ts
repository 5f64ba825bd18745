import { ApiError, isCancel } from '../core/errors.ts';
import { createStopController, type StopSignal } from '../core/stop-signal.ts';
import type { Telling } from './telling.ts';

interface WholeOrNot {
  readonly done: boolean;
}

/** A caller that leaves with the whole answer must not leave before it is known what that cost. */
export interface ReadingOn<Read extends WholeOrNot> {
  /** Aborts with the request, or a second later while only usage is awaited. */
  readonly signal: StopSignal;
  isForUsage(): boolean;
  take(read: Read): Promise<void> | undefined;
  /** Must be called when the backend is no longer read. */
  end(): void;
}

export interface Reader<Read extends WholeOrNot> {
  readonly awaitsUsage: () => boolean;
  /** A returned promise pauses the backend. */
  readonly take: (read: Read) => Promise<void> | undefined;
  /** Is called in the place of `take` when the request is over. Throws when it knows enough. */
  readonly takeUsage: (read: Read) => void;
}

const USAGE_AFTER_LEAVING_MS = 1000;

/** Returns how to read an answer of the backend to a request that may end before it. */
export function readOn<Read extends WholeOrNot>(
  telling: Telling,
  { awaitsUsage, take, takeUsage }: Reader<Read>,
): ReadingOn<Read> {
  const { signal } = telling;
  const controller = createStopController();
  let timer: NodeJS.Timeout | undefined;
  signal.addEventListener('abort', leave);
  if (signal.aborted) controller.abort(signal.reason);

  return {
    signal: controller.signal,
    isForUsage() {
      return timer !== undefined;
    },
    take(read) {
      if (timer !== undefined) {
        takeUsage(read);
        return undefined;
      }
      const notReady = telling.whenReady(read.done);
      if (notReady === undefined) return take(read)?.catch(unlessForUsage);
      return notReady.then(
        () => take(read)?.catch(unlessForUsage),
        (error: unknown) => {
          unlessForUsage(error);
          takeUsage(read);
        },
      );
    },
    end() {
      clearTimeout(timer);
      signal.removeEventListener('abort', leave);
    },
  };

  function leave(): void {
    const { reason } = signal;
    if (reason instanceof ApiError && isCancel(reason) && awaitsUsage())
      timer = setTimeout(() => controller.abort(reason), USAGE_AFTER_LEAVING_MS);
    else controller.abort(reason);
  }

  /** What waited for a client that reads slowly fails when the client leaves. */
  function unlessForUsage(error: unknown): void {
    if (timer === undefined) throw error;
  }
}

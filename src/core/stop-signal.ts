/** Every AbortSignal is one. One of Node per request took 3 % of the instructions of the main thread. */
export interface StopSignal {
  readonly aborted: boolean;
  readonly reason: unknown;
  throwIfAborted(): void;
  addEventListener(type: 'abort', listener: () => void): void;
  removeEventListener(type: 'abort', listener: () => void): void;
}

/** The first reason stays. */
export interface StopController {
  readonly signal: StopSignal;
  abort(reason: unknown): void;
}

/** Makes a signal that has not aborted. Its listeners are called once and must not throw. */
export function createStopController(): StopController {
  let listeners: (() => void)[] = [];
  const signal = {
    aborted: false,
    reason: undefined as unknown,
    throwIfAborted() {
      if (signal.aborted) throw signal.reason;
    },
    addEventListener(_type: 'abort', listener: () => void) {
      listeners.push(listener);
    },
    removeEventListener(_type: 'abort', listener: () => void) {
      listeners = listeners.filter((other) => other !== listener);
    },
  };
  return {
    signal,
    abort(reason) {
      if (signal.aborted) return;
      signal.aborted = true;
      signal.reason = reason;
      const called = listeners;
      listeners = [];
      for (const listener of called) listener();
    },
  };
}

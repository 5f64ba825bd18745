import type { StopSignal } from '../core/stop-signal.ts';

/** Who waits for a free place. Callers take turns, so that many requests of one hold up no other. */
export interface FairQueue<Place> {
  /** Resolves with a place. Rejects with the reason of the signal, or with what `expire` returns. */
  wait(waiting: Waiting<Place>): Promise<Place>;
  /** Gives the place to the next who wants it; returns whether there was one. */
  offer(place: Place): boolean;
  readonly length: number;
  /** Returns how many want this place. */
  count(place: Place): number;
}

export interface Waiting<Place> {
  readonly caller: string;
  readonly wants: (place: Place) => boolean;
  readonly signal: StopSignal;
  readonly timeoutMs: number;
  readonly expire: () => Error;
}

interface Waiter<Place> {
  readonly wants: (place: Place) => boolean;
  readonly take: (place: Place) => void;
}

export function createFairQueue<Place>(): FairQueue<Place> {
  const byCaller = new Map<string, Waiter<Place>[]>();
  let length = 0;

  function remove(caller: string, waiter: Waiter<Place>): void {
    const waiters = byCaller.get(caller) ?? [];
    const index = waiters.indexOf(waiter);
    if (index === -1) return;
    waiters.splice(index, 1);
    length -= 1;
    if (waiters.length === 0) byCaller.delete(caller);
  }

  return {
    get length() {
      return length;
    },
    count: (place) => [...byCaller.values()].flat().filter(({ wants }) => wants(place)).length,
    wait({ caller, wants, signal, timeoutMs, expire }) {
      const { promise, resolve, reject } = Promise.withResolvers<Place>();
      const waiter: Waiter<Place> = {
        wants,
        take(place) {
          leave();
          resolve(place);
        },
      };
      const timer = setTimeout(() => giveUp(expire()), timeoutMs);
      const onAbort = (): void => giveUp(signal.reason);
      signal.addEventListener('abort', onAbort);
      const waiters = byCaller.get(caller);
      if (waiters === undefined) byCaller.set(caller, [waiter]);
      else waiters.push(waiter);
      length += 1;
      return promise;

      function giveUp(reason: unknown): void {
        leave();
        reject(reason);
      }

      function leave(): void {
        clearTimeout(timer);
        signal.removeEventListener('abort', onAbort);
        remove(caller, waiter);
      }
    },
    offer(place) {
      for (const [caller, waiters] of byCaller) {
        const waiter = waiters.find(({ wants }) => wants(place));
        if (waiter === undefined) continue;
        waiter.take(place);
        const rest = byCaller.get(caller);
        // The caller goes to the end of the line.
        if (byCaller.delete(caller) && rest !== undefined) byCaller.set(caller, rest);
        return true;
      }
      return false;
    },
  };
}

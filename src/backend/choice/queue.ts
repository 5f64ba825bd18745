import type { StopSignal } from '../../core/stop-signal.ts';

/** Who waits for a free place. Callers take turns, so that many requests of one hold up no other, and who has the fewest places is first. */
export interface PlaceQueue<Place, Taken> {
  /** Resolves with what `take` returns. Rejects with the reason of the signal, or with what `expire` returns. */
  wait(waiting: Waiting<Place, Taken>): Promise<Taken>;
  /**
   * Gives the place to the next who wants it, and returns whether there is one. `placesOf` returns how many a caller has already, and
   * Infinity for one who may not have this one.
   */
  offer(place: Place, placesOf: (caller: string) => number): boolean;
  readonly length: number;
  /** Returns how many want this place. */
  count(place: Place): number;
}

export interface Waiting<Place, Taken> {
  readonly caller: string;
  readonly wants: (place: Place) => boolean;
  /** Is called before anybody else is offered a place. */
  readonly take: (place: Place) => Taken;
  readonly signal: StopSignal;
  readonly timeoutMs: number;
  readonly expire: () => Error;
}

interface Waiter<Place> {
  readonly wants: (place: Place) => boolean;
  readonly take: (place: Place) => void;
}

export function createPlaceQueue<Place, Taken>(): PlaceQueue<Place, Taken> {
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
    wait({ caller, wants, take, signal, timeoutMs, expire }) {
      const { promise, resolve, reject } = Promise.withResolvers<Taken>();
      const waiter: Waiter<Place> = {
        wants,
        take(place) {
          leave();
          resolve(take(place));
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
    offer(place, placesOf) {
      let next: { readonly caller: string; readonly waiter: Waiter<Place> } | undefined;
      let fewest = Infinity;
      for (const [caller, waiters] of byCaller) {
        const places = placesOf(caller);
        const waiter = places < fewest ? waiters.find(({ wants }) => wants(place)) : undefined;
        if (waiter !== undefined) [next, fewest] = [{ caller, waiter }, places];
      }
      if (next === undefined) return false;
      const { caller, waiter } = next;
      waiter.take(place);
      const rest = byCaller.get(caller);
      // The caller goes to the end of the line.
      if (byCaller.delete(caller) && rest !== undefined) byCaller.set(caller, rest);
      return true;
    },
  };
}

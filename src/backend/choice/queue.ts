import type { StopSignal } from '../../core/stop-signal.ts';

/** Who waits for a free slot. Callers take turns, so that many requests of one hold up no other, and who has the fewest slots is first. */
export interface SlotQueue<Slot, Taken> {
  /** Resolves with what `take` returns. Rejects with the reason of the signal, or with what `expire` returns. */
  wait(waiting: Waiting<Slot, Taken>): Promise<Taken>;
  /**
   * Gives the slot to the next who wants it, and returns whether there is one. `slotsOf` returns how many a caller has already, and
   * Infinity for one who may not have this one.
   */
  offer(slot: Slot, slotsOf: (caller: string) => number): boolean;
  readonly length: number;
  /** Returns how many want this slot. */
  count(slot: Slot): number;
}

export interface Waiting<Slot, Taken> {
  readonly caller: string;
  readonly wants: (slot: Slot) => boolean;
  /** Is called before anybody else is offered a slot. */
  readonly take: (slot: Slot) => Taken;
  readonly signal: StopSignal;
  readonly timeoutMs: number;
  readonly expire: () => Error;
}

interface Waiter<Slot> {
  readonly wants: (slot: Slot) => boolean;
  readonly take: (slot: Slot) => void;
}

export function createSlotQueue<Slot, Taken>(): SlotQueue<Slot, Taken> {
  const byCaller = new Map<string, Waiter<Slot>[]>();
  let length = 0;

  function remove(caller: string, waiter: Waiter<Slot>): void {
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
    count: (slot) => [...byCaller.values()].flat().filter(({ wants }) => wants(slot)).length,
    wait({ caller, wants, take, signal, timeoutMs, expire }) {
      const { promise, resolve, reject } = Promise.withResolvers<Taken>();
      const waiter: Waiter<Slot> = {
        wants,
        take(slot) {
          leave();
          resolve(take(slot));
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
    offer(slot, slotsOf) {
      let next: { readonly caller: string; readonly waiter: Waiter<Slot> } | undefined;
      let fewest = Infinity;
      for (const [caller, waiters] of byCaller) {
        const slots = slotsOf(caller);
        const waiter = slots < fewest ? waiters.find(({ wants }) => wants(slot)) : undefined;
        if (waiter !== undefined) [next, fewest] = [{ caller, waiter }, slots];
      }
      if (next === undefined) return false;
      const { caller, waiter } = next;
      waiter.take(slot);
      const rest = byCaller.get(caller);
      // The caller goes to the end of the line.
      if (byCaller.delete(caller) && rest !== undefined) byCaller.set(caller, rest);
      return true;
    },
  };
}

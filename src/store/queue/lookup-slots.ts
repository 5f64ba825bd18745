export interface LookupSlots<Call> {
  add(calls: readonly Call[]): void;
  readonly calls: readonly Call[];
  readonly size: number;
}

/** `run` must not reject. `onIdle` is called when the last call has ended. */
export function createLookupSlots<Call>({
  places,
  run,
  onIdle,
}: {
  readonly places: number;
  readonly run: (call: Call) => Promise<void>;
  readonly onIdle: () => void;
}): LookupSlots<Call> {
  const waiting: Call[] = [];
  const running = new Set<Call>();

  function fill(): void {
    while (running.size < places) {
      const call = waiting.shift();
      if (call === undefined) return;
      running.add(call);
      void serve(call);
    }
  }

  async function serve(call: Call): Promise<void> {
    await run(call);
    running.delete(call);
    fill();
    if (running.size === 0) onIdle();
  }

  return {
    add(calls) {
      waiting.push(...calls);
      fill();
    },
    get calls() {
      return [...running, ...waiting];
    },
    get size() {
      return running.size + waiting.length;
    },
  };
}

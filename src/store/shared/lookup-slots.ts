/** Calls that run beside the others, a few at a time: a slow one holds up nothing but those that wait for its place. */
export interface LookupSlots<Call> {
  /** Runs them as soon as there is a place for each, in their order. */
  add(calls: readonly Call[]): void;
  /** Those which run, and those which wait. */
  readonly calls: readonly Call[];
  readonly size: number;
}

/** `run` must not reject. `onIdle` is called when the last one is over. */
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

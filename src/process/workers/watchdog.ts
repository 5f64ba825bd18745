const EVERY_MS = 1000;
/** Much longer than a turn of the event loop takes, also on a busy machine. */
const WITHIN_MS = 20_000;

/**
 * Calls `onStuck` once when a process has not answered for 20 s. Time in which this process stood still does not count. Returns
 * a function that stops the pings.
 */
export function watchForStuck(
  ping: () => Promise<unknown>,
  onStuck: () => void,
  { everyMs = EVERY_MS, withinMs = WITHIN_MS } = {},
): () => void {
  /** Counts those since the ping that is not answered. */
  let ticks = 0;
  const noteAnswer = (): void => {
    ticks = 0;
  };
  const timer = setInterval(() => {
    if (ticks * everyMs >= withinMs) {
      clearInterval(timer);
      onStuck();
    } else if (ticks === 0) {
      // The supervisor sees by itself that a process has ended.
      ping().then(noteAnswer, noteAnswer);
    }
    ticks += 1;
  }, everyMs);
  timer.unref();
  return () => clearInterval(timer);
}

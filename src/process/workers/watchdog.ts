const EVERY_MS = 5000;
const WITHIN_MS = 60_000;

/**
 * Calls `onStuck` once when a process has not answered for a minute. Returns a function that stops
 * the pings.
 */
export function watchForStuck(
  ping: () => Promise<unknown>,
  onStuck: () => void,
  { everyMs = EVERY_MS, withinMs = WITHIN_MS } = {},
): () => void {
  let askedAtMs: number | undefined;
  const timer = setInterval(() => {
    const nowMs = performance.now();
    if (askedAtMs === undefined) {
      askedAtMs = nowMs;
      const noteAnswer = (): void => {
        askedAtMs = undefined;
      };
      // The supervisor sees by itself that a process has ended.
      ping().then(noteAnswer, noteAnswer);
    } else if (nowMs - askedAtMs >= withinMs) {
      clearInterval(timer);
      onStuck();
    }
  }, everyMs);
  timer.unref();
  return () => clearInterval(timer);
}

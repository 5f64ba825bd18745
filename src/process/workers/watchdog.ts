const EVERY_MS = 5000;
const WITHIN_MS = 60_000;

/**
 * Asks now and then whether a process still does anything; calls `onStuck`, once, when it has not answered for a minute: it
 * would keep its connections for ever, while others answer the health checks. Returns a function that stops it.
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
      // When it has ended, which is seen elsewhere, this is stopped.
      ping().then(noteAnswer, noteAnswer);
    } else if (nowMs - askedAtMs >= withinMs) {
      clearInterval(timer);
      onStuck();
    }
  }, everyMs);
  timer.unref();
  return () => clearInterval(timer);
}

/**
 * Returns the next wait in milliseconds. It doubles after each death, up to a limit, and begins
 * anew after a life that `wasSteady`.
 */
export function createBackOff({
  firstMs,
  atMostMs,
}: {
  readonly firstMs: number;
  readonly atMostMs: number;
}): (wasSteady: boolean) => number {
  let nextMs = firstMs;
  return (wasSteady) => {
    const waitMs = wasSteady ? firstMs : nextMs;
    nextMs = Math.min(waitMs * 2, atMostMs);
    return waitMs;
  };
}

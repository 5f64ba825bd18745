/**
 * Returns how long to wait before a process or a thread is started again, in milliseconds: twice as
 * long after each death, up to a limit, so that one which cannot live costs little. The waits begin
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

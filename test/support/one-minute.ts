/**
 * Runs a test of limits per minute, and runs it again while a minute has changed in its middle: what a database counts
 * begins anew then, and its clock is not ours to hold.
 */
export async function inOneMinute(
  test: () => Promise<void>,
  runningMinute: () => unknown = () => Math.floor(Date.now() / 60_000),
): Promise<void> {
  for (;;) {
    const before = await runningMinute();
    try {
      return await test();
    } catch (error) {
      if ((await runningMinute()) === before) throw error;
    }
  }
}

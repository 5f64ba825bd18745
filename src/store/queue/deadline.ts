/** Returns milliseconds of a clock that all processes and threads of this machine share, and that is never set. */
export function machineMs(): number {
  const [seconds, nanoseconds] = process.hrtime();
  return seconds * 1000 + nanoseconds / 1e6;
}

/** Returns whether the caller of a draft has been refused, so that the draft must not be accepted any more. */
export function isOver({ deadlineMs }: { readonly deadlineMs: number }): boolean {
  return deadlineMs <= machineMs();
}

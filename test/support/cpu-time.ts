/** The CPU time of this process in milliseconds: a busy machine does not count, as it would on a clock. */
export function cpuTimeMs(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1000;
}

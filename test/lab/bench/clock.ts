/** Milliseconds on a clock that all processes of the machine share and that nobody sets. */
export function machineMs(): number {
  const [seconds, nanos] = process.hrtime();
  return seconds * 1000 + nanos / 1e6;
}

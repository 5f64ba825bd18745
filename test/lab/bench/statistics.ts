export function median(values: readonly number[]): number {
  return percentile(values, 50);
}

/** The value below which so many percent lie; not a number when there are no values. */
export function percentile(values: readonly number[], percent: number): number {
  const sorted = Float64Array.from(values).sort();
  return sorted[Math.min(sorted.length - 1, Math.floor((sorted.length * percent) / 100))] ?? Number.NaN;
}

export function median(values: readonly number[]): number {
  return percentile(values, 50);
}

/** The value below which so many percent lie; not a number when there are no values. */
export function percentile(values: readonly number[], percent: number): number {
  const sorted = Float64Array.from(values).sort();
  return sorted[Math.min(sorted.length - 1, Math.floor((sorted.length * percent) / 100))] ?? Number.NaN;
}

/** By how much the values grow from one to the next, by least squares. */
export function slope(values: readonly number[]): number {
  const middle = (values.length - 1) / 2;
  const products = values.map((value, index) => (index - middle) * value);
  const squares = values.map((_, index) => (index - middle) ** 2);
  return products.reduce((sum, value) => sum + value, 0) / squares.reduce((sum, value) => sum + value, 0);
}

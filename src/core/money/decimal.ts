/** Returns `"1.25"` in units of 10^-decimals; undefined for anything but a plain decimal number. */
export function parseDecimal(text: string, decimals: number): bigint | undefined {
  const [, whole, fraction = ''] = /^(\d{1,9})(?:\.(\d+))?$/.exec(text) ?? [];
  if (whole === undefined || fraction.length > decimals) return undefined;
  return BigInt(whole + fraction.padEnd(decimals, '0'));
}

const MICRO_DECIMALS = 6;

/**
 * Returns `"10.00"` as 10000000 millionths; undefined for a negative, finer or malformed amount.
 */
export function parseAmount(text: string): number | undefined {
  const micro = parseDecimal(text, MICRO_DECIMALS);
  // At most fifteen digits are less than 2^53, so the number is exact.
  return micro === undefined ? undefined : Number(micro);
}

/** As `parseAmount`, but the amount may be negative: `"-2.5"` is -2500000. */
export function parseSignedAmount(text: string): number | undefined {
  if (!text.startsWith('-')) return parseAmount(text);
  const micro = parseAmount(text.slice(1));
  // `0 - micro`, because `-micro` would return -0 for "-0".
  return micro === undefined ? undefined : 0 - micro;
}

/** Returns 10000000 millionths as `"10.00"`. Throws RangeError for an unsafe integer. */
export function formatAmount(micro: number): string {
  if (!Number.isSafeInteger(micro)) throw new RangeError('an amount is a safe integer');
  return `${micro < 0 ? '-' : ''}${formatDecimal(BigInt(Math.abs(micro)), MICRO_DECIMALS)}`;
}

/** Reverses `parseDecimal`, with at least two decimals. */
export function formatDecimal(units: bigint, decimals: number): string {
  const digits = String(units).padStart(decimals + 1, '0');
  const fraction = digits.slice(-decimals).replace(/0+$/, '').padEnd(2, '0');
  return `${digits.slice(0, -decimals)}.${fraction}`;
}

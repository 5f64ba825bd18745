/**
 * Decimal numbers, read and written as whole numbers of their smallest unit. Money is never a
 * float.
 */

/**
 * Reads `"1.25"` as a whole number of 10^-decimals. Returns undefined for anything but plain
 * digits, with at most nine before the point and `decimals` behind it.
 */
export function parseDecimal(text: string, decimals: number): bigint | undefined {
  const [, whole, fraction = ''] = /^(\d{1,9})(?:\.(\d+))?$/.exec(text) ?? [];
  if (whole === undefined || fraction.length > decimals) return undefined;
  return BigInt(whole + fraction.padEnd(decimals, '0'));
}

const MICRO_DECIMALS = 6;

/**
 * Reads `"10.00"` as 10000000 millionths. Returns undefined for a negative amount, one finer than a
 * millionth, or any other text.
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

/**
 * Writes 10000000 millionths as `"10.00"`, with at least two decimals. Throws RangeError for an
 * unsafe integer.
 */
export function formatAmount(micro: number): string {
  if (!Number.isSafeInteger(micro)) throw new RangeError('an amount is a safe integer');
  const digits = String(micro < 0 ? 0 - micro : micro).padStart(MICRO_DECIMALS + 1, '0');
  const fraction = digits.slice(-MICRO_DECIMALS).replace(/0{1,4}$/, '');
  return `${micro < 0 ? '-' : ''}${digits.slice(0, -MICRO_DECIMALS)}.${fraction}`;
}

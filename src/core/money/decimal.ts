/** Decimal numbers as people write them, read and written as whole numbers of their smallest part: money is never a float. */

/**
 * `"1.25"` as a whole number of 10^-decimals. Undefined for anything but plain digits with at most so many behind the
 * point and nine before it: no sign, no exponent, no separators, no bare point.
 */
export function parseDecimal(text: string, decimals: number): bigint | undefined {
  const [, whole, fraction = ''] = /^(\d{1,9})(?:\.(\d+))?$/.exec(text) ?? [];
  if (whole === undefined || fraction.length > decimals) return undefined;
  return BigInt(whole + fraction.padEnd(decimals, '0'));
}

const MICRO_DECIMALS = 6;

/** `"10.00"` as 10000000 millionths. Undefined for what is no such amount, below zero, or finer than a millionth. */
export function parseAmount(text: string): number | undefined {
  const micro = parseDecimal(text, MICRO_DECIMALS);
  // Nine digits and six more are less than 2^53, so that the amount is exact as a number.
  return micro === undefined ? undefined : Number(micro);
}

/** As `parseAmount`, for a correction that may also take away: `"-2.5"` as -2500000. */
export function parseSignedAmount(text: string): number | undefined {
  if (!text.startsWith('-')) return parseAmount(text);
  const micro = parseAmount(text.slice(1));
  // `0 -` and not a sign, which would make -0 of "-0".
  return micro === undefined ? undefined : 0 - micro;
}

/** 10000000 millionths as `"10.00"`: exact, with at least two decimals. Throws RangeError for no safe integer. */
export function formatAmount(micro: number): string {
  if (!Number.isSafeInteger(micro)) throw new RangeError('an amount is a safe integer');
  const digits = String(micro < 0 ? 0 - micro : micro).padStart(MICRO_DECIMALS + 1, '0');
  const fraction = digits.slice(-MICRO_DECIMALS).replace(/0{1,4}$/, '');
  return `${micro < 0 ? '-' : ''}${digits.slice(0, -MICRO_DECIMALS)}.${fraction}`;
}

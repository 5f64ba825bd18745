/** A price per million tokens equals millionths per token, so the cost needs no division. */
import type { ModelPrice, PriceTable, Usage } from '../../contract/types.ts';
import { parseDecimal } from './decimal.ts';
import { literalLength, toModelMatcher } from './model-patterns.ts';

/** The ledger adds up safe integers, which absurd usage of a backend must not break. */
export const MAX_COST_MICRO = 1_000_000_000_000;

const PRICE_DECIMALS = 12;
const PARTS_PER_MICRO = 10n ** BigInt(PRICE_DECIMALS);

/** Prices are in 10^-12 millionths of the currency unit, for one token. */
export interface Price {
  readonly inputParts: bigint;
  readonly cachedInputParts: bigint;
  readonly outputParts: bigint;
}

export interface Prices {
  readonly table: PriceTable;
  readonly currency: string;
  readonly modelCount: number;
  find(model: string, backendModel: string): Price | undefined;
}

export interface TokenCounts {
  readonly inputTokens: number;
  readonly cachedTokens: number;
  /** Reasoning is included. */
  readonly outputTokens: number;
}

/** Returns the cost in millionths, rounded up, and at most MAX_COST_MICRO. */
export function costOf(price: Price, usage: Usage): number {
  return costOfTokens(price, {
    inputTokens: usage.input_tokens,
    cachedTokens: usage.input_tokens_details.cached_tokens,
    outputTokens: usage.output_tokens,
  });
}

/** As `costOf`, for counted or estimated tokens. */
export function costOfTokens(price: Price, { inputTokens, cachedTokens, outputTokens }: TokenCounts): number {
  const cached = Math.min(cachedTokens, inputTokens);
  const parts =
    BigInt(inputTokens - cached) * price.inputParts +
    BigInt(cached) * price.cachedInputParts +
    BigInt(outputTokens) * price.outputParts;
  const micro = (parts + PARTS_PER_MICRO - 1n) / PARTS_PER_MICRO;
  return micro > MAX_COST_MICRO ? MAX_COST_MICRO : Number(micro);
}

export interface AllowedOutput {
  /** Limits one choice; null when the request has none. */
  readonly maxOutputTokens: number | null;
  readonly choices: number;
  readonly defaultMaxOutputTokens: number;
}

/** Returns the tokens to reserve. Many clients allow a million, so the default bounds them. */
export function expectedOutputOf({ maxOutputTokens, choices, defaultMaxOutputTokens }: AllowedOutput): number {
  return choices * Math.min(maxOutputTokens ?? defaultMaxOutputTokens, defaultMaxOutputTokens);
}

/** Returns the millionths to reserve before a request runs, as if no input were cached. */
export function holdOf(price: Price, expected: Omit<TokenCounts, 'cachedTokens'>): number {
  return costOfTokens(price, { ...expected, cachedTokens: 0 });
}

/**
 * Builds the prices. An exact name wins over every pattern, so that `*` hides no price of a model
 * behind an alias. Throws RangeError for a table that does not match its schema.
 */
export function createPrices(table: PriceTable): Prices {
  const { currency, models } = table;
  const prices = new Map(Object.entries(models).map(([name, price]) => [name, toPrice(price)]));
  const patterns = [...prices]
    .filter(([name]) => name.includes('*'))
    .sort(([one], [other]) => literalLength(other) - literalLength(one))
    .map(([pattern, price]) => ({ fits: toModelMatcher(pattern), price }));
  return {
    table,
    currency,
    modelCount: prices.size,
    find(model, backendModel) {
      return (
        prices.get(model) ??
        prices.get(backendModel) ??
        patterns.find(({ fits }) => fits(model) || fits(backendModel))?.price
      );
    },
  };
}

function toPrice({ input, cached_input = input, output }: ModelPrice): Price {
  return { inputParts: toParts(input), cachedInputParts: toParts(cached_input), outputParts: toParts(output) };
}

function toParts(text: string): bigint {
  const parts = parseDecimal(text, PRICE_DECIMALS);
  if (parts === undefined) throw new RangeError('a price is a decimal number with at most 12 decimals');
  return parts;
}

/**
 * What tokens cost (contract, section 7). A price in currency units per million tokens is as many millionths per token,
 * so that cost = tokens × price without any division; it is exact until it is rounded up, once, to a whole millionth.
 */
import type { ModelPrice, PriceTable, Usage } from '../../contract/types.ts';
import { parseDecimal } from './decimal.ts';
import { literalLength, toModelMatcher } from './model-patterns.ts';

/**
 * The most that one request is charged or reserved: a million currency units. A backend that reports absurd usage must
 * not break the books, which add such amounts up in safe integers.
 */
export const MAX_COST_MICRO = 1_000_000_000_000;

const PRICE_DECIMALS = 12;
const PARTS_PER_MICRO = 10n ** BigInt(PRICE_DECIMALS);

/** What a token costs, in 10^-12 millionths of the currency unit. */
export interface Price {
  readonly inputParts: bigint;
  readonly cachedInputParts: bigint;
  readonly outputParts: bigint;
}

/** The prices of one state of the price file. */
export interface Prices {
  /** What they were made of. */
  readonly table: PriceTable;
  /** As people call it, such as `USD`. */
  readonly currency: string;
  /** How many models and patterns have a price. */
  readonly modelCount: number;
  /** The price of a model by the name that the caller used and the one that the backend knows; undefined without one. */
  find(model: string, backendModel: string): Price | undefined;
}

/** Whole tokens, none of them below zero. */
export interface TokenCounts {
  readonly inputTokens: number;
  /** Of the input; more than that counts as all of it. */
  readonly cachedTokens: number;
  /** Reasoning included. */
  readonly outputTokens: number;
}

/** In millionths, rounded up. Never more than MAX_COST_MICRO. */
export function costOf(price: Price, usage: Usage): number {
  return costOfTokens(price, {
    inputTokens: usage.input_tokens,
    cachedTokens: usage.input_tokens_details.cached_tokens,
    outputTokens: usage.output_tokens,
  });
}

/** As `costOf`, for tokens that were counted or estimated in another way. */
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
  /** What the request allows in one choice; null when it names no limit. */
  readonly maxOutputTokens: number | null;
  /** How many answers it asks for at once. */
  readonly choices: number;
  readonly defaultMaxOutputTokens: number;
}

/** For how much output a request is let in, in tokens. */
export function expectedOutputOf({ maxOutputTokens, choices, defaultMaxOutputTokens }: AllowedOutput): number {
  // A client that allows a million tokens, and many do, would otherwise need the funds for all of them.
  return choices * Math.min(maxOutputTokens ?? defaultMaxOutputTokens, defaultMaxOutputTokens);
}

/** What is reserved before a request runs, in millionths. It does not hope for the cache. */
export function holdOf(price: Price, expected: Omit<TokenCounts, 'cachedTokens'>): number {
  return costOfTokens(price, { ...expected, cachedTokens: 0 });
}

/**
 * A name that is written out wins over every pattern, and of the patterns the one that says most, whichever of the two
 * names it fits: a `*` for all other models must not hide the price of a model behind an alias. Throws RangeError for a
 * table that does not keep its schema.
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

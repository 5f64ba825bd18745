/** A price per million tokens equals millionths per token, so the cost needs no division. */
import type { ModelPrice, PriceTable, Usage } from '../../contract/types.ts';
import { formatDecimal, parseDecimal } from './decimal.ts';
import { lastPartOf, plainNameOf } from '../model-names.ts';
import { patternsOf, type Pattern } from '../model-patterns.ts';
import { remembering } from '../remembering.ts';

/** The ledger adds up safe integers, which absurd usage of a backend must not break. */
export const MAX_COST_MICRO = 1_000_000_000_000;

/** Callers can make up names. */
const MAX_REMEMBERED = 1000;

const PRICE_DECIMALS = 12;
const PARTS_PER_MICRO = 10n ** BigInt(PRICE_DECIMALS);

/** Prices are in 10^-12 millionths of the currency unit, for one token. */
export interface Price {
  readonly inputParts: bigint;
  readonly cachedInputParts: bigint;
  readonly cacheWriteParts: bigint;
  readonly outputParts: bigint;
}

export interface Prices {
  readonly table: PriceTable;
  readonly currency: string;
  readonly modelCount: number;
  find(model: string, backendModel: string): Price | undefined;
  /** Returns the price of the model that an answer names, if it is another one than was asked for. */
  findAnswered(answeredBy: string, asked: { readonly model: string; readonly backendModel: string }): Price | undefined;
}

export interface TokenCounts {
  readonly inputTokens: number;
  /** Part of the input. */
  readonly cachedTokens?: number;
  /** Part of the input, and none of the cached tokens. */
  readonly cacheWriteTokens?: number;
  /** Reasoning is included. */
  readonly outputTokens: number;
}

/** Returns the cost in millionths, rounded up, and at most MAX_COST_MICRO. */
export function costOf(price: Price, usage: Usage): number {
  return costOfTokens(price, {
    inputTokens: usage.input_tokens,
    cachedTokens: usage.input_tokens_details.cached_tokens,
    cacheWriteTokens: usage.input_tokens_details.cache_write_tokens,
    outputTokens: usage.output_tokens,
  });
}

/** As `costOf`, for counted or estimated tokens. */
export function costOfTokens(
  price: Price,
  { inputTokens, cachedTokens = 0, cacheWriteTokens = 0, outputTokens }: TokenCounts,
): number {
  const cached = Math.min(cachedTokens, inputTokens);
  const written = Math.min(cacheWriteTokens, inputTokens - cached);
  const parts =
    BigInt(inputTokens - cached - written) * price.inputParts +
    BigInt(cached) * price.cachedInputParts +
    BigInt(written) * price.cacheWriteParts +
    BigInt(outputTokens) * price.outputParts;
  const micro = (parts + PARTS_PER_MICRO - 1n) / PARTS_PER_MICRO;
  return micro > MAX_COST_MICRO ? MAX_COST_MICRO : Number(micro);
}

/** Returns the millionths to reserve before a request runs, as if all input were of the dearest kind. */
export function holdOf(price: Price, expected: TokenCounts): number {
  const { inputParts, cachedInputParts, cacheWriteParts } = price;
  return costOfTokens({ ...price, inputParts: max(max(inputParts, cachedInputParts), cacheWriteParts) }, expected);
}

/**
 * Builds the prices. An exact name wins over every pattern, so that `*` hides no price of a model
 * behind an alias. A name that differs from a priced one only in letters, tag or date costs no less
 * than that one, and one that also differs before its last slash does not fall to `*`. Throws
 * RangeError for a table that does not match its schema.
 */
export function createPrices(table: PriceTable): Prices {
  const { currency, models } = table;
  const prices = new Map(Object.entries(models).map(([name, price]) => [name, toPrice(price)]));
  const similar = new Map<string, Price>();
  const byLastPart = new Map<string, Price>();
  for (const [name, price] of prices) {
    if (name.includes('*')) continue;
    const plain = plainNameOf(name);
    const last = plainNameOf(lastPartOf(name));
    similar.set(plain, dearer(price, similar.get(plain)));
    byLastPart.set(last, dearer(price, byLastPart.get(last)));
  }
  const patterns = patternsOf(prices);

  function findPattern(names: readonly string[], minLength: number): Pattern<Price> | undefined {
    const lower = names.map((name) => name.toLowerCase());
    return patterns.find(({ length, fits }) => length >= minLength && lower.some(fits));
  }

  function findSimilar(names: readonly string[], minLength: number): Price | undefined {
    const pattern = findPattern(names, minLength);
    let price = pattern?.value;
    for (const plain of names.map(plainNameOf)) {
      const other = similar.get(plain);
      // A pattern with the whole name, such as `llama3:*`, was written for this model.
      const isForModel = pattern !== undefined && pattern.length >= plain.length;
      if (other !== undefined && !isForModel) price = dearer(other, price);
    }
    if (price === undefined || pattern?.length !== 0) return price;
    const lastParts = names.map(lastPartOf);
    const others = [findPattern(lastParts, 1)?.value, ...lastParts.map((part) => byLastPart.get(plainNameOf(part)))];
    return others.reduce<Price>((dearest, other) => dearer(dearest, other), price);
  }

  // Every request of a managed key asks, before and after it, and all patterns are tried with each name.
  const findSimilarTo = remembering((model, backendModel) => findSimilar([model, backendModel], 0), MAX_REMEMBERED);
  // The pattern `*` says nothing of the model that answered.
  const findSimilarAnswer = remembering((answeredBy, asked) => {
    return plainNameOf(answeredBy) === plainNameOf(asked) ? undefined : findSimilar([answeredBy], 1);
  }, MAX_REMEMBERED);

  return {
    table,
    currency,
    modelCount: prices.size,
    find: (model, backendModel) => prices.get(model) ?? prices.get(backendModel) ?? findSimilarTo(model, backendModel),
    findAnswered(answeredBy, { model, backendModel }) {
      if (answeredBy === backendModel || answeredBy === model) return undefined;
      return (
        prices.get(answeredBy) ?? (findSimilarAnswer(answeredBy, model) && findSimilarAnswer(answeredBy, backendModel))
      );
    },
  };
}

function dearer(one: Price, other: Price = one): Price {
  return {
    inputParts: max(one.inputParts, other.inputParts),
    cachedInputParts: max(one.cachedInputParts, other.cachedInputParts),
    cacheWriteParts: max(one.cacheWriteParts, other.cacheWriteParts),
    outputParts: max(one.outputParts, other.outputParts),
  };
}

function max(one: bigint, other: bigint): bigint {
  return one > other ? one : other;
}

function toPrice({ input, cached_input = input, cache_write = input, output }: ModelPrice): Price {
  return {
    inputParts: toParts(input),
    cachedInputParts: toParts(cached_input),
    cacheWriteParts: toParts(cache_write),
    outputParts: toParts(output),
  };
}

/** Returns a price as PRICES_FILE has it, with what it leaves out. */
export function showPrice({ inputParts, cachedInputParts, cacheWriteParts, outputParts }: Price): ShownPrice {
  return {
    input: formatDecimal(inputParts, PRICE_DECIMALS),
    cached_input: formatDecimal(cachedInputParts, PRICE_DECIMALS),
    cache_write: formatDecimal(cacheWriteParts, PRICE_DECIMALS),
    output: formatDecimal(outputParts, PRICE_DECIMALS),
  };
}

/** In the currency unit per million tokens. */
export type ShownPrice = Required<ModelPrice>;

export interface PriceChange {
  readonly model: string;
  /** Null for a model that had no price. */
  readonly from: ShownPrice | null;
  /** Null for a model that has none any more. */
  readonly to: ShownPrice | null;
}

/** Returns what differs between two tables of prices, by model or pattern. */
export function comparePrices(before: PriceTable | null, after: PriceTable): readonly PriceChange[] {
  const former = new Map(Object.entries(before?.models ?? {}));
  const present = new Map(Object.entries(after.models));
  return [...new Set([...former.keys(), ...present.keys()])]
    .map((model) => ({ model, from: shownOf(former.get(model)), to: shownOf(present.get(model)) }))
    .filter(({ from, to }) => JSON.stringify(from) !== JSON.stringify(to));
}

function shownOf(price: ModelPrice | undefined): ShownPrice | null {
  return price === undefined ? null : showPrice(toPrice(price));
}

function toParts(text: string): bigint {
  const parts = parseDecimal(text, PRICE_DECIMALS);
  if (parts === undefined) throw new RangeError('a price is a decimal number with at most 12 decimals');
  return parts;
}

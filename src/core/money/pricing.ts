/** A price per million tokens equals millionths per token, so the cost needs no division. */
import type { PriceTier, Usage } from '../../contract/types.ts';
import type { OwnPrice } from '../../contract/record-types.ts';
import type { ModelPrice, PriceTable } from '../../contract/settings-types.ts';
import type { Reported } from '../reply/usage.ts';
import { UTC } from '../time.ts';
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

/** In 10^-12 millionths of the currency unit, for one token. */
interface Rates {
  readonly inputParts: bigint;
  readonly cachedInputParts: bigint;
  readonly cacheWriteParts: bigint;
  readonly audioInputParts: bigint;
  readonly cachedAudioInputParts: bigint;
  readonly outputParts: bigint;
  readonly audioOutputParts: bigint;
}

interface Tier extends Rates {
  readonly serviceTier: string;
  /** The rates are for requests with more tokens of input. */
  readonly aboveTokens: number;
}

/** The tiers of a model. The first is the default one from 0 tokens on; higher ones come later. */
export type Price = readonly [Tier, ...Tier[]];

export interface PriceFinder {
  readonly currency: string;
  find(model: string, backendModel: string): Price | undefined;
}

export interface Prices extends PriceFinder {
  readonly table: PriceTable;
  /** That of the days and months of spend limits. */
  readonly timeZone: string;
  readonly modelCount: number;
  /** Returns the price of the model that an answer names, if it is another one than was asked for. */
  findAnswered(
    answeredBy: string,
    requested: { readonly model: string; readonly backendModel: string },
  ): Price | undefined;
}

export interface TokenCounts {
  readonly inputTokens: number;
  /** Part of the input. */
  readonly cachedTokens?: number;
  /** Part of the input, and none of the cached tokens. */
  readonly cacheWriteTokens?: number;
  readonly audioInputTokens?: number;
  /** Reasoning is included. */
  readonly outputTokens: number;
  readonly audioOutputTokens?: number;
  /** That of the longest request, where several were counted together. */
  readonly longestInputTokens?: number;
}

/** What the price of a request depends on before it runs. */
export interface Expected {
  readonly inputTokens: number;
  readonly outputTokens: number;
  readonly hasMedia?: boolean;
  readonly serviceTier?: string | undefined;
}

/**
 * Returns the cost in millionths, rounded up, and at most MAX_COST_MICRO. The service tier is the
 * one that the answer names; if it names none, the default one or the one asked for, whichever costs more.
 */
export function costOf(
  price: Price,
  usage: Usage,
  { pricedBy }: Pick<Reported, 'pricedBy'> = {},
  requested?: string,
): number {
  const counts = {
    inputTokens: usage.input_tokens,
    cachedTokens: usage.input_tokens_details.cached_tokens,
    cacheWriteTokens: usage.input_tokens_details.cache_write_tokens,
    outputTokens: usage.output_tokens,
    ...pricedBy,
  };
  const names = pricedBy?.serviceTier === undefined ? ['default', requested] : [pricedBy.serviceTier];
  return Math.max(...names.map((name) => costOfTokens(price, counts, serviceTierOf(name))));
}

/** Returns the cost in millionths of counted or estimated tokens in a service tier. */
export function costOfTokens(price: Price, counts: TokenCounts, serviceTier = 'default'): number {
  return costAt(tierOf(price, serviceTier, counts.longestInputTokens ?? counts.inputTokens), counts);
}

/** Nobody says how many of the cached tokens were audio, so that they count as text first. */
function costAt(rates: Rates, counts: TokenCounts): number {
  const { inputTokens, outputTokens } = counts;
  const audio = Math.min(counts.audioInputTokens ?? 0, inputTokens);
  const text = inputTokens - audio;
  const allCached = Math.min(counts.cachedTokens ?? 0, inputTokens);
  const cached = Math.min(allCached, text);
  const cachedAudio = allCached - cached;
  const written = Math.min(counts.cacheWriteTokens ?? 0, text - cached);
  const spoken = Math.min(counts.audioOutputTokens ?? 0, outputTokens);
  const parts =
    BigInt(text - cached - written) * rates.inputParts +
    BigInt(cached) * rates.cachedInputParts +
    BigInt(written) * rates.cacheWriteParts +
    BigInt(audio - cachedAudio) * rates.audioInputParts +
    BigInt(cachedAudio) * rates.cachedAudioInputParts +
    BigInt(outputTokens - spoken) * rates.outputParts +
    BigInt(spoken) * rates.audioOutputParts;
  const micro = (parts + PARTS_PER_MICRO - 1n) / PARTS_PER_MICRO;
  return micro > MAX_COST_MICRO ? MAX_COST_MICRO : Number(micro);
}

/** Inputs are rarely more than twice as long as they were estimated. */
const MAX_UNDERESTIMATE = 2;

/**
 * Returns the millionths to reserve before a request runs: in the dearest tier that may apply, as if
 * all input were of the dearest kind.
 */
export function holdOf(price: Price, { hasMedia = false, serviceTier, ...expected }: Expected): number {
  const holds = price
    .filter((tier) => mayApply(tier, serviceTier))
    .filter(({ aboveTokens }) => aboveTokens < MAX_UNDERESTIMATE * expected.inputTokens)
    .concat(price[0])
    .map((rates) => {
      const { cachedInputParts, cacheWriteParts, audioInputParts, cachedAudioInputParts } = rates;
      const ofAudio = hasMedia ? [audioInputParts, cachedAudioInputParts] : [];
      const inputParts = [cachedInputParts, cacheWriteParts, ...ofAudio].reduce(max, rates.inputParts);
      return costAt({ ...rates, inputParts }, expected);
    });
  return Math.max(...holds);
}

/** The project of the operator decides about `auto`, and a tier that is full may be left for the default one. */
function mayApply({ serviceTier }: Tier, requested: string | undefined): boolean {
  return (
    requested === undefined ||
    requested === 'auto' ||
    serviceTier === 'default' ||
    serviceTier === serviceTierOf(requested)
  );
}

/** Other names of two tiers in requests, answers and price lists: those of OpenAI and Groq. */
const SAME_TIERS: ReadonlyMap<string, string> = new Map([
  ['auto', 'default'],
  ['on_demand', 'default'],
  ['fast', 'priority'],
  ['performance', 'priority'],
]);

/** Returns the name that the tier has in the prices. */
export function serviceTierOf(name = 'default'): string {
  return SAME_TIERS.get(name) ?? name;
}

/** Returns whether nobody says what this service tier costs. Flex never costs more than the default. */
export function lacksTier(price: Price | undefined, requested: string | undefined): boolean {
  const name = serviceTierOf(requested);
  return name !== 'default' && name !== 'flex' && price?.some(({ serviceTier }) => serviceTier === name) !== true;
}

function tierOf(price: Price, serviceTier: string, inputTokens: number): Tier {
  const reached = price.filter(({ aboveTokens }) => aboveTokens < inputTokens);
  return reached.findLast((tier) => tier.serviceTier === serviceTier) ?? reached.findLast(isDefault) ?? price[0];
}

function isDefault({ serviceTier }: Tier): boolean {
  return serviceTier === 'default';
}

/**
 * Builds the prices. An exact name wins over every pattern, so that `*` hides no price of a model
 * behind an alias. A name that differs from a priced one only in letters, tag or date costs no less
 * than that one, and one that also differs before its last slash does not fall to `*`. Throws
 * RangeError for a table that does not match its schema.
 */
export function createPrices(table: PriceTable): Prices {
  const { currency, time_zone: timeZone = UTC, models } = table;
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
  const findSimilarAnswer = remembering((answeredBy, requested) => {
    return plainNameOf(answeredBy) === plainNameOf(requested) ? undefined : findSimilar([answeredBy], 1);
  }, MAX_REMEMBERED);

  return {
    table,
    currency,
    timeZone,
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

/** Returns all tiers of both, each as dear as the dearer of the two. */
function dearer(one: Price, other: Price = one): Price {
  if (one === other) return one;
  const dearerAt = ({ serviceTier, aboveTokens }: Tier): Tier => {
    const mine = tierOf(one, serviceTier, aboveTokens + 1);
    const others = tierOf(other, serviceTier, aboveTokens + 1);
    return { serviceTier, aboveTokens, ...dearerRates(mine, others) };
  };
  const isNew = (tier: Tier) =>
    !one.some((mine) => mine.serviceTier === tier.serviceTier && mine.aboveTokens === tier.aboveTokens);
  return sorted(dearerAt(one[0]), [...one.slice(1), ...other.filter(isNew)].map(dearerAt));
}

function sorted(first: Tier, more: readonly Tier[]): Price {
  return [first, ...more.toSorted((one, other) => one.aboveTokens - other.aboveTokens)];
}

function dearerRates(one: Rates, other: Rates): Rates {
  return {
    inputParts: max(one.inputParts, other.inputParts),
    cachedInputParts: max(one.cachedInputParts, other.cachedInputParts),
    cacheWriteParts: max(one.cacheWriteParts, other.cacheWriteParts),
    audioInputParts: max(one.audioInputParts, other.audioInputParts),
    cachedAudioInputParts: max(one.cachedAudioInputParts, other.cachedAudioInputParts),
    outputParts: max(one.outputParts, other.outputParts),
    audioOutputParts: max(one.audioOutputParts, other.audioOutputParts),
  };
}

function max(one: bigint, other: bigint): bigint {
  return one > other ? one : other;
}

function toPrice({ tiers = [], ...first }: ModelPrice): Price {
  return sorted(toTier(first), tiers.map(toTier));
}

function toTier(tier: PriceTier): Tier {
  const { service_tier, above_tokens = -1, input, output } = tier;
  const { cached_input = input, cache_write = input, audio_input = input, audio_output = output } = tier;
  const { cached_audio_input = audio_input } = tier;
  return {
    serviceTier: serviceTierOf(service_tier),
    aboveTokens: above_tokens,
    inputParts: toParts(input),
    cachedInputParts: toParts(cached_input),
    cacheWriteParts: toParts(cache_write),
    audioInputParts: toParts(audio_input),
    cachedAudioInputParts: toParts(cached_audio_input),
    outputParts: toParts(output),
    audioOutputParts: toParts(audio_output),
  };
}

/** In the currency unit per million tokens, as PRICES_FILE has it, with what it leaves out. */
export type ShownPrice = Omit<OwnPrice, 'model'>;
type ShownRates = Omit<ShownPrice, 'tiers'>;

/** Returns a price as callers and operators see it. */
export function showPrice([first, ...more]: Price): ShownPrice {
  return { ...showRates(first), ...(more.length > 0 && { tiers: more.map(showTier) }) };
}

function showTier(tier: Tier): PriceTier {
  const { serviceTier, aboveTokens } = tier;
  return {
    ...(serviceTier !== 'default' && { service_tier: serviceTier }),
    ...(aboveTokens >= 0 && { above_tokens: aboveTokens }),
    ...showRates(tier),
  };
}

/** Audio is shown where it costs something else. */
function showRates(rates: Rates): ShownRates {
  const { inputParts, audioInputParts, cachedAudioInputParts, outputParts, audioOutputParts } = rates;
  const show = (parts: bigint): string => formatDecimal(parts, PRICE_DECIMALS);
  return {
    input: show(inputParts),
    cached_input: show(rates.cachedInputParts),
    cache_write: show(rates.cacheWriteParts),
    ...(audioInputParts !== inputParts && { audio_input: show(audioInputParts) }),
    ...(cachedAudioInputParts !== audioInputParts && { cached_audio_input: show(cachedAudioInputParts) }),
    output: show(outputParts),
    ...(audioOutputParts !== outputParts && { audio_output: show(audioOutputParts) }),
  };
}

/** Returns all prices of a table, by model or pattern. */
export function listPrices(table: PriceTable | undefined): OwnPrice[] {
  return Object.entries(table?.models ?? {}).map(([model, price]) => ({ model, ...showPrice(toPrice(price)) }));
}

export interface PriceChange {
  readonly model: string;
  /** Null for a model that had no price. */
  readonly from: ShownPrice | null;
  /** Null for a model that has none any more. */
  readonly to: ShownPrice | null;
}

/** Returns what differs between two tables of prices, by model or pattern. */
export function comparePrices(before: PriceTable | null, after: PriceTable): readonly PriceChange[] {
  const [former, present] = [before, after].map((table) => {
    return new Map(listPrices(table ?? undefined).map(({ model, ...price }) => [model, price]));
  });
  return [...new Set([...(former?.keys() ?? []), ...(present?.keys() ?? [])])]
    .map((model) => ({ model, from: former?.get(model) ?? null, to: present?.get(model) ?? null }))
    .filter(({ from, to }) => JSON.stringify(from) !== JSON.stringify(to));
}

function toParts(text: string): bigint {
  const parts = parseDecimal(text, PRICE_DECIMALS);
  if (parts === undefined) throw new RangeError('a price is a decimal number with at most 12 decimals');
  return parts;
}

/** @import { OwnPrice } from '../contract/record-types.ts' */
/** @import { PriceTier, Usage } from '../contract/types.ts' */

const COUNT = new Intl.NumberFormat('en');
const SHORT = new Intl.NumberFormat('en', { notation: 'compact', maximumFractionDigits: 1 });
const SHARE = new Intl.NumberFormat('en', { style: 'percent', maximumFractionDigits: 1 });
const CREDITS = new Intl.NumberFormat('en', { minimumFractionDigits: 2, maximumFractionDigits: 6 });

/** @param {number} count @returns {string} `12,345` */
export function formatCount(count) {
  return COUNT.format(count);
}

/** @param {string} name Of a field. @returns {string} `Requests per minute` */
export function inWords(name) {
  return `${name.charAt(0).toUpperCase()}${name.slice(1).replaceAll('_', ' ')}`;
}

/** @param {number} count @returns {string} `12.3K`, where there is little room */
export function formatShort(count) {
  return SHORT.format(count);
}

/** @param {Usage} usage @returns {string} `1,200 (1,000 cached, 150 written to the cache)` */
export function formatInput({ input_tokens, input_tokens_details: { cached_tokens, cache_write_tokens } }) {
  return withParts(input_tokens, [
    [cached_tokens, 'cached'],
    [cache_write_tokens, 'written to the cache'],
  ]);
}

/** @param {number} share From 0 to 1. @returns {string} `63.5%` */
export function formatShare(share) {
  return SHARE.format(share);
}

/** @param {{ cached_tokens: number, input_tokens: number }} usage @returns {string} `12.3K (63.5%)` */
export function formatCachedShare({ cached_tokens, input_tokens }) {
  return formatShort(cached_tokens) + (input_tokens === 0 ? '' : ` (${formatShare(cached_tokens / input_tokens)})`);
}

/** @param {Usage} usage @returns {string} `345 (45 reasoning)` */
export function formatOutput({ output_tokens, output_tokens_details: { reasoning_tokens } }) {
  return withParts(output_tokens, [[reasoning_tokens, 'reasoning']]);
}

/**
 * @param {OwnPrice} price
 * @returns {readonly string[][]} Model, input, cached input, cache write and output, of the model and of each tier.
 */
export function priceRows({ model, tiers = [], ...first }) {
  return [first, ...tiers].map((/** @type {PriceTier} */ tier) => {
    const { service_tier, above_tokens, input, cached_input = input, cache_write = input, output } = tier;
    const withAudio = (/** @type {string} */ text, /** @type {string | undefined} */ audio) =>
      audio === undefined ? text : `${text} (audio ${audio})`;
    const names = [service_tier, above_tokens && `above ${formatCount(above_tokens)}`].filter(Boolean);
    return [
      names.length > 0 ? `${model} (${names.join(', ')})` : model,
      withAudio(input, tier.audio_input),
      withAudio(cached_input, tier.cached_audio_input),
      cache_write,
      withAudio(output, tier.audio_output),
    ];
  });
}

/** @param {number} whole @param {readonly (readonly [number, string])[]} parts */
function withParts(whole, parts) {
  const shown = parts.filter(([count]) => count > 0).map(([count, name]) => `${formatCount(count)} ${name}`);
  return formatCount(whole) + (shown.length > 0 ? ` (${shown.join(', ')})` : '');
}

/** @param {number} micro Millionths of the currency unit, as all amounts of the gateway. @returns {string} `0.00125` */
export function formatCredits(micro) {
  // The text stays decimal, since a quotient would be wrong by some millionths for billions.
  return CREDITS.format(/** @type {`${number}`} */ (`${micro}e-6`));
}

/** @param {number} ms @returns {string} `0.4 ms`, `12 ms`, `1.25 s` or `3 min 20 s` */
export function formatMs(ms) {
  if (ms < 0.05) return '0 ms';
  if (ms < 9.95) return `${ms.toFixed(1)} ms`;
  if (ms < 999.5) return `${ms.toFixed(0)} ms`;
  if (ms < 59_995) return `${(ms / 1000).toFixed(ms < 9995 ? 2 : 1)} s`;
  const seconds = Math.round(ms / 1000);
  return `${COUNT.format(Math.floor(seconds / 60))} min ${seconds % 60} s`;
}

/** @param {string} amount A decimal number of the currency unit, as in the admin API. @returns {string} `1,200.00` */
export function formatAmount(amount) {
  return CREDITS.format(/** @type {`${number}`} */ (amount));
}

/** A reservation bounds the cost of a request only if the backend is asked for nothing else. */

import { ApiError } from '../errors.ts';

const LIMITS_OUTPUT = 'it sets another limit of the output than max_tokens';
const WRITES_MORE = 'the model may write more than is reserved';
const NAMES_MODEL = 'it may choose another model or provider than model names';
const COSTS_EXTRA = 'the backend may charge for it in addition to the tokens';

export const REFUSED_FIELDS: Readonly<Record<string, string>> = {
  // llama.cpp prefers n_predict, TabbyAPI takes max_length, and Ollama has a limit in options.
  n_predict: LIMITS_OUTPUT,
  num_predict: LIMITS_OUTPUT,
  max_length: LIMITS_OUTPUT,
  max_new_tokens: LIMITS_OUTPUT,
  max_output_tokens: LIMITS_OUTPUT,
  max_tokens_to_sample: LIMITS_OUTPUT,
  options: LIMITS_OUTPUT,
  // vLLM, SGLang and TabbyAPI have these.
  min_tokens: WRITES_MORE,
  min_length: WRITES_MORE,
  ignore_eos: WRITES_MORE,
  // vLLM writes candidates that it does not send. n_cmpl is llama.cpp's name for n.
  best_of: WRITES_MORE,
  n_cmpl: WRITES_MORE,
  num_beams: WRITES_MORE,
  use_beam_search: WRITES_MORE,
  // OpenAI charges the unused tokens of a prediction as output.
  prediction: WRITES_MORE,
  // OpenRouter has these; a preset can hold all of them.
  models: NAMES_MODEL,
  route: NAMES_MODEL,
  provider: NAMES_MODEL,
  preset: NAMES_MODEL,
  // LiteLLM and Vercel's gateway have these.
  fallbacks: NAMES_MODEL,
  context_window_fallbacks: NAMES_MODEL,
  content_policy_fallbacks: NAMES_MODEL,
  user_config: NAMES_MODEL,
  providerOptions: NAMES_MODEL,
  // OpenAI, Perplexity, OpenRouter, xAI, Qwen and Groq have these.
  web_search_options: COSTS_EXTRA,
  plugins: COSTS_EXTRA,
  search_parameters: COSTS_EXTRA,
  enable_search: COSTS_EXTRA,
  search_options: COSTS_EXTRA,
  search_settings: COSTS_EXTRA,
  compound_custom: COSTS_EXTRA,
  // Images and speech have prices of their own (OpenRouter, OpenAI).
  modalities: COSTS_EXTRA,
  image_config: COSTS_EXTRA,
  audio: COSTS_EXTRA,
};

/** These tiers cost no more than the default (OpenAI, Groq). */
const PLAIN_TIERS = new Set<unknown>([undefined, null, 'auto', 'default', 'flex', 'on_demand']);

const REASONS = new Map(Object.entries(REFUSED_FIELDS).map(([name, reason]) => [foldCase(name), reason]));

/** Returns why a field is refused, in any capitalization; else undefined. */
export function whyRefused(name: string): string | undefined {
  return REASONS.get(foldCase(name));
}

/** Go's JSON package ignores case, and reads the Kelvin sign as a k and the long s as an s. */
export function foldCase(name: string): string {
  return name.toUpperCase().toLowerCase();
}

/** Throws ApiError for the first field that is refused. */
export function checkFields(names: readonly string[]): void {
  for (const name of names) {
    const reason = whyRefused(name);
    if (reason !== undefined) throw refusedField(name, reason);
  }
}

/** Throws ApiError for a service tier with a price of its own. */
export function checkServiceTier(tier: unknown): void {
  if (!PLAIN_TIERS.has(tier)) throw refusedField('service_tier', 'only auto, default, flex and on_demand are taken');
}

/** OpenRouter: `:online` is its web plugin, `:nitro` takes the fastest provider, whatever it costs. */
const SUFFIXES = new Map([
  ['online', COSTS_EXTRA],
  ['nitro', NAMES_MODEL],
]);

/** Throws ApiError for the name of a model with a suffix that changes what it costs. */
export function checkModelSuffix(model: string): void {
  const [, ...suffixes] = model.split(':');
  for (const suffix of suffixes) {
    const reason = SUFFIXES.get(foldCase(suffix.trim()));
    if (reason !== undefined) throw refusedField('model', `with the suffix :${suffix.trim()} ${reason}`);
  }
}

/** The caller runs these tools. A backend may run others, and charge for it. */
export const TOOLS_OF_CALLER: ReadonlySet<unknown> = new Set(['function', 'custom']);

/** Returns the error for a tool that the backend runs. */
export function refusedTool(param: string): ApiError {
  return refusedField(param, `only tools of the types function and custom are taken, because ${COSTS_EXTRA}`);
}

/** Returns the error for a refused field. `reason` ends its sentence. */
export function refusedField(param: string, reason: string): ApiError {
  const message = `${param} is not supported for an API key with funds or limits: ${reason}.`;
  return new ApiError('unsupported_parameter', { param, message });
}

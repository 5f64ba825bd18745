/**
 * What a key with funds or limits may not ask of a chat backend. What is reserved for a request
 * bounds what it runs only while the backend is asked for nothing else.
 */

import { ApiError } from '../errors.ts';

const LIMITS_OUTPUT = 'it sets another limit of the output than max_tokens';
const WRITES_MORE = 'the model may write more than is reserved';
const NAMES_MODEL = 'it may choose another model than model names';
const COSTS_EXTRA = 'the backend may charge for it beside the tokens';

/** Why each is refused. */
export const REFUSED_FIELDS: Readonly<Record<string, string>> = {
  // llama.cpp reads n_predict before max_tokens, TabbyAPI takes max_length for it, and Ollama has a
  // limit among its options.
  n_predict: LIMITS_OUTPUT,
  num_predict: LIMITS_OUTPUT,
  max_length: LIMITS_OUTPUT,
  max_new_tokens: LIMITS_OUTPUT,
  max_output_tokens: LIMITS_OUTPUT,
  max_tokens_to_sample: LIMITS_OUTPUT,
  options: LIMITS_OUTPUT,
  // vLLM, SGLang, TabbyAPI: the model writes on after the end of its answer.
  min_tokens: WRITES_MORE,
  min_length: WRITES_MORE,
  ignore_eos: WRITES_MORE,
  // vLLM writes candidates that it does not send; n_cmpl is the n of llama.cpp.
  best_of: WRITES_MORE,
  n_cmpl: WRITES_MORE,
  num_beams: WRITES_MORE,
  use_beam_search: WRITES_MORE,
  // OpenAI charges the tokens of a prediction that were not used as output.
  prediction: WRITES_MORE,
  // OpenRouter; a preset can hold all of these.
  models: NAMES_MODEL,
  route: NAMES_MODEL,
  provider: NAMES_MODEL,
  preset: NAMES_MODEL,
  // LiteLLM, and the gateway of Vercel.
  fallbacks: NAMES_MODEL,
  context_window_fallbacks: NAMES_MODEL,
  content_policy_fallbacks: NAMES_MODEL,
  user_config: NAMES_MODEL,
  providerOptions: NAMES_MODEL,
  // Searches and tools that the backend runs: OpenAI and Perplexity, OpenRouter, xAI, Qwen, Groq.
  web_search_options: COSTS_EXTRA,
  plugins: COSTS_EXTRA,
  search_parameters: COSTS_EXTRA,
  enable_search: COSTS_EXTRA,
  search_options: COSTS_EXTRA,
  search_settings: COSTS_EXTRA,
  compound_custom: COSTS_EXTRA,
};

/** Those that cost no more than the default where they are known (OpenAI, Groq). */
const PLAIN_TIERS = new Set<unknown>([undefined, null, 'auto', 'default', 'flex', 'on_demand']);

const REASONS = new Map(Object.entries(REFUSED_FIELDS).map(([name, reason]) => [foldCase(name), reason]));

/** Why a field is refused, whatever letters its name is written in; undefined for any other field. */
export function whyRefused(name: string): string | undefined {
  return REASONS.get(foldCase(name));
}

/**
 * The same text for all names that a backend may take for one. The JSON package of Go does not tell
 * capital letters apart, nor the Kelvin sign from a k, nor the long s from an s.
 */
export function foldCase(name: string): string {
  return name.toUpperCase().toLowerCase();
}

/** Throws ApiError `unsupported_parameter` for a tier of service that has a price of its own. */
export function checkServiceTier(tier: unknown): void {
  if (!PLAIN_TIERS.has(tier)) throw refusedField('service_tier', 'only auto, default, flex and on_demand are taken');
}

/** The refusal of a field; `reason` ends the sentence. */
export function refusedField(param: string, reason: string): ApiError {
  const message = `${param} is not supported for an API key with funds or limits: ${reason}.`;
  return new ApiError('unsupported_parameter', { param, message });
}
